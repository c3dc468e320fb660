// Solves the problem of dual_problem.hpp by block decomposition. Each round takes the variables that violate the optimality
// conditions most, fetches their kernel rows as one block, solves the small problem on them and adds the change to the gradient
// of all active variables. Variables that rest at a bound leave the active set; before the end their gradient is computed
// exactly and they are looked at again.
#pragma once
#include <memory>
#include <vector>

#include "dual_problem.hpp"
#include "row_cache.hpp"

namespace polymargin {

// `alpha` is the feasible starting point. Rows are of type T, all sums are float64. `cache` may hold rows of an earlier solve
// with the same K and is left for the next one.
template <class T>
Solution solve(const DualProblem& problem, const KernelBlocks<T>& K, std::unique_ptr<RowCache<T>>& cache,
               std::vector<double> alpha, const Settings& settings, Team& team);

}  // namespace polymargin
