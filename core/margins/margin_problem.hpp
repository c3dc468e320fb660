// The dual of every machine with several margins per example, as one record. T classes, one variable b[i,c] per example
// and class, V[c] = e_c minus a reference (e_y for y the example's class, the mean of all e, or nothing):
//
//   min over b   1/2 sum_ij (k(x_i, x_j) + b0) sum_cd b[i,c] <V_i[c], V_j[d]> b[j,d]
//                + sum_i r_i/2 |b_i|^2 - sum_ic t[i,c] b[i,c]
//
//   c != y_i:  t = -1,          -u_i <= b <= 0       f_c stays below the reference by one
//   c == y_i:  t = own_target,   0 <= b <= u_i       f_y exceeds it by own_target; b = 0 where no such margin is asked
//   capped:    sum_c |b[i,c]| <= u_i besides         the loss is the largest slack, not their sum
//
// |b| are the dual variables of the literature; the sign makes V the same for all margins. Within an example the label
// kernel is <V_i[c], V_i[d]> = [c == d] + beta, so one example is solved exactly (example_step.hpp). Scores are kept
// per class,
//
//   F[c,j] = sum_i D[i,c] (k(x_i, x_j) + b0),   D[i,c] = b[i,c] - [own reference and c == y_i] sum_d b[i,d],
//
// and a margin is F[c,j] - ref[j], ref the own score, the mean score or 0: a kernel row changes only classes that
// moved.
#pragma once
#include "base/margin_loss.hpp"
#include "base/solution.hpp"

namespace polymargin {

struct MarginProblem {
  Span<const Index> rows, label;  // data row and class of each example; examples are sorted by class
  Index classes = 0;
  Reference reference = Reference::own;
  double own_target = 0;  // 0: no margin for the own class
  bool capped = false;
  Span<const double> upper, ridge;  // u (may be infinite if not capped), r

  double beta() const {
    return reference == Reference::own ? 1 : reference == Reference::mean ? -1 / static_cast<double>(classes) : 0;
  }
  double ref(const double* f, Index ld, Index y) const { return reference_score(reference, classes, f, ld, y); }
  double target(Index c, Index y) const { return c == y ? own_target : -1; }
};

// How far an example is from optimal. up: the largest gain rate of a variable that may grow, down: that may fall.
constexpr double kAtCap = 1 - 1e-10;
inline double example_violation(bool at_cap, double up, double down) {
  return at_cap ? (up > 0 ? up : 0) + down : up > down ? up : down;
}

}  // namespace polymargin
