// Binary machines that are the columns of a code matrix M in {-1, 0, 1}^(T x L), T classes, on shared kernel values.
//
// Rows are sorted by class. Column l is the machine on the rows of the classes c with M[c,l] != 0, whose label is y = M[c,l]:
//
//   min over b   1/2 b'(K + R) b - y'b        0 <= y_i b_i <= u_i,   sum b = 0        (b = y alpha, R diagonal)
//   f(x) = sum_i b_i k(x_i, x) + bias         bias: minus the multiplier of sum b = 0
//
// u and R are common to all columns: the hinge has u = C w and R = 0, the squared hinge u = infinity and R = 1 / (C w). A row
// with u = 0 takes no part. One-versus-one has a column of two entries for each pair, one-versus-rest a column without zeros per class.
#pragma once
#include <cstdint>
#include <vector>

#include "dual_problem.hpp"

namespace polymargin {

struct CodeProblem {
  Span<const Index> segments;    // class c is the range [segments[c], segments[c + 1]) of the rows
  Span<const std::int8_t> code;  // T x L, row by row
  Span<const double> upper, ridge;
  Index classes() const { return segments.size - 1; }
  Index columns() const { return code.size / classes(); }
  Index rows() const { return upper.size; }
  int sign(Index c, Index column) const { return code[c * columns() + column]; }
};

// The solution of one column; b is zero elsewhere.
struct ColumnSolution {
  std::vector<Index> at;  // increasing
  std::vector<double> b;
  double bias = 0, primal = 0, dual = 0, violation = 0;
  Index n_iter = 0;
  Status status = Status::interrupted;  // until it is something else
};

}  // namespace polymargin
