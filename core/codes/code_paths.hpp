// Cross-validation of binary machines by code on one Gram matrix. For each column of a code and each training set,
//
//   min 1/2 z'(K + diag(r))z - s'z     0 <= s_i z_i <= u_i,  sum z = 0
//   hinge: u = C w, r = 0              squared hinge: u = inf, r = 1/(C w)
//
// (s = +1, -1 the code of a row's class, on the training rows of classes with a code other than 0) is solved for each C
// in turn, every time from the last solution, and scores the test rows: f = K z + b.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "base/team.hpp"
#include "dual/dual_problem.hpp"

namespace polymargin {

struct CodePaths {
  Span<const Index> segments;    // rows are sorted by class
  Span<const std::int8_t> code;  // classes x columns
  Span<const double> C;          // increasing
  bool squared = false;
  double tol = 1e-3;
  Index max_iter = 0;  // steps of one solve

  struct Fold {
    Span<const Index> train, test;  // increasing
    Span<const double> weight;      // of the training rows, positive
  };
  std::vector<Fold> folds;

  Index classes() const { return segments.size - 1; }
  Index columns() const { return code.size / classes(); }
};

struct PathReport {
  Status status = Status::solved;
  double violation = 0;
  std::vector<double> seconds;  // of all columns' solves, fold by fold and C by C
};

// Scores of column l at the k-th C for the t-th test row, of all folds one after another, go to
// F[(l * n_C + k) * n_test + t].
// `stop` is asked between solves and every few steps.
PathReport run_paths(const CodePaths& paths, const double* K, Index n, double* F, const std::function<bool()>& stop,
                     Team& team);

}  // namespace polymargin
