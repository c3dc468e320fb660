// What the face of a point (face.hpp) asks of a quadratic program
//
//   min over z   1/2 z'Hz + p'z      low <= z <= high,   some sums of z as they are at the start
//
// The linear term p is given by a point and its gradient there, Hz + p. One sum of all variables has a multiplier.
// Several sums are ties: in each of them one variable that is off its bounds, the base, gives what the others take, so
// that the rest of them are without a sum. Its slope is zero then, and theirs count from it. Multipliers of several
// sums beside a singular H would have no digits left.
#pragma once
#include <algorithm>
#include <vector>

#include "base/data.hpp"

namespace polymargin {

struct FaceProgram {
  std::vector<double> low, high;
  std::vector<double> z, gradient;  // a feasible start
  std::vector<Index> tie_of, base;  // tie of each variable, base of each tie; empty: there are none

  virtual ~FaceProgram() = default;
  Index size() const { return static_cast<Index>(z.size()); }
  bool can_grow(Index i) const { return z[i] < high[i]; }
  bool can_fall(Index i) const { return z[i] > low[i]; }
  bool tied() const { return !base.empty(); }
  Index base_of(Index i) const { return base[tie_of[i]]; }

  double room(Index i) const { return std::min(z[i] - low[i], high[i] - z[i]); }

  // Whether the sum of all variables is as it is at the start.
  virtual bool has_sum() const { return false; }
  // H between variable i and the listed ones, with ties between the ways that they and their bases go; returns H_ii.
  virtual double values(Index i, const std::vector<Index>& list, double* out) const = 0;
  // g += H (z - old)
  virtual void add_change(const std::vector<double>& old, std::vector<double>& g) const = 0;
  // What keeps the factor of a singular H positive: more than rounding its values takes away.
  virtual double jitter() const = 0;
};

}  // namespace polymargin
