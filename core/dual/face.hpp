// All variables off their bounds at once.
//
// Where classes overlap and C is large, pair steps run into millions while few variables are off their bounds. On the
// face of a point, where variables at bounds stay there, a dense quadratic program (dense_qp.hpp) is a linear system:
//
//   (Q + R)_FF d = -g_F + A lambda,     A'd = 0          F the free variables, A their groups
//
// The step d is cut at the first bound that it meets, and the variable that met it leaves F. Where none is met, the
// gradient of all variables shows which of those at bounds violate the optimality conditions, and the worst of them
// come into F. A Cholesky factor of the system is kept up to date as variables come and go, so a step costs |F|^2
// whatever C and however close to singular Q is.
#pragma once
#include <functional>
#include <vector>

#include "dual/dense_qp.hpp"

namespace polymargin {

// L L' = the matrix of the free variables, and W = L^-1 A, as columns of one array.
class Factor {
 public:
  void begin(Index n_groups, double jitter);
  Index size() const { return n_; }
  // A variable with these values towards the ones that are there, and its own. False where the matrix is not positive.
  bool append(const double* row, double diagonal, Index group);
  void remove(Index at);
  // x = L^-1 x and x = L^-T x
  void forward(double* x) const;
  void backward(double* x) const;
  const double* groups(Index k) const { return column(k) + capacity_; }  // row k of W
  double jitter() const { return jitter_; }

 private:
  double* column(Index k) { return memory_.data() + k * stride_; }
  const double* column(Index k) const { return memory_.data() + k * stride_; }
  void grow();

  Index n_ = 0, capacity_ = 0, n_groups_ = 0, stride_ = 0;
  double jitter_ = 0;
  std::vector<double> memory_, row_;  // column k: L[., k] from row 0 on, then W'[., k]
};

template <class T>
class Face {
 public:
  // From qp.z and its gradient, both of which become those of the new point; its objective is never higher. True when
  // no violation exceeds tol; false after so many multiply-adds, where there are more free variables or groups than
  // this is made for, where rounding leaves nothing to gain, or when stop() says so.
  bool solve(DenseQp<T>& qp, double tol, double work, const std::function<bool()>& stop);
  Index n_steps() const { return n_steps_; }
  // Whether it ended because rounding, or an indefinite Q, leaves nothing to gain here.
  bool lost() const { return lost_; }

 private:
  double level(Index i) const { return qp_->groups.empty() ? 0 : level_[qp_->group_of[i]]; }
  void set_free(Index i);
  void set_fixed(Index at);
  void factorize();
  void direction();
  void solve_groups();
  bool advance();
  void follow();
  void see_sums();
  bool kept_sums() const;
  double see_levels();
  bool widen(double tol);

  DenseQp<T>* qp_ = nullptr;
  Factor factor_;
  std::vector<Index> free_;  // in the order of the factor
  std::vector<char> is_free_;
  std::vector<double> d_, lambda_, row_, small_;
  std::vector<double> old_z_, old_g_;    // the last point whose gradient is known for all variables
  std::vector<double> safe_z_, safe_g_;  // the last one of them whose sums are right
  std::vector<double> level_;            // multiplier of each group there
  std::vector<double> sum_, excess_;     // of z in each group at the start, and what rounding has added since
  std::vector<Index> n_free_;            // in each group
  double work_ = 0, gain_ = 0;           // gain_: fall of the objective since the worst were last set free
  Index n_steps_ = 0;
  bool lost_ = false;
};

}  // namespace polymargin
