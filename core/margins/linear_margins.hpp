// The problem of margin_problem.hpp with own reference and the linear kernel, in weight space. With D[i] in R^T,
//
//   w_c = sum_i D[i,c] x_i,  b_c = b0 sum_i D[i,c],    D[i,c] <= 0 for c != y_i,  D[i,y_i] = -sum_{c != y_i} D[i,c]
//
//   min over D   1/2 sum_c |w_c|^2 + 1/(2 b0) sum_c b_c^2 + sum_i sum_{c != y_i} (r_i/2 D[i,c]^2 + t[y_i,c] D[i,c])
//   -u_i <= D[i,c]   and, if capped,   D[i,y_i] <= u_i
//
// is the dual of   min over w   1/2 |w|^2 + sum_i u_i max_c (or sum_c) (t[y_i,c] + f_c(x_i) - f_{y_i}(x_i))_+ ,   and
// of 1/(2 r_i) sum_c (...)_+^2 where u is infinite. t is the margin required of class y over class c: 1, or a T x T
// matrix of costs (margin rescaling: capped, t = Delta). A step on one example costs its non-zeros times T, whatever n:
// no kernel rows.
//
// Processor seconds of crammer-singer at C = 1 here / by the engine on the same values (AVX-512, one thread, busy):
//
//   4,000 sparse rows, 60 of 20,000 features, 20 classes   0.07 / 0.99
//   4,000 sparse rows with all of 50 features, 10 classes  0.56 / 0.26
//   10,000 dense rows of 20 features, 5 classes            0.60 / 0.35
//
// Exact steps on one example after the other in random order; examples that rest firmly at bounds are left out until
// the others are solved. Solved: no violation of the optimality conditions above tol, on all examples.
#pragma once
#include "base/team.hpp"
#include "dual/dual_problem.hpp"

namespace polymargin {

struct LinearMargins {
  Data X;
  Span<const Index> rows, label;  // data row and class of each example, in any order
  Index classes = 0;
  bool capped = false;              // the loss is the largest slack, not the sum of all
  double offset = 0;                // b0: 0, or 1 for a regularized intercept
  Span<const double> upper, ridge;  // u (may be infinite if not capped), r
  Span<const double> target;        // t, row by row: margin of class y over class c at [y * classes + c]; empty: all 1
};

// D, examples x classes, is the feasible starting point and becomes the solution. `w` (classes x d) and `b` (classes)
// receive the model. Of the result, alpha and gradient stay empty; n_iter counts sweeps. The result depends on `seed`,
// not on the number of threads.
Solution solve(const LinearMargins& problem, double* D, double* w, double* b, std::uint64_t seed,
               const Settings& settings, Team& team);

}  // namespace polymargin
