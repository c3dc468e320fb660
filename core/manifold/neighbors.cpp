#include "manifold/neighbors.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <numeric>

namespace polymargin {
namespace {

constexpr Index kStrip = 1024;    // queries of a block of distances, about
constexpr Index kStep = 32;       // columns that are looked at together
constexpr double kAsk = 4e9;      // multiply-adds between two reports
constexpr double kLargest = 500;  // of d^2 / gamma: its exponential and the sums of paths stay finite
constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Candidate {
  double D, squared;
  Index row;
  // D rounds to 1 inside a class of distant rows: then the distance decides, and finally the row number.
  bool operator<(const Candidate& o) const {
    if (D != o.D) return D < o.D;
    return squared != o.squared ? squared < o.squared : row < o.row;
  }
};

// Squared distances to 40 bits, so that rows at equal distances are ordered by number and not by rounding.
double rounded(double squared) {
  int exponent = 0;
  const double mantissa = std::frexp(squared, &exponent);
  return std::ldexp(std::round(std::ldexp(mantissa, 40)), exponent - 40);
}

// Columns from..to of a block all have one class.
struct Segment {
  Index from, to, label;
};

// How many of kStep values are at most the bound: a count, because compilers vectorize it and no early exit.
template <class T>
int count_within(const T* x, T bound) {
  int count = 0;
  for (Index c = 0; c < kStep; ++c) count += x[c] <= bound;
  return count;
}

// What is known of one query.
struct Found {
  std::vector<Candidate> near;                // a heap with the worst on top, or within a radius a list
  Candidate other{kInfinity, kInfinity, -1};  // the nearest one of another class
};

template <class T>
class Search {
 public:
  Search(const NeighborQuery& q, Index query, Found& found) : q_(q), i_(query), a_(q.label[query]), found_(found) {}

  void look(const T* squared, Span<const Index> cols, Segment s) {
    T bound = reach(s.label);
    for (Index c = s.from; c < s.to; c += kStep) {
      const Index end = std::min(c + kStep, s.to);
      if (end - c == kStep && count_within(squared + c, bound) == 0) continue;
      for (Index j = c; j < end; ++j)
        if (squared[j] <= bound && offer(cols[j], squared[j], s.label)) bound = reach(s.label);
    }
  }

 private:
  bool full() const { return q_.k > 0 && static_cast<Index>(found_.near.size()) >= q_.k; }

  // The squared distance at which a row of class b is as far as c. Where c is of this class its own distance is the
  // bound: D may have lost it to rounding.
  double reach(const Candidate& c, Index b) const {
    return c.row >= 0 && q_.label[c.row] == b ? c.squared : q_.D.inverse(c.D, a_, b);
  }

  // Columns of class b that are farther than this can be skipped.
  T reach(Index b) const {
    double bound = kInfinity;
    if (q_.k == 0)
      bound = q_.D.inverse(q_.radius, a_, b);
    else if (full())
      bound = reach(found_.near.front(), b);
    if (b != a_) bound = std::max(bound, reach(found_.other, b));
    return bound < std::numeric_limits<T>::max() ? static_cast<T>(bound * (1 + 1e-6)) : std::numeric_limits<T>::max();
  }

  // Whether the bounds may have changed.
  bool offer(Index j, double squared, Index b) {
    if (j == i_ || (q_.group.size && q_.group[j] == q_.group[i_])) return false;
    squared = rounded(squared);
    const Candidate c{q_.D(squared, a_, b), squared, j};
    const bool nearer = b != a_ && c < found_.other;
    if (nearer) found_.other = c;
    return add(c) || nearer;
  }

  bool add(const Candidate& c) {
    std::vector<Candidate>& near = found_.near;
    if (q_.k == 0) {
      if (c.D <= q_.radius) near.push_back(c);
      return false;
    }
    if (full()) {
      if (!(c < near.front())) return false;
      std::pop_heap(near.begin(), near.end());
      near.back() = c;
    } else {
      near.push_back(c);
    }
    std::push_heap(near.begin(), near.end());
    return full();
  }

