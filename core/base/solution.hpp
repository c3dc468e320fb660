// How a solver is run, and what it returns: the same records for all of them.
#pragma once
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "base/data.hpp"

namespace polymargin {

enum class Status { solved, max_iter, time_limit, stalled, interrupted };

struct Progress {
  Index n_iter;
  double violation, dual, seconds;
};

struct Settings {
  double tol = 1e-3;      // largest accepted KKT violation ...
  bool relative = false;  // ... as a multiple of the margin rho (the nu forms)
  double gap = 0.01;      // where the relative gap is larger, the solver goes on to a smaller violation
  Index max_iter = std::numeric_limits<Index>::max();
  double time_limit = std::numeric_limits<double>::infinity();
  double memory = 1e9;                        // bytes for kernel rows
  bool keeps_rows = false;                    // keep even rows used once: the next solve will need them
  std::function<bool(const Progress&)> stop;  // called about ten times a second
};

// (primal - dual) / max(|primal|, |dual|)
inline double relative_gap(double primal, double dual) {
  const double size = std::max(std::abs(primal), std::abs(dual));
  return size > 0 ? (primal - dual) / size : 0;
}

struct Solution {
  std::vector<double> alpha, gradient;  // gradient is Qa - g (the entropy's derivative is not in it)
  std::vector<double> multiplier;       // of each sum constraint: rho, or r_c = rho - b_c for every class
  Status status = Status::solved;
  Index n_iter = 0;
  double violation = 0, primal = 0, dual = 0;
  bool exact = true;  // else the gradient is not that of alpha: there was no time for it
};

}  // namespace polymargin
