// The problem of margin_problem.hpp on some examples where the scores of an example sum to zero (reference `mean`, no
// ridge), by splitting: its quadratic part and its bounds in turn.
//
//   z = the feasible point nearest to x       (H + rho I) (c - s) = rho (2 z - x - s) - g       x += 1.8 (c - z)
//
// with g the gradient of the objective at s, any point: it is that of z every few steps, so that what the inverse lacks
// in digits does not stay. A fixed point is x = z - gradient / rho, where z is optimal, and x begins as that of the
// point given. H b = K (b - mean over classes), so
//
//   (H + rho I)^-1 r = mean r / rho + (K + rho I)^-1 (r - mean r)
//
// and one inverse of a matrix of examples serves all classes, whatever is free. A shift common to all classes, which no
// score sees, meets rho alone. Steps on examples move along such shifts by a little at a time, and a factor of the free
// variables (dual/face.hpp) would have several of them per example. Processor seconds to tol = 1e-3 with the parameters
// of docs/choosing-a-machine.md (float32, AVX2, one thread), steps and faces / splitting:
//
//   satimage    llw 13 / 4.7 (5,460 free)    adm 79 / 3.7 (7,860)       atm over 65 / 4.6 (7,900)
//   pendigits   llw 28 / 13 (11,600)         adm over 76 / 8 (10,900)   reinforced over 44 / 27 (6,290)
//
// How rho is chosen changes the steps by a factor of three to seven, so it follows the two residuals (`step`).
#pragma once
#include <functional>
#include <vector>

#include "base/team.hpp"
#include "dual/shifted_inverse.hpp"
#include "margins/margin_problem.hpp"

namespace polymargin {

template <class T>
class MarginSplitting {
 public:
  MarginSplitting(const MarginProblem& problem, Team& team) : p_(problem), T_(problem.classes), team_(team) {}

  static bool suits(const MarginProblem& problem);
  static double bytes(double rows) { return ShiftedInverse<T>::bytes(rows); }

  struct Set {
    const std::vector<Index>& example;
    const T* K;  // kernel values of the examples over each other: row i begins at K + i * ld
    Index ld;
    const std::vector<double>& F;  // their scores, class by class
  };
  struct Goal {
    double tol, share;  // the largest violation that is accepted: this, or this share of the first one
    Index most;         // steps
  };
  // From their variables b, class by class, which become the best point seen: its objective is never higher. True when
  // the goal is reached; false after so many steps, where rounding leaves nothing to gain, or when stop() says so.
  bool solve(const Set& set, std::vector<double>& b, const Goal& goal, const std::function<bool()>& stop);
  Index n_steps() const { return n_steps_; }

 private:
  void begin(const std::vector<double>& F, const std::vector<double>& b);
  void nearest();
  void step(bool measured);
  void centered(const std::vector<double>& from);
  double look(const Set& set);
  bool change_rho(const Set& set, double factor, const std::function<bool()>& stop);
  double violation() const;
  double sign(Index c, Index r) const { return c == label_[r] ? 1 : -1; }
  double highest(Index c, Index r) const { return c == label_[r] && p_.own_target <= 0 ? 0 : u_[r]; }

  const MarginProblem& p_;
  const Index T_;
  Team& team_;
  ShiftedInverse<T> inverse_;
  Index m_ = 0, n_steps_ = 0;
  double rho_ = 1, share_ = 0.2;  // rho, and as a share of the mean of the diagonal of K
  double pace_ = 1;               // by which rho should be multiplied
  std::vector<Index> label_;
  std::vector<double> u_;
  std::vector<double> x_, z_;            // class by class
  std::vector<double> seen_, gradient_;  // the last point whose gradient is known, and that
  std::vector<double> mean_, r_;
  std::vector<T> narrow_, product_;
};

extern template class MarginSplitting<float>;
extern template class MarginSplitting<double>;

}  // namespace polymargin
