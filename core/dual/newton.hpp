// Many rows that are support vectors, without upper bounds: Newton's method on all of them at once.
//
// With a ridge r > 0 and no upper bound (the squared hinge), the optimum is a = s / r, where s is what a row lacks to
// its margin,
//
//   s_i = g_i - f_i + level  where that has the sign of the variable, else 0         f = (Q - R) a
//
// so that on the rows S that lack something it is one linear system. Each step solves it by conjugate gradients on
// kernel values that are held as far as memory goes, preconditioned by landmarks (landmark_model.hpp), and goes to the
// minimum of the primal along the line to the solution; then S is looked at again. Working sets take a round for every
// few hundred variables instead. What is found is a start for the engine, with its scores: the engine finishes and
// certifies it.
#pragma once
#include <memory>
#include <vector>

#include "dual/dual_problem.hpp"
#include "kernels/row_cache.hpp"

namespace polymargin {

struct NewtonStart {
  std::vector<double> alpha;  // empty: nothing was found
  Index n_iter = 0;           // products with the kernel matrix
  double seconds = 0;
  bool interrupted = false;
};

// Whether this is a problem for it, to be begun at zero; `serial` and `cost` are those of the kernel.
bool suits_newton(const DualProblem& problem, bool serial, double cost, const std::vector<double>& alpha,
                  const Settings& settings);

// Leaves the scores of the start in `cache`.
template <class T>
NewtonStart newton_start(const DualProblem& problem, const KernelBlocks<T>& K, std::unique_ptr<RowCache<T>>& cache,
                         const Settings& settings, Team& team);

}  // namespace polymargin
