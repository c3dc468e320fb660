// What the face of a point (face.hpp) asks of a quadratic program
//
//   min over z   1/2 z'Hz + p'z      low <= z <= high,   some sums of z as they are at the start
//
// The linear term p is given by a point and its gradient there, Hz + p. Sums come in two kinds. Groups are few and
// large, and each has a multiplier. Ties are many and small: in each of them one variable that is off its bounds, the
// base, gives what the others take, so that the rest of them are without a sum. Its slope is zero then, and theirs
// count from it.
#pragma once
#include <vector>

#include "base/data.hpp"

namespace polymargin {

struct FaceProgram {
  std::vector<double> low, high;
  std::vector<double> z, gradient;  // a feasible start
  std::vector<Index> group_of;      // of each variable
  std::vector<Index> tie_of, base;  // tie of each variable, base of each tie; empty: there are none

  virtual ~FaceProgram() = default;
  Index size() const { return static_cast<Index>(z.size()); }
  bool can_grow(Index i) const { return z[i] < high[i]; }
  bool can_fall(Index i) const { return z[i] > low[i]; }
  bool tied() const { return !base.empty(); }
  Index base_of(Index i) const { return base[tie_of[i]]; }

  virtual Index n_groups() const { return 0; }
  // H between variable i and the listed ones, with ties between the ways that they and their bases go; returns H_ii.
  virtual double values(Index i, const std::vector<Index>& list, double* out) const = 0;
  // g += H (z - old)
  virtual void add_change(const std::vector<double>& old, std::vector<double>& g) const = 0;
  // What keeps the factor of a singular H positive: more than rounding its values takes away.
  virtual double jitter() const = 0;
};

}  // namespace polymargin
