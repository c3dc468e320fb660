// A binary machine with bias whose kernel values are at hand,
//
//   min over b   1/2 b'(K + R) b + g'b        0 <= y_i b_i <= u_i,   sum b as it is at the start        (R diagonal)
//
// solved by steps on two variables: i may grow and has the smallest gradient, j may fall and promises the largest
// gain (the second-order choice of Fan, Chen and Lin, 2005). A step is two passes over the variables: the choice of
// j, and the change of the gradient together with the choice of the next i.
#pragma once
#include <vector>

#include "dual_problem.hpp"
#include "steps.hpp"

namespace polymargin {

// Kernel values between two lists of rows. At least kLanes finite values beyond the last one can be read.
template <class T>
struct Block {
  const T* values = nullptr;
  Index ld = 0;
};

// Variables come in parts: runs whose kernel values are adjacent in memory.
template <class T>
struct BinaryProblem {
  std::vector<Index> sizes;      // of the parts
  std::vector<Block<T>> blocks;  // between parts p and q: blocks[p * n_parts + q]
  std::vector<double> y, upper, ridge, diagonal,
      linear;             // K_ii in `diagonal`; the linear term g, -y where nothing is fixed
  std::vector<double> b;  // start, within the bounds
  void clear() {
    sizes.clear(), blocks.clear();
    for (std::vector<double>* v : {&y, &upper, &ridge, &diagonal, &linear, &b}) v->clear();
  }
  Index size() const { return static_cast<Index>(y.size()); }
};

template <class T>
class ColumnSmo {
 public:
  BinaryProblem<T> problem;  // to be filled before `begin`; b becomes the solution

  void begin();
  // Steps until no violation exceeds `goal`, a limit is reached or nothing is gained any more: true, or until `more`
  // says no: false. It is solved if no violation exceeds tol >= goal.
  template <class More>
  bool run(double tol, double goal, Index max_iter, const More& more) {
    for (;;) {
      // stuck() comes first: it computes the gradient anew, after which there may be no violation left to step on.
      if (stuck() || violation() <= goal || n_iter_ >= max_iter) {
        if (!exact_) refresh();
        const bool solved = violation() <= tol, over = n_iter_ >= max_iter || idle_ >= kIdle;
        if (violation() <= goal || (solved && over)) return end(Status::solved);
        if (over) return end(n_iter_ >= max_iter ? Status::max_iter : Status::stalled);
      }
      if (n_iter_ % kPatience == kPatience - 1 && !more()) return false;
      if (!step()) return end(Status::stalled);
    }
  }
  // Makes problem.b and gradient() exact wherever the steps ended.
  void finish();
  const std::vector<double>& gradient() const { return gradient_; }  // by variable
  double violation() const { return range_.high - range_.low; }
  Index n_iter() const { return n_iter_; }
  Status status() const { return status_; }

 private:
  struct Part {
    Index first, size, at, padded;  // variables from `first` on have places from `at` on, a multiple of kLanes
  };
  static constexpr Index kPatience = 64;  // steps between two looks at the clock
  static constexpr int kIdle = 3;

  bool stuck();
  Index check_every() const { return 1000 + 10 * static_cast<Index>(b_.size()); }
  bool end(Status status) {
    status_ = status;
    return true;
  }
  bool step();  // false where no pair of variables can be named: some kernel values are no numbers
  void refresh();
  void set(Index k) {
    up_[k] = b_[k] < high_[k] ? T(0) : T(kBlocked);
    down_[k] = b_[k] > low_[k] ? T(0) : T(kBlocked);
  }
  // The kernel values of the variable at place k with the variables of part q.
  const T* row(Index k, std::size_t q) const {
    const Block<T>& block = problem.blocks[part_of_[k] * parts_.size() + q];
    return block.values + (k - parts_[part_of_[k]].at) * block.ld;
  }
  double objective() const;

  std::vector<Part> parts_;
  std::vector<std::size_t> part_of_;  // of each place
  std::vector<T> G_, up_, down_, diagonal_, ridge_;
  std::vector<double> b_, low_, high_, linear_, exact_gradient_, gradient_;
  Range range_;  // over all parts
  bool exact_ = false;
  Index n_iter_ = 0, next_check_ = 0;
  double best_ = 0, closest_ = 0;
  int idle_ = 0;
  Status status_ = Status::interrupted;
};

extern template class ColumnSmo<float>;
extern template class ColumnSmo<double>;

}  // namespace polymargin
