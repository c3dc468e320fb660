// The inner problems of the radius-margin criteria, on one Gram matrix K of an RBF kernel, sorted by class:
//
//   margin of classes a, b     min z'(K + r diag(q))z    z >= 0 with sum 1 in a, z <= 0 with sum -1 in b
//                              ||w||^2 = 4 / minimum
//   radius of some classes     min z'(K + r diag(q))z    z >= 0 with sum 1
//                              R^2 = 1 + r - minimum
//
// r = 1/C, and q is 1 over the weight of each row: a row of weight 2 is a repeated row. Each problem starts from its
// last solution, and the problems run in parallel.
#pragma once
#include <functional>
#include <vector>

#include "base/team.hpp"
#include "dual/dual_problem.hpp"
#include "dual/pair_steps.hpp"

namespace polymargin {

// K = exp(-gamma D), an array of n x n squared distances.
void rbf_of_distances(const double* D, Index n, double gamma, double* K, Team& team);

class Criterion {
 public:
  struct Problem {
    std::vector<Index> classes;
    bool margin;  // else a radius
  };
  Criterion(Span<const Index> segments, const std::vector<Problem>& problems, Span<const double> ridge);

  struct Report {
    std::vector<double> minimum, squares;  // z'(K + r diag(q))z and z'diag(q)z of every problem
    Status status = Status::solved;
    Index n_steps = 0;
  };
  // Until each violation is at most tol times half the margin problem's minimum, or tol R^2.
  Report solve(const double* K, double r, double tol, Index max_steps, const std::function<bool()>& stop, Team& team);

  // With S = sum over the problems p of weight_p z_p z_p', on the rows of each problem:
  // sum_ij S_ij K_ij D_ij
  double weighted_sum(const double* K, const double* D, Span<const double> weight, Team& team) const;
  // sum_ij S_ij K_ij (x_it - x_jt)^2 for every feature t of the n x d array X
  std::vector<double> feature_sums(const double* K, const double* X, Index d, Span<const double> weight,
                                   Team& team) const;

  Index n() const { return n_; }
  Index size() const { return static_cast<Index>(problems_.size()); }

 private:
  struct Inner {
    PairSteps<double> steps;
    std::vector<Index> rows;  // the first row of K of each of its classes
    bool margin;
  };
  template <class Use>
  void each_row(Span<const double> weight, Team& team, const Use& use) const;

  Index n_;
  std::vector<double> ridge_;  // q
  std::vector<Inner> problems_;
  std::vector<Index> order_;                  // the largest problem first
  std::vector<std::vector<Index>> in_class_;  // the problems that class c takes part in
  std::vector<Index> segments_;
};

}  // namespace polymargin
