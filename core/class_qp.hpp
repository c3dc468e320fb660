// Quadratic programs on some classes of one Gram matrix:
//
//   min over z   1/2 z'(K + diag(r))z - p'z      low <= z <= high, the sum of z over every group stays what it is
//
// K is sorted by class, so a class is a range of rows and columns, and many problems read the same matrix: pairs of
// classes, one class against the rest, enclosing balls. A variable of a negative class is negative, which keeps labels
// out of the matrix.
#pragma once
#include <vector>

#include "steps.hpp"

namespace polymargin {

class ClassQp {
 public:
  // Class c is the rows [segments[c], segments[c + 1]). `split`: every class of the problem is a group; else one group.
  ClassQp(Span<const Index> segments, const std::vector<Index>& classes, bool split);

  struct Part {  // the variables [at, at + size) are the rows [row, row + size) of K
    Index row, at, size;
  };
  // Any ranges of rows, as one group; `at` counts the variables.
  explicit ClassQp(std::vector<Part> parts);
  const std::vector<Part>& parts() const { return parts_; }
  Index size() const { return n_; }

  std::vector<double> z, low, high, linear, ridge;
  std::vector<double> G;  // (K + diag(r)) z - p, from `begin` on

  // z must be feasible. K has ld values in a row.
  void begin(const double* K, Index ld);
  // The same from the z of before times `scale`, after bounds and ridge have changed: K z need not be computed again.
  void resume(const std::vector<double>& old_ridge, double scale);
  // Steps on two variables of a group until the largest violation is at most eps. Returns how many were made: fewer
  // than `most` means that eps is reached, or that rounding leaves nothing to gain.
  Index steps(double eps, Index most);
  double violation() const { return violation_; }
  // z'(K + diag(r))z
  double quadratic() const;
  // The multiplier of each group: the mean gradient of its free variables, else the middle of what is possible.
  std::vector<double> multipliers() const;

 private:
  void allocate();
  struct Group {
    Index first, last;  // parts
  };
  void mark(Index k) {
    up_[k] = z[k] < high[k] ? 0.0 : kBlocked;
    down_[k] = z[k] > low[k] ? 0.0 : kBlocked;
  }
  const Part& part_of(Index k) const;

  std::vector<Part> parts_;
  std::vector<Group> groups_;
  Index n_ = 0;
  const double* K_ = nullptr;
  Index ld_ = 0;
  double violation_ = 0;
  std::vector<double> up_, down_, diagonal_;
};

}  // namespace polymargin
