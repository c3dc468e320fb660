// The dual of every machine with one variable per example, as one record:
//
//   min over a   1/2 a'Qa - g'a + sum_i phi_i(a_i)      Q_ij = M(y_i, y_j) (k(x_i, x_j) + b0) + [i == j] r_i
//   l_i <= a_i <= u_i   and   no sum constraint | sum a = s | sum over class c = s_c for every c
//
// M is `same` for equal labels and `other` for different ones. phi is zero, or for the logistic loss the entropy
// a ln(a/u) + (u - a) ln(1 - a/u). The variables are sorted by class, so a class is a range and M needs no table.
#pragma once
#include <functional>
#include <limits>
#include <vector>

#include "data.hpp"

namespace polymargin {

enum class Sum { none, total, per_class };
enum class Status { solved, max_iter, time_limit, stalled, interrupted };

struct DualProblem {
  Span<const Index> rows;      // the data row of each variable
  Span<const Index> segments;  // class c is the range [segments[c], segments[c + 1]) of the variables
  double same = 1, other = 0;
  Span<const double> linear, upper, ridge;  // g, u (may be infinite), r
  Span<const double> lower;                 // l <= 0; empty: 0
  Sum sum = Sum::none;
  bool entropy = false;
};

struct Progress {
  Index n_iter;
  double violation, primal, dual, seconds;
};

struct Settings {
  double tol = 1e-3;      // largest accepted KKT violation ...
  bool relative = false;  // ... as a multiple of the margin rho (the nu forms)
  Index max_iter = std::numeric_limits<Index>::max();
  double time_limit = std::numeric_limits<double>::infinity();
  double memory = 1e9;                        // bytes for kernel rows
  bool keeps_rows = false;                    // even those used once: the next solve will want them
  std::function<bool(const Progress&)> stop;  // asked some ten times a second
};

struct Solution {
  std::vector<double> alpha, gradient;  // gradient is Qa - g (the entropy's derivative is not in it)
  std::vector<double> multiplier;       // of each sum constraint: rho, or r_c = rho - b_c for every class
  Status status = Status::solved;
  Index n_iter = 0;
  double violation = 0, primal = 0, dual = 0;
  bool exact = true;  // else the gradient is not that of alpha: there was no time for it
};

}  // namespace polymargin
