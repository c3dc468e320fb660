// The dual of every machine with one variable per row, as one record:
//
//   min over a   1/2 a'Qa - g'a + sum_i phi_i(a_i)      Q_ij = M(y_i, y_j) (k(x_i, x_j) + b0) + [i == j] r_i
//   l_i <= a_i <= u_i   and   no sum constraint | sum a = s | sum over class c = s_c for every c
//
// M is `same` for equal labels and `other` for different ones. phi is zero, or for the logistic loss the entropy
// a ln(a/u) + (u - a) ln(1 - a/u). The variables are sorted by class, so a class is a range and M needs no table.
#pragma once
#include "base/solution.hpp"

namespace polymargin {

enum class Sum { none, total, per_class };

// Up to this many rows, a solved problem is refined to rounding error.
constexpr Index kPolished = 256;
constexpr double kPolishedTol = 1e-12;

struct DualProblem {
  Span<const Index> rows;      // the data row of each variable
  Span<const Index> segments;  // class c is the range [segments[c], segments[c + 1]) of the variables
  double same = 1, other = 0;
  Span<const double> linear, upper, ridge;  // g, u (may be infinite), r
  Span<const double> lower;                 // l <= 0; empty: 0
  Sum sum = Sum::none;
  bool entropy = false;

  double low(Index i) const { return lower.size ? lower[i] : 0; }
  std::vector<Index> labels() const {
    std::vector<Index> out(rows.size);
    for (Index c = 0; c + 1 < segments.size; ++c)
      std::fill(out.begin() + segments[c], out.begin() + segments[c + 1], c);
    return out;
  }
};

}  // namespace polymargin
