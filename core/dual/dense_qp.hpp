// A quadratic program whose matrix is in memory,
//
//   min over z   1/2 z'(Q + R) z + p'z      low <= z <= high,   the sum of z over each group as it is at the start
//
// with a diagonal R. The linear term p is given by a point and its gradient there, (Q + R) z + p. The variables come in
// parts, runs whose values are adjacent in memory, and a group is a run of parts; without groups there is the box
// alone. Every machine ends here: the working set of a large problem, a binary machine whose kernel values are held,
// the inner problems of a criterion.
#pragma once
#include <algorithm>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "dual/face_program.hpp"
#include "simd/steps.hpp"

namespace polymargin {

// Values of Q between two lists of variables.
template <class T>
struct Block {
  const T* values = nullptr;
  Index ld = 0;
};

template <class T>
struct DenseQp : FaceProgram {
  std::vector<Index> sizes;      // of the parts
  std::vector<Block<T>> blocks;  // between parts p and q: blocks[p * n_parts + q]; or only one, between all variables
  std::vector<Index> groups;     // group g is the parts [groups[g], groups[g + 1]); empty: no sums
  std::vector<double> ridge, diagonal;  // Q_ii in `diagonal`
  std::vector<Index> first, part_of;    // first variable of each part; part of each variable
  // If set, there are no blocks: this makes the values of some variables with all others, once one is read.
  std::function<void(const std::vector<Index>&)> make;
  std::vector<const T*> made;
  Index at_once = 1;  // variables for which that takes little longer than for one

  Index parts() const { return static_cast<Index>(sizes.size()); }
  Index n_groups() const { return groups.empty() ? 0 : static_cast<Index>(groups.size()) - 1; }
  bool has_sum() const override { return n_groups() == 1; }
  // The values of variable i with the variables of part q.
  const T* row(Index i, Index q) const {
    if (make) {
      if (!made[i]) make({i});
      return made[i] + first[q];
    }
    if (blocks.size() == 1) return blocks[0].values + i * blocks[0].ld + first[q];
    const Block<T>& block = blocks[part_of[i] * parts() + q];
    return block.values + (i - first[part_of[i]]) * block.ld;
  }
  T value(Index i, Index j) const { return row(i, part_of[j])[j - first[part_of[j]]]; }
  // Variables in parts of these sizes and in these groups; all numbers are zero then, and there are no blocks.
  void reset(std::vector<Index> part_sizes, std::vector<Index> part_groups) {
    sizes = std::move(part_sizes), groups = std::move(part_groups);
    blocks.clear(), first.clear(), part_of.clear(), tie_of.clear(), base.clear(), make = nullptr;
    for (Index p = 0, g = 0; p < parts(); ++p) {
      while (!groups.empty() && p >= groups[g + 1]) ++g;
      first.push_back(static_cast<Index>(part_of.size()));
      part_of.resize(part_of.size() + sizes[p], p);
      if (n_groups() > 1) tie_of.resize(part_of.size(), g);
    }
    for (std::vector<double>* v : {&low, &high, &ridge, &diagonal, &z, &gradient}) v->assign(part_of.size(), 0.0);
  }
  // A base of each group: the variable with the most room or, where all are at bounds, the one that has to grow first.
  void tie() {
    base.assign(n_groups() > 1 ? n_groups() : 0, -1);
    for (Index i = 0; i < size() && tied(); ++i) {
      Index& b = base[tie_of[i]];
      const double more = b < 0 ? 1 : room(i) - room(b);
      if (more > 0 || (more == 0 && can_grow(i) && (!can_grow(b) || gradient[i] < gradient[b]))) b = i;
    }
  }
  double values(Index i, const std::vector<Index>& list, double* out) const override {
    if (!tied()) {
      for (Index j : list) *out++ = value(i, j);
      return diagonal[i] + ridge[i];
    }
    const Index b = base_of(i);
    for (Index j : list) {
      const Index c = base_of(j);
      *out++ = (double(value(i, j)) - double(value(b, j))) - (double(value(i, c)) - double(value(b, c))) +
               (b == c) * ridge[b];
    }
    return diagonal[i] + diagonal[b] - 2 * double(value(i, b)) + ridge[i] + ridge[b];
  }
  double jitter() const override {
    constexpr double rounding = sizeof(T) == 8 ? 1e-13 : 2e-6;
    return rounding * std::max(*std::max_element(diagonal.begin(), diagonal.end()), std::numeric_limits<double>::min());
  }
  void add_change(const std::vector<double>& old, std::vector<double>& g) const override {
    std::vector<Index> changed;
    std::vector<double> change;
    for (Index i = 0; i < size(); ++i)
      if (z[i] != old[i]) changed.push_back(i), change.push_back(z[i] - old[i]);
    // First R, which would be lost beside large values of Q that cancel each other.
    for (std::size_t r = 0; r < changed.size(); ++r) g[changed[r]] += ridge[changed[r]] * change[r];
    constexpr Index tile = 2048;  // values of a row at a time, so that the sums stay in cache
    std::vector<const T*> rows(changed.size());
    for (Index q = 0; q < parts(); ++q)
      for (Index from = 0; from < sizes[q]; from += tile) {
        for (std::size_t r = 0; r < changed.size(); ++r) rows[r] = row(changed[r], q) + from;
        steps<T>().add_rows(rows.data(), change.data(), static_cast<Index>(rows.size()), 0,
                            sizes[q] - from < tile ? sizes[q] - from : tile, g.data() + first[q] + from);
      }
  }
};

// Where no variable of a group is off its bounds, its multiplier may be anything between two numbers: the gradient of
// those that can only fall is at most `low`, of those that can only grow at least `high`. One rule for all machines:
// the mean gradient of the free variables, else the middle of the two, else the one that is finite.
struct Level {
  double sum = 0, low = -kBlocked, high = kBlocked;
  double least = kBlocked, most = -kBlocked;  // gradient of all that can grow, and of all that can fall
  Index n_free = 0;
  void see(bool can_grow, bool can_fall, double gradient) {
    if (can_grow) least = std::min(least, gradient);
    if (can_fall) most = std::max(most, gradient);
    if (can_grow && can_fall)
      sum += gradient, ++n_free;
    else if (can_grow)
      high = std::min(high, gradient);
    else if (can_fall)
      low = std::max(low, gradient);
  }
  double value() const {
    if (n_free > 0) return sum / static_cast<double>(n_free);
    if (low <= -kBlocked) return high >= kBlocked ? 0 : high;
    return high >= kBlocked ? low : 0.5 * (low + high);
  }
};

}  // namespace polymargin
