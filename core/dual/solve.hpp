// Solves the problem of dual_problem.hpp by the engine of working_sets.hpp.
#pragma once
#include <memory>
#include <vector>

#include "dual/dual_problem.hpp"
#include "kernels/row_cache.hpp"

namespace polymargin {

// `alpha` is the feasible starting point. Kernel rows are of type T, all sums are float64. `cache` may hold kernel rows
// of an earlier solve with the same K and is left for the next one.
template <class T>
Solution solve(const DualProblem& problem, const KernelBlocks<T>& K, std::unique_ptr<RowCache<T>>& cache,
               std::vector<double> alpha, const Settings& settings, Team& team);

}  // namespace polymargin
