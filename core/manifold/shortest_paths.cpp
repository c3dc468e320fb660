#include "manifold/shortest_paths.hpp"

#include <algorithm>
#include <limits>
#include <vector>

namespace polymargin {
namespace {

constexpr double kFar = std::numeric_limits<double>::infinity();
constexpr Index kBuckets = 512;
constexpr double kWidth = 0.125;  // of a bucket, as a share of the median edge
constexpr Index kSources = 4;     // of one task

// Half of the edges are shorter.
double median_length(const Graph& graph) {
  std::vector<double> lengths(graph.lengths.begin(), graph.lengths.end());
  if (lengths.empty()) return 0;
  const auto middle = lengths.begin() + static_cast<Index>(lengths.size()) / 2;
  std::nth_element(lengths.begin(), middle, lengths.end());
  return *middle;
}

// Paths from one source by delta-stepping (Meyer and Sanders 2003), serial: nodes wait in buckets of equal width, and a
// bucket is emptied before the next. Within a bucket their order does not matter except for an edge shorter than the
// bucket's width, after which a node is looked at again. A heap's order would cost more than such second looks. Nodes
// beyond the last bucket wait apart until all buckets are empty.
class Paths {
 public:
  Paths(const Graph& graph, double width) : graph_(graph), scale_(width > 1e-300 ? 1 / width : 1), buckets_(kBuckets) {}

  void from(Index source, double* distance) {
    std::fill(distance, distance + graph_.size(), kFar);
    distance[source] = 0;
    base_ = 0;
    beyond_.clear();
    put(0, static_cast<std::int32_t>(source));
    for (bool more = true; more; more = rebase(distance))
      for (std::vector<Entry>& bucket : buckets_) {
        for (std::size_t k = 0; k < bucket.size(); ++k) relax(bucket[k], distance);  // it may grow meanwhile
        bucket.clear();
      }
  }

 private:
  struct Entry {
    std::int32_t node;
    double distance;  // when it was put here; a shorter one is somewhere else by now
  };

  void relax(Entry entry, double* distance) {
    if (distance[entry.node] != entry.distance) return;
    for (Index e = graph_.indptr[entry.node]; e < graph_.indptr[entry.node + 1]; ++e) {
      const std::int32_t j = graph_.indices[e];
      const double length = entry.distance + graph_.lengths[e];
      if (!(length < distance[j])) continue;
      distance[j] = length;
      put(length, j);
    }
  }

  void put(double distance, std::int32_t node) {
    const double place = (distance - base_) * scale_;
    (place < kBuckets ? buckets_[static_cast<Index>(place)] : beyond_).push_back({node, distance});
  }

  // Once the buckets are empty: those that wait apart, from the nearest of them on.
  bool rebase(const double* distance) {
    double nearest = kFar;
    std::vector<Entry> waiting;
    for (const Entry& entry : beyond_) {
      if (distance[entry.node] != entry.distance) continue;
      waiting.push_back(entry);
      nearest = std::min(nearest, entry.distance);
    }
    beyond_.clear();
    base_ = nearest;
    for (const Entry& entry : waiting) put(entry.distance, entry.node);
    return !waiting.empty();
  }

  const Graph& graph_;
  double scale_, base_ = 0;
  std::vector<std::vector<Entry>> buckets_;
  std::vector<Entry> beyond_;
};

}  // namespace

void shortest_paths(const Graph& graph, Span<const Index> sources, double* out, Team& team) {
  const double width = kWidth * median_length(graph);
  team.parts(sources.size, kSources, [&](Index begin, Index end) {
    Paths paths(graph, width);
    for (Index s = begin; s < end; ++s) paths.from(sources[s], out + s * graph.size());
  });
}

}  // namespace polymargin
