// All variables off their bounds at once.
//
// Where classes overlap and C is large, pair steps run into millions while few variables are off their bounds. On the
// face of a point, where variables at bounds stay there, a quadratic program (face_program.hpp) is a linear system:
//
//   H_FF d = -g_F + lambda,     1'd = 0            F the free variables; with a sum
//
// A variable that meets its bound on the way stays there and leaves F, the others go on as long as that is a gain.
// Where none is met, the gradient of all variables shows which of those at bounds violate the optimality conditions,
// and the worst of them come into F. A Cholesky factor of the system is kept up to date as variables come and go, so a
// step costs |F|^2 whatever C and however close to singular H is.
#pragma once
#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "dual/face_program.hpp"
#include "dual/factor.hpp"

namespace polymargin {

class Face {
 public:
  // From qp.z and its gradient, both of which become those of the new point; its objective is never higher. True when
  // no violation exceeds tol; false after this many multiply-adds, where there are more free variables than
  // this is made for, where rounding leaves nothing to gain, or when stop() says so.
  bool solve(FaceProgram& qp, double tol, double work, const std::function<bool()>& stop);
  // Whether this many free variables are few enough.
  static bool suits(double n_free) { return n_free <= kMostFree; }
  // From now on the factor, and its copy while it grows, have this many bytes.
  void limit(double bytes) {
    most_free_ = static_cast<Index>(std::min(std::sqrt(bytes / (2 * sizeof(double))), double(kMostFree)));
  }
  Index n_steps() const { return n_steps_; }
  // What a free variable keeps of its curvature beside those before it in the factor, in the mean. Where it is much,
  // steps on a few variables at a time are few.
  double independence() const;
  // Whether it ended because rounding, or an indefinite H, leaves nothing to gain here.
  bool lost() const { return lost_; }
  // Whether it ended with no violation that is told from rounding, though above the tolerance.
  bool settled() const { return settled_; }

 private:
  static constexpr Index kMostFree = 2048;  // a new factor takes under a second, and nobody is asked meanwhile
  bool is_base(Index i) const { return qp_->tied() && qp_->base_of(i) == i; }
  double level(Index i) const { return qp_->tied() ? qp_->gradient[qp_->base_of(i)] : level_; }
  double origin(Index i) const { return qp_->tied() ? qp_->gradient[qp_->base_of(i)] : 0; }
  double slope_of(Index k) const { return qp_->gradient[free_[k]] - origin(free_[k]); }
  void set_free(const std::vector<Index>& list);
  void set_fixed(std::vector<Index> list);
  void factorize();
  void direction();
  void hold_sum();
  bool advance();
  std::pair<double, Index> next_bound(double most) const;
  bool bend(Index k);
  void begin_lift();
  double lowest() const;
  double go(double step, Index& spent);
  void new_base(Index tie);
  void follow();
  void see_slopes();
  void see_sum();
  bool kept_sum() const;
  double see_level();
  bool widen(double tol);

  FaceProgram* qp_ = nullptr;
  Factor factor_;
  std::vector<Index> free_;  // in the order of the factor
  std::vector<char> is_free_;
  std::vector<double> y_,
      lifted_;  // L^-1 of minus the slopes of the free variables, and the same with the sum's part
  std::vector<double> d_, rows_;
  std::vector<double> rate_, column_;     // change of the free variables' gradient along d_, and a column of H
  std::vector<double> lift_, lift_rate_;  // a way on which the gradients rise alike, and its own rate_
  double lift_sum_ = 0;                   // what it adds to the sum
  std::vector<double> taken_;             // by a whole step from the base of each tie
  std::vector<double> old_z_, old_g_;     // the last point whose gradient is known for all variables
  std::vector<double> safe_z_, safe_g_;   // the last one of them whose sums are right
  double level_ = 0, lambda_ = 0;         // multiplier of the sum there, and at the end of the step
  double sum_ = 0, excess_ = 0;           // of z at the start, and what rounding has added since
  Index n_free_ = 0;                      // there
  double work_ = 0, most_work_ = 0;
  double gain_ = 0;  // fall of the objective since the worst were last set free
  Index n_steps_ = 0, most_free_ = kMostFree;
  bool lost_ = false, settled_ = false;
};

}  // namespace polymargin
