// Binary machines that are the columns of a code matrix M in {-1, 0, 1}^(T x L), T classes, on shared kernel values.
//
// Rows are sorted by class. Column l is the machine on the rows of the classes c with M[c,l] != 0, whose label is y =
// M[c,l]:
//
//   min over b   1/2 b'(K + R) b - y'b        0 <= y_i b_i <= u_i,   sum b = 0        (b = y alpha, R diagonal)
//   f(x) = sum_i b_i k(x_i, x) + bias         bias: minus the multiplier of sum b = 0
//
// u and R are common to all columns: the hinge has u = C w and R = 0, the squared hinge u = infinity and R = 1 / (C
// w). A row with u = 0 takes no part. One-versus-one has a column of two entries for each pair, one-versus-rest a
// column without zeros per class.
#pragma once
#include <vector>

#include "base/solution.hpp"

namespace polymargin {

struct CodeProblem {
  Span<const Index> segments;  // class c is the range [segments[c], segments[c + 1]) of the rows
  // The entries of column l that are not zero are at [offsets[l], offsets[l + 1]): c + 1 for M[c,l] = 1, -(c + 1) for
  // -1, by class.
  std::vector<Index> offsets, entries;
  Span<const double> upper, ridge;
  Index classes() const { return segments.size - 1; }
  Index columns() const { return static_cast<Index>(offsets.size()) - 1; }
  Index rows() const { return upper.size; }
  Span<const Index> column(Index l) const { return {entries.data() + offsets[l], offsets[l + 1] - offsets[l]}; }
  static Index class_of(Index entry) { return (entry > 0 ? entry : -entry) - 1; }
  Index size(Index entry) const { return segments[class_of(entry) + 1] - segments[class_of(entry)]; }
};

// The solution of one column; b is zero elsewhere.
struct ColumnSolution {
  std::vector<Index> at;  // increasing
  std::vector<double> b;
  double bias = 0, primal = 0, dual = 0, violation = 0;
  Index n_iter = 0;
  Status status = Status::interrupted;  // until it is something else
  bool feasible = true;                 // else it is the machine of some of the rows, whose b go beyond the bounds
};

}  // namespace polymargin
