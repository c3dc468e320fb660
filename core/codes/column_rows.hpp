// The rows of one column of a code (code_problem.hpp), as the variables of its machine, and what coefficients of them prove.
#pragma once
#include <vector>

#include "codes/code_problem.hpp"

namespace polymargin {

struct ColumnRows {
  std::vector<Index> row;  // of each variable
  std::vector<double> y, upper, ridge, diagonal;

  Index size() const { return static_cast<Index>(row.size()); }
  double low(Index k) const { return y[k] > 0 ? 0 : -upper[k]; }
  double high(Index k) const { return y[k] > 0 ? upper[k] : 0; }

  void list(const CodeProblem& p, Index column, const std::vector<double>& all_diagonal);
  // Coefficients of some rows, moved into the feasible set: clipped, then the heavier side is scaled down until the sum is 0.
  std::vector<double> start(Span<const Index> at, Span<const double> b) const;
  // Bias, objectives, violation and coefficients of a solution b with its gradient g = Kb + Rb - y.
  void certify(const std::vector<double>& b, const std::vector<double>& g, ColumnSolution& out) const;
  // The same where no more is known than b and a bias: bounds that hold whatever the kernel values are.
  void bound(const std::vector<double>& b, ColumnSolution& out) const;

 private:
  void store(const std::vector<double>& b, ColumnSolution& out) const;
  double loss(Index k, double slack) const {
    if (!(slack > 0) || upper[k] <= 0) return 0;
    return ridge[k] > 0 ? 0.5 * slack * slack / ridge[k] : upper[k] * slack;
  }
};

}  // namespace polymargin
