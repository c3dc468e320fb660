#include "shortest_paths.hpp"

#include <algorithm>
#include <limits>
#include <mutex>
#include <utility>
#include <vector>

namespace polymargin {
namespace {

constexpr Index kBatch = 8;
constexpr double kFar = std::numeric_limits<double>::infinity();

// Nodes ordered by their tentative distance: a heap with four children per place, so that a pop reads one cache line per
// level, and with each node's place, so that a shorter distance moves the node instead of adding it again.
class Heap {
 public:
  explicit Heap(Index n) : place_(n) { items_.reserve(n); }

  bool empty() const { return items_.empty(); }
  void add(std::int32_t node, double key) {
    items_.push_back({key, node});
    rise(items_.size() - 1);
  }
  void lower(std::int32_t node, double key) {
    items_[place_[node]].key = key;
    rise(place_[node]);
  }
  std::int32_t pop() {
    const std::int32_t top = items_[0].node;
    const Item last = items_.back();
    items_.pop_back();
    if (!items_.empty()) sink(last);
    return top;
  }

 private:
  struct Item {
    double key;
    std::int32_t node;
  };
  void put(std::size_t at, Item item) {
    items_[at] = item;
    place_[item.node] = static_cast<std::int32_t>(at);
  }
  void rise(std::size_t at) {
    const Item item = items_[at];
    while (at > 0) {
      const std::size_t parent = (at - 1) / 4;
      if (items_[parent].key <= item.key) break;
      put(at, items_[parent]);
      at = parent;
    }
    put(at, item);
  }
  void sink(Item item) {
    std::size_t at = 0;
    const std::size_t n = items_.size();
    for (std::size_t child = 1; child < n; child = 4 * at + 1) {
      const std::size_t end = child + 4 < n ? child + 4 : n;
      std::size_t least = child;
      for (std::size_t c = child + 1; c < end; ++c)
        if (items_[c].key < items_[least].key) least = c;
      if (items_[least].key >= item.key) break;
      put(at, items_[least]);
      at = least;
    }
    put(at, item);
  }

  std::vector<Item> items_;
  std::vector<std::int32_t> place_;
};

// All distances from one source; returns the nodes in the order of their distance.
std::vector<std::int32_t> from_one(const Graph& graph, Index source, double* distance) {
  std::vector<std::int32_t> order;
  Heap heap(graph.size());
  std::fill(distance, distance + graph.size(), kFar);
  distance[source] = 0;
  heap.add(static_cast<std::int32_t>(source), 0);
  while (!heap.empty()) {
    const std::int32_t i = heap.pop();
    order.push_back(i);
    const double here = distance[i];
    for (Index e = graph.indptr[i]; e < graph.indptr[i + 1]; ++e) {
      const std::int32_t j = graph.indices[e];
      const double length = here + graph.lengths[e], known = distance[j];
      if (!(length < known)) continue;
      distance[j] = length;
      known == kFar ? heap.add(j, length) : heap.lower(j, length);
    }
  }
  return order;
}

// Distances from the sources of one batch, side by side for each node.
struct Lane {
  double to[kBatch];
};

// Offers every node's distances to its neighbours, node after node in an order in which they grow from one of the sources, until
// nothing changes. The other sources are close to that one, so a few rounds do. What is left is the least solution of
// d_j = min_i (d_i + length_ij): the distances that Dijkstra's method gives, to the last bit.
void settle(const Graph& graph, const std::vector<std::int32_t>& order, std::vector<Lane>& lanes,
            std::vector<char>& open) {
  for (bool changed = true; changed;) {
    changed = false;
    for (const std::int32_t i : order) {
      if (!open[i]) continue;
      open[i] = 0;
      const Lane here = lanes[i];
      for (Index e = graph.indptr[i]; e < graph.indptr[i + 1]; ++e) {
        Lane& there = lanes[graph.indices[e]];
        const double length = graph.lengths[e];
        int shorter = 0;
        for (Index s = 0; s < kBatch; ++s) {
          const double offer = here.to[s] + length;
          shorter |= offer < there.to[s];
          there.to[s] = offer < there.to[s] ? offer : there.to[s];
        }
        if (shorter) open[graph.indices[e]] = 1, changed = true;
      }
    }
  }
}

// Sources that are still to be done; a batch is one of them and those closest to it.
class Queue {
 public:
  Queue(Index n, Span<const Index> sources) : places_(n) {
    for (Index s = 0; s < sources.size; ++s) places_[sources[s]].push_back(s);
  }
  // A source, as a node, or -1. Sources are given out with all their places in the list.
  Index first() {
    const std::lock_guard<std::mutex> lock(mutex_);
    while (next_ < static_cast<Index>(places_.size()) && places_[next_].empty()) ++next_;
    return next_ < static_cast<Index>(places_.size()) ? next_ : -1;
  }
  std::vector<Index> take(Index node) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::exchange(places_[node], {});
  }

 private:
  std::mutex mutex_;
  std::vector<std::vector<Index>> places_;
  Index next_ = 0;
};

}  // namespace

void shortest_paths(const Graph& graph, Span<const Index> sources, double* out, Team& team) {
  const Index n = graph.size();
  Queue queue(n, sources);
  team.run(team.size(), [&](Index) {
    std::vector<double> distance(n);
    std::vector<Lane> lanes(n);
    std::vector<char> open(n);
    for (Index source = queue.first(); source >= 0; source = queue.first()) {
      std::vector<std::vector<Index>> batch{queue.take(source)};
      if (batch[0].empty()) continue;  // another thread was faster
      const std::vector<std::int32_t> order = from_one(graph, source, distance.data());
      for (Index j = 0; j < n; ++j) std::fill(lanes[j].to, lanes[j].to + kBatch, kFar);
      for (Index j = 0; j < n; ++j) lanes[j].to[0] = distance[j];
      for (std::size_t k = 1; k < order.size() && batch.size() < kBatch; ++k) {
        std::vector<Index> places = queue.take(order[k]);
        if (places.empty()) continue;
        lanes[order[k]].to[batch.size()] = 0;
        open[order[k]] = 1;
        batch.push_back(std::move(places));
      }
      settle(graph, order, lanes, open);
      for (std::size_t s = 0; s < batch.size(); ++s)
        for (const Index place : batch[s])
          for (Index j = 0; j < n; ++j) out[place * n + j] = lanes[j].to[s];
    }
  });
}

}  // namespace polymargin
