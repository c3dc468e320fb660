// Solves the problem of margin_problem.hpp as decomposition.hpp does its own: working sets of examples instead of variables,
// scores of every class instead of one gradient, and exact steps on whole examples inside (local_margins.hpp).
#pragma once
#include <memory>
#include <vector>

#include "margin_problem.hpp"
#include "row_cache.hpp"

namespace polymargin {

// `b` is the feasible starting point, class by class: b[c * n + i]. Of the solution, alpha is b and gradient the scores F, both
// in this order.
template <class T>
Solution solve(const MarginProblem& problem, const KernelBlocks<T>& K, std::unique_ptr<RowCache<T>>& cache,
               std::vector<double> b, const Settings& settings, Team& team);

}  // namespace polymargin
