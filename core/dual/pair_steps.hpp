// Solves a dense quadratic program (dense_qp.hpp) by steps on two variables, and where these become many by steps on
// all free variables at once (face.hpp).
//
// With sum constraints, i may grow and has the smallest gradient of the group that violates the conditions most, j may
// fall and promises the largest gain (the second-order choice of Fan, Chen and Lin, 2005): a step is two passes over
// the variables, the choice of j, and the change of the gradient together with the choice of the next i. Without them
// the variable with the largest gain goes, with the best partner given its step.
#pragma once
#include <limits>
#include <vector>

#include "dual/dense_qp.hpp"
#include "dual/dual_problem.hpp"
#include "dual/face.hpp"

namespace polymargin {

template <class T>
class PairSteps {
 public:
  DenseQp<T> qp;  // to be filled before `begin`; z becomes the solution, and after `finish` gradient is its gradient
  double room = std::numeric_limits<double>::infinity();  // bytes for the factor of a face

  void begin();
  // Steps until no violation exceeds `goal`, a limit is reached or nothing is gained any more: true, or until `more`
  // says no: false. It is solved if no violation exceeds tol >= goal; from there to the goal it takes no more steps
  // than before, and some.
  template <class More>
  bool run(double tol, double goal, Index max_iter, const More& more) {
    for (;;) {
      // These come first: they recompute the gradient, after which there may be no violation left.
      if (n_iter_ >= next_face_) try_face(goal, more);
      if (n_iter_ >= next_check_) check();
      // Values in float32 are too coarse for a face: those in float64 will do.
      if (lost_ && sizeof(T) < 8 && violation() > tol) return end(Status::stalled);
      const bool worth_it = violation() > tol || (!settled_ && n_iter_ < until());
      if (idle_ >= kIdle || violation() <= goal || n_iter_ >= max_iter || !worth_it) {
        if (!exact_) refresh();
        const bool solved = violation() <= tol, over = n_iter_ >= max_iter || idle_ >= kIdle || (solved && !worth_it);
        if (violation() <= goal || (solved && over)) return end(Status::solved);
        if (over) return end(n_iter_ >= max_iter ? Status::max_iter : Status::stalled);
      }
      if (n_iter_ % kPatience == kPatience - 1 && !more()) return false;
      if (!step()) return end(Status::stalled);
    }
  }
  // The same on the working set of a larger problem, whose gradient the caller will follow: no more is computed than
  // the steps need. Returns how many there were.
  template <class More>
  Index run_working_set(double goal, Index max_iter, const More& more) {
    while (violation() > goal && n_iter_ < max_iter) {
      if (n_iter_ >= next_face_) try_face(goal, more);
      if (n_iter_ >= next_check_) check();
      if (violation() <= goal || idle_ >= kIdle) break;
      if ((n_iter_ % kPatience == kPatience - 1 && !more()) || !step()) break;
    }
    return n_iter_;
  }
  void finish() {
    if (!exact_) refresh();
  }
  double violation() const { return worst_.high - worst_.low; }
  Index n_iter() const { return n_iter_; }
  Status status() const { return status_; }

 private:
  static constexpr Index kPatience = 64;  // steps between two looks at the clock
  static constexpr int kIdle = 3;
  static constexpr Index kInformed = 4;  // steps after which the gradient tells variables apart

  // The steps at which polishing ends, from the first time that tol was reached on.
  Index until() {
    if (until_ == 0) until_ = 2 * n_iter_ + 40 * qp.size() + 400, next_face_ = n_iter_;
    return until_;
  }
  Index check_every() const { return 1000 + 10 * qp.size(); }
  void check();
  void try_face(double goal, const std::function<bool()>& more);
  bool end(Status status) {
    status_ = status;
    return true;
  }
  // False where no step can be chosen: some values are NaN, or rounding leaves nothing to gain.
  bool step() { return qp.groups.empty() ? box_step() : group_step(); }
  bool group_step();
  bool box_step();
  void set(Index i, double z) {
    qp.z[i] = z;
    up_[i] = z < qp.high[i] ? T(0) : T(kBlocked);
    down_[i] = z > qp.low[i] ? T(0) : T(kBlocked);
  }
  void need(Index i);
  void change(Index i, Index j, double si, double sj);
  void refresh();
  double gain() const;

  std::vector<T> G_, up_, down_, diagonal_, inverse_;
  std::vector<double> start_z_, start_gradient_;
  Range worst_;  // of the group that violates the conditions most; without groups from 0 to the violation
  Index worst_group_ = 0;
  Pick first_;  // without groups: the variable with the largest gain
  Face face_;
  bool exact_ = false;
  bool lost_ = false, settled_ = false;  // on a face rounding leaves nothing to gain, or nothing to see
  Index n_iter_ = 0, next_check_ = 0, next_face_ = 0, last_face_ = 0;
  Index until_ = 0;      // 0: tol was not reached yet
  Index n_clipped_ = 0;  // steps since last_face_ that ended at a bound
  double best_ = 0, closest_ = 0;
  int idle_ = 0;
  Status status_ = Status::interrupted;
};

extern template class PairSteps<float>;
extern template class PairSteps<double>;

}  // namespace polymargin
