// Solves the problems of dual_problem.hpp and margin_problem.hpp by the engine of working_sets.hpp.
#pragma once
#include <memory>
#include <vector>

#include "margin_problem.hpp"
#include "row_cache.hpp"

namespace polymargin {

// `alpha` is the feasible starting point. Kernel rows are of type T, all sums are float64. `cache` may hold kernel rows of an
// earlier solve with the same K and is left for the next one.
template <class T>
Solution solve(const DualProblem& problem, const KernelBlocks<T>& K, std::unique_ptr<RowCache<T>>& cache,
               std::vector<double> alpha, const Settings& settings, Team& team);

// The same with variables class by class: alpha[c * n + i]. Of the solution, `gradient` are the scores F in this order.
template <class T>
Solution solve(const MarginProblem& problem, const KernelBlocks<T>& K, std::unique_ptr<RowCache<T>>& cache,
               std::vector<double> alpha, const Settings& settings, Team& team);

}  // namespace polymargin
