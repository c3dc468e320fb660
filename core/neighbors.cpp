#include "neighbors.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace polymargin {
namespace {

constexpr Index kStrip = 512, kColumns = 256;  // a block of distances: queries x columns
constexpr Index kStep = 32;                    // columns that are looked at together
constexpr double kLargest = 500;               // of d^2 / gamma: its exponential and the sums of paths stay finite
constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Candidate {
  double D, squared;
  Index row;
  // D rounds to 1 inside a class of distant rows: then the distance decides, and at last the row.
  bool operator<(const Candidate& o) const {
    if (D != o.D) return D < o.D;
    return squared != o.squared ? squared < o.squared : row < o.row;
  }
};

// Squared distances to 40 bits, so that rows at equal distances are told apart by their order and not by rounding errors.
double rounded(double squared) {
  int exponent = 0;
  const double mantissa = std::frexp(squared, &exponent);
  return std::ldexp(std::round(std::ldexp(mantissa, 40)), exponent - 40);
}

// Columns from..to of a block all have one class.
struct Segment {
  Index from, to, label;
};

// How many of kStep values are at most the bound: a count, because compilers vectorise it and no early exit.
template <class T>
int count_within(const T* x, T bound) {
  int count = 0;
  for (Index c = 0; c < kStep; ++c) count += x[c] <= bound;
  return count;
}

// |x_i - x_j|^2 from differences in float64: exact where float32 norms would cancel.
double squared_gap(const Data& X, Index i, Index j) {
  double sum = 0;
  auto add = [&](double gap) { sum += gap * gap; };
  if (!X.sparse()) {
    auto dense = [&](auto* x) {
      for (Index k = 0; k < X.d; ++k) add(double(x[i * X.stride + k]) - x[j * X.stride + k]);
    };
    X.wide ? dense(static_cast<const double*>(X.x)) : dense(static_cast<const float*>(X.x));
    return sum;
  }
  auto index = [&](const void* p, Index at) -> Index {
    return X.wide_index ? static_cast<const std::int64_t*>(p)[at] : static_cast<const std::int32_t*>(p)[at];
  };
  auto value = [&](Index at) -> double {
    return X.wide ? static_cast<const double*>(X.values)[at] : static_cast<const float*>(X.values)[at];
  };
  Index p = index(X.indptr, i), q = index(X.indptr, j);
  const Index p_end = index(X.indptr, i + 1), q_end = index(X.indptr, j + 1);
  while (p < p_end || q < q_end) {
    const Index k = p < p_end ? index(X.indices, p) : X.d, m = q < q_end ? index(X.indices, q) : X.d;
    add((k <= m ? value(p) : 0.0) - (m <= k ? value(q) : 0.0));
    p += k <= m, q += m <= k;
  }
  return sum;
}

template <class T>
class Search {
 public:
  Search(const NeighborQuery& q, Index query, std::vector<Candidate>& found)
      : q_(q), i_(query), a_(q.label[query]), found_(found) {}

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
  bool full() const { return q_.k > 0 && static_cast<Index>(found_.size()) >= q_.k; }

  // Columns of class b that are farther than this need no look.
  T reach(Index b) const {
    double bound = kInfinity;
    if (q_.k == 0) {
      bound = q_.D.inverse(q_.radius, a_, b);
    } else if (full()) {
      const Candidate& worst = found_.front();
      // Where the worst one is of this class its own distance is the bound: D may have lost it to rounding.
      bound = q_.label[worst.row] == b ? worst.squared : q_.D.inverse(worst.D, a_, b);
    }
    return bound < std::numeric_limits<T>::max() ? static_cast<T>(bound * (1 + 1e-6)) : std::numeric_limits<T>::max();
  }

  bool offer(Index j, double squared, Index b) {
    if (j == i_ || (q_.group.size && q_.group[j] == q_.group[i_])) return false;
    squared = rounded(squared);
    const Candidate c{q_.D(squared, a_, b), squared, j};
    if (q_.k == 0) {
      if (c.D <= q_.radius) found_.push_back(c);
      return false;
    }
    if (full()) {
      if (!(c < found_.front())) return false;
      std::pop_heap(found_.begin(), found_.end());
      found_.back() = c;
    } else {
      found_.push_back(c);
    }
    std::push_heap(found_.begin(), found_.end());
    return full();
  }

  const NeighborQuery& q_;
  Index i_, a_;
  std::vector<Candidate>& found_;  // a heap with the worst on top, or within a radius a list
};

}  // namespace

double Dissimilarity::operator()(double squared, Index a, Index b) const {
  if (!supervised) return std::sqrt(squared);
  if (a == b) return std::sqrt(-std::expm1(-squared / gamma));
  const double S = scale.size ? scale[a * classes + b] : 1;
  return S * (std::exp(0.5 * std::min(squared / gamma, kLargest)) - alpha);
}

double Dissimilarity::inverse(double D, Index a, Index b) const {
  if (!supervised) return D * D;
  if (a == b) return D < 1 ? -gamma * std::log1p(-D * D) : kInfinity;
  const double S = scale.size ? scale[a * classes + b] : 1, power = 2 * std::log(D / S + alpha);
  return power < kLargest ? gamma * power : kInfinity;
}

template <class T>
Neighbors neighbors(const KernelBlocks<T>& squared, const NeighborQuery& q, Team& team) {
  const Index n = q.order.size, m = q.queries.size, strips = (m + kStrip - 1) / kStrip;
  // The class segments of every block of columns.
  std::vector<std::vector<Segment>> segments((n + kColumns - 1) / kColumns);
  for (Index j = 0; j < n; ++j) {
    const Index c = j % kColumns, label = q.label[q.order[j]];
    std::vector<Segment>& s = segments[j / kColumns];
    if (s.empty() || s.back().label != label)
      s.push_back({c, c + 1, label});
    else
      ++s.back().to;
  }
  std::vector<std::vector<Candidate>> found(m);
  team.run(strips, [&](Index strip) {
    const Index from = strip * kStrip, to = std::min(from + kStrip, m);
    std::vector<T> tile(kStrip * kColumns);
    for (Index at = 0; at < n; at += kColumns) {
      const Span<const Index> cols = q.order.sub(at, std::min(at + kColumns, n));
      squared.block(q.queries.sub(from, to), cols, tile.data(), kColumns);
      for (Index r = from; r < to; ++r) {
        Search<T> search(q, q.queries[r], found[r]);
        for (const Segment& s : segments[at / kColumns]) search.look(tile.data() + (r - from) * kColumns, cols, s);
      }
    }
    for (Index r = from; r < to; ++r) {
      const Index i = q.queries[r];
      if (sizeof(T) == 4)
        for (Candidate& c : found[r]) c.D = q.D(c.squared = squared_gap(q.X, i, c.row), q.label[i], q.label[c.row]);
      std::sort(found[r].begin(), found[r].end());
    }
  });
  Neighbors out;
  out.indptr.push_back(0);
  for (std::vector<Candidate>& list : found) {
    for (const Candidate& c : list) {
      out.indices.push_back(c.row);
      out.D.push_back(c.D);
    }
    out.indptr.push_back(static_cast<Index>(out.indices.size()));
    std::vector<Candidate>().swap(list);
  }
  return out;
}

template Neighbors neighbors<float>(const KernelBlocks<float>&, const NeighborQuery&, Team&);
template Neighbors neighbors<double>(const KernelBlocks<double>&, const NeighborQuery&, Team&);

}  // namespace polymargin
