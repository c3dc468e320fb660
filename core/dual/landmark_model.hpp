// Q's kernel part from some of its columns, B' P^-1 B with B = Q[L, :] and P = Q[L, L] for landmarks L: what Newton's
// method begins with, and its preconditioner. With weights w on a set S,
//
//   (diag(1/w) + B' P^-1 B)^-1 = W - W B' H^-1 B W      H = P + B W B'      on S
//
// where H follows the rows that come into S and leave it.
#pragma once
#include <functional>
#include <vector>

#include "base/pages.hpp"
#include "base/team.hpp"
#include "dual/factor.hpp"

namespace polymargin {

template <class T>
class LandmarkModel {
 public:
  LandmarkModel(Index m, Index n, Team& team) : m_(m), n_(n), team_(team), B_(pages<T>(std::size_t(m * n), true)) {}
  static double bytes(Index m, Index n) { return double(m) * double(n) * sizeof(T); }

  T* row(Index l) { return B_.get() + l * n_; }
  // P, from the columns of B that are landmarks. Whether it is positive definite.
  bool begin(const std::vector<Index>& landmarks);
  // H = P
  void empty() { H_ = P_; }
  // Columns that come into S with these weights, or leave it where a weight is negative.
  void change(const std::vector<Index>& columns, const std::vector<double>& weights);
  bool factorize() { return set(factor_, H_); }

  // out = B x and out = B' c over the first n columns.
  void down(const double* x, Index n, double* out) const;
  void up(const double* c, Index n, double* out) const;
  void solve_H(double* c) const { factor_.forward(c), factor_.backward(c); }
  void solve_P(double* c) const { start_.forward(c), start_.backward(c); }

  // The columns of B become those at these increasing positions.
  void keep(const std::vector<Index>& columns);

 private:
  // Whether A + jitter I is positive definite; then this is its factor.
  bool set(Factor& factor, const std::vector<double>& A) const;

  const Index m_, n_;
  Team& team_;
  Pages<T> B_;
  std::vector<double> P_, H_;
  double jitter_ = 0;
  Factor start_, factor_;
};

extern template class LandmarkModel<float>;
extern template class LandmarkModel<double>;

}  // namespace polymargin
