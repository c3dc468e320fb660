// Core vectors and enclosing balls: one quadratic program over the simplex.
//
//   min over a   a'Qa - 2 h'a      Q_ij = M(y_i, y_j) (k(x_i, x_j) + b0) + [i == j] r_i      a >= 0, sum a = 1
//
// M is `same` for equal labels and `other` for different ones. With h = 0 it is the dual of the multiclass core vector
// machine (Asharaf, Murty and Shevade 2007, eq. 10), with one class and h_i = k(x_i, x_i) / 2 that of the minimum enclosing
// ball. Let g = Qa - h. A step moves weight from one variable to another (Mitchell, Demyanov and Malozemov): i has the
// smallest g, j of those with a > 0 the largest gain. The point is within 2 (a'g - min g) of the optimum, and `solve` ends when
// that is at most tol times the objective.
//
// The rows are a working set, small against the data: core vectors and rows that lately violated the optimality
// conditions. `own_scores` of expansion.hpp passes over all data, block by block, wherever they are.
#pragma once
#include <memory>
#include <vector>

#include "dual/dual_problem.hpp"
#include "kernels/row_cache.hpp"

namespace polymargin {

struct SimplexProblem {
  Span<const Index> rows;   // the data row of each variable
  Span<const Index> label;  // and its class
  double same = 1, other = 0;
  Span<const double> linear, ridge;  // h, r
};

// `alpha` is the feasible starting point. Rows are of type T, the objective's sums are float64. In the solution `gradient` is g,
// `multiplier` is {min g}, `violation` the relative gap that was reached, `primal` and `dual` are bounds on the minimum of
// -(a'Qa - 2 h'a) over these rows.
template <class T>
Solution solve(const SimplexProblem& problem, const KernelBlocks<T>& K, std::unique_ptr<RowCache<T>>& cache,
               std::vector<double> alpha, const Settings& settings, Team& team);

}  // namespace polymargin
