// Solves the problem of margin_problem.hpp by the engine of dual/working_sets.hpp.
#pragma once
#include <memory>
#include <vector>

#include "kernels/row_cache.hpp"
#include "margins/margin_problem.hpp"

namespace polymargin {

// As in dual/solve.hpp, with variables class by class: b[c * n + i]. The solution's `gradient` are the scores F in this
// order.
template <class T>
Solution solve(const MarginProblem& problem, const KernelBlocks<T>& K, std::unique_ptr<RowCache<T>>& cache,
               std::vector<double> b, const Settings& settings, Team& team);

}  // namespace polymargin