  const NeighborQuery& q_;
  Index i_, a_;
  Found& found_;
};

// A block of distances: the rows from..to of the queries and the columns of one column block. The first `mirrored` rows
// are looked at from the columns' side too.
struct Block {
  Index from, to, column, mirrored;
};

// All blocks. Where the queries are all rows, those on and above the diagonal: their squares on the diagonal are whole.
// Those near the diagonal come first: rows of a class are together, so bounds are small early.
std::vector<Block> blocks(Index m, Index n, Index width, bool symmetric) {
  const Index strip = std::max<Index>(1, kStrip / width) * width;
  std::vector<Block> list;
  for (Index at = 0, column = 0; at < n; at += width, ++column)
    for (Index from = 0; from < (symmetric ? at + 1 : m); from += strip) {
      const Index to = std::min(from + strip, symmetric ? std::min(at + width, m) : m);
      list.push_back({from, to, column, symmetric ? std::min(to, at) - from : 0});
    }
  if (symmetric)
    std::stable_sort(list.begin(), list.end(),
                     [&](const Block& a, const Block& b) { return a.column * width - a.to < b.column * width - b.to; });
  return list;
}

}  // namespace

double Dissimilarity::operator()(double squared, Index a, Index b) const {
  if (!supervised) return std::sqrt(squared);
  if (a == b) return std::sqrt(-std::expm1(-squared / gamma));
  const double S = scale.size ? scale[a * classes + b] : 1;
  const double power = std::min(squared / gamma, kLargest);
  return S * (inside ? std::sqrt(std::exp(power) - alpha) : std::exp(0.5 * power) - alpha);
}

double Dissimilarity::inverse(double D, Index a, Index b) const {
  if (!supervised) return D * D;
  if (a == b) return D < 1 ? -gamma * std::log1p(-D * D) : kInfinity;
  const double s = scale.size ? D / scale[a * classes + b] : D;
  const double power = inside ? std::log(s * s + alpha) : 2 * std::log(s + alpha);
  return power < kLargest ? gamma * power : kInfinity;
}

template <class T>
Neighbors neighbors(const NeighborQuery& q, Team& team, const std::function<void(double)>& tell) {
  Kernel distance;
  distance.kind = KernelKind::sqeuclidean;
  const KernelBlocks<T> squared(q.X, q.X, distance);
  const Index n = q.order.size, m = q.queries.size, width = squared.width();
  const bool symmetric = m == n;
  const Span<const Index> queries = symmetric ? q.order : q.queries;
  // The class segments of every block of columns.
  std::vector<std::vector<Segment>> segments((n + width - 1) / width);
  for (Index j = 0; j < n; ++j) {
    const Index c = j % width, label = q.label[q.order[j]];
    std::vector<Segment>& s = segments[j / width];
    if (s.empty() || s.back().label != label)
      s.push_back({c, c + 1, label});
    else
      ++s.back().to;
  }
  std::vector<Found> found(m);
  std::vector<std::mutex> locks((m + width - 1) / width);  // of the queries, `width` by `width`
  const std::vector<Block> list = blocks(m, n, width, symmetric);

  auto look = [&](Index r, const T* tile, Span<const Index> cols, const std::vector<Segment>& parts) {
    Search<T> search(q, queries[r], found[r]);
    for (const Segment& s : parts) search.look(tile, cols, s);
  };
  auto one = [&](const Block& b) {
    const Span<const Index> cols = q.order.sub(b.column * width, std::min((b.column + 1) * width, n));
    std::vector<T> tile((b.to - b.from) * width), mirror(width * width);
    squared.block(queries.sub(b.from, b.to), cols, tile.data(), width);
    for (Index at = b.from; at < b.to; at += width) {
      const Index end = std::min(at + width, b.to);
      const T* here = tile.data() + (at - b.from) * width;
      {
        const std::lock_guard<std::mutex> lock(locks[at / width]);
        for (Index r = at; r < end; ++r) look(r, here + (r - at) * width, cols, segments[b.column]);
      }
      if (at - b.from >= b.mirrored) continue;
      tile_ops<T>().transpose(here, width, end - at, cols.size, mirror.data(), width);
      const std::lock_guard<std::mutex> lock(locks[b.column]);
      for (Index c = 0; c < cols.size; ++c)
        look(b.column * width + c, mirror.data() + c * width, queries.sub(at, end), segments[at / width]);
    }
  };
  const Index count = static_cast<Index>(list.size());
  for (Index at = 0; at < count;) {
    Index end = at;
    for (double work = 0; end < count && work < kAsk; ++end)
      work += static_cast<double>(list[end].to - list[end].from) * width * squared.cost();
    team.run(end - at, [&](Index k) { one(list[at + k]); });
    at = end;
    tell(static_cast<double>(at) / count);
  }

  auto again = [&](Index i, Candidate& c) {  // in float64
    if (sizeof(T) == 4 && c.row >= 0) c.D = q.D(c.squared = squared.exponent(i, c.row), q.label[i], q.label[c.row]);
  };
  team.parts(m, kStep, [&](Index begin, Index end) {
    for (Index r = begin; r < end; ++r) {
      for (Candidate& c : found[r].near) again(queries[r], c);
      again(queries[r], found[r].other);
      std::sort(found[r].near.begin(), found[r].near.end());
    }
  });
  std::vector<Index> place(m);  // of the queries in the caller's order
  std::iota(place.begin(), place.end(), 0);
  if (symmetric) {
    std::vector<Index> position(n);
    for (Index j = 0; j < n; ++j) position[q.order[j]] = j;
    for (Index r = 0; r < m; ++r) place[r] = position[q.queries[r]];
  }
  Neighbors out;
  out.indptr.push_back(0);
  for (Index p : place) {
    for (const Candidate& c : found[p].near) {
      out.indices.push_back(c.row);
      out.D.push_back(c.D);
    }
    out.indptr.push_back(static_cast<Index>(out.indices.size()));
    out.other.push_back(found[p].other.row);
    out.other_D.push_back(found[p].other.D);
  }
  return out;
}

template Neighbors neighbors<float>(const NeighborQuery&, Team&, const std::function<void(double)>&);
template Neighbors neighbors<double>(const NeighborQuery&, Team&, const std::function<void(double)>&);

}  // namespace polymargin
