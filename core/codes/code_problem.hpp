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
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/solution.hpp"

namespace polymargin {

// The entries of a column that are not zero, by class: c + 1 for M[c,l] = 1, -(c + 1) for -1.
struct ColumnEntries {
  const Index* listed = nullptr;  // null: a pair
  Index size = 2;
  Index pair[2] = {0, 0};
  const Index* begin() const { return listed ? listed : pair; }
  const Index* end() const { return begin() + size; }
  Index operator[](Index k) const { return begin()[k]; }
};

// Which of the pairs (0, 1), (0, 2), ..., (T - 2, T - 1) of T classes (a, b) is, and pair l of them.
inline Index pair_number(Index a, Index b, Index T) { return a * (2 * T - a - 1) / 2 + b - a - 1; }
inline ColumnEntries nth_pair(Index l, Index T) {
  const auto begin = [&](Index a) { return pair_number(a, a + 1, T); };
  const double t = 2.0 * static_cast<double>(T) - 1;
  Index a = static_cast<Index>((t - std::sqrt(t * t - 8.0 * static_cast<double>(l))) / 2);  // except for rounding
  while (begin(a) > l) --a;
  while (begin(a + 1) <= l) ++a;
  return {nullptr, 2, {a + 1, -(a + 2 + l - begin(a))}};
}

struct CodeProblem {
  Span<const Index> segments;           // class c is the range [segments[c], segments[c + 1]) of the rows
  bool all_pairs = false;               // all pairs of classes, which may be millions: no list is made of them
  std::vector<Index> offsets, entries;  // else the entries of column l are at [offsets[l], offsets[l + 1])
  Span<const double> upper, ridge;
  Index classes() const { return segments.size - 1; }
  Index columns() const { return all_pairs ? classes() * (classes() - 1) / 2 : static_cast<Index>(offsets.size()) - 1; }
  Index rows() const { return upper.size; }
  ColumnEntries column(Index l) const {
    if (all_pairs) return nth_pair(l, classes());
    return {entries.data() + offsets[l], offsets[l + 1] - offsets[l], {0, 0}};
  }
  static Index class_of(Index entry) { return (entry > 0 ? entry : -entry) - 1; }
  Index size(Index entry) const { return segments[class_of(entry) + 1] - segments[class_of(entry)]; }

  // The column of two classes with the most rows; -1 if a column has more classes. To look at millions of them takes
  // seconds.
  Index largest_pair() const {
    Index first = -1, second = -1, largest = -1, most = -1;  // classes, and a column
    if (all_pairs) {
      for (Index c = 0; c < classes(); ++c) {
        if (first < 0 || size(c + 1) > size(first + 1))
          second = std::exchange(first, c);
        else if (second < 0 || size(c + 1) > size(second + 1))
          second = c;
      }
      return pair_number(std::min(first, second), std::max(first, second), classes());
    }
    for (Index l = 0; l < columns(); ++l) {
      if (column(l).size != 2) return -1;
      const Index m = size(column(l)[0]) + size(column(l)[1]);
      if (m > most) largest = l, most = m;
    }
    return largest;
  }
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
