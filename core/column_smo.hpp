// One column of a code (code_problem.hpp), solved by steps on two variables where its kernel values are held: i may grow and has
// the smallest gradient, j may fall and promises the largest gain (the second-order choice of Fan, Chen and Lin, 2005). A step is two passes
// over the column's rows: the choice of j, and the change of the gradient together with the choice of the next i.
#pragma once
#include <vector>

#include "code_problem.hpp"
#include "steps.hpp"

namespace polymargin {

// Kernel values between all rows of a problem. At least kLanes values beyond the last one can be read.
template <class T>
struct HeldGram {
  const T* values = nullptr;
  Index ld = 0;
  Span<const double> diagonal;
  const T* row(Index i) const { return values + i * ld; }
};

template <class T>
class ColumnSmo {
 public:
  // `at` and `b` are a starting point, which is moved into the feasible set. Where `outside` is not null it has, for every row, what
  // variables that are no part of the problem add to the gradient.
  void begin(const CodeProblem& p, const HeldGram<T>& K, Index column, Span<const Index> at, Span<const double> b,
             const double* outside);
  // Steps until no violation exceeds `goal`, a limit is reached or nothing is gained any more: true, or until `more` says no: false.
  // It is solved if no violation exceeds tol >= goal.
  template <class More>
  bool run(double tol, double goal, Index max_iter, const More& more) {
    for (;;) {
      if (violation() <= goal || n_iter_ >= max_iter || stuck()) {
        if (!exact_) refresh();
        const bool solved = violation() <= tol;
        if (violation() <= goal || (solved && n_iter_ >= max_iter) || (solved && idle_ >= kIdle))
          return end(Status::solved);
        if (n_iter_ >= max_iter) return end(Status::max_iter);
        if (idle_ >= kIdle) return end(Status::stalled);
      }
      if (n_iter_ % kPatience == kPatience - 1 && !more()) return false;
      step();
    }
  }
  double violation() const { return range_.high - range_.low; }
  Index n_iter() const { return n_iter_; }
  ColumnSolution solution();

 private:
  struct Part {  // a range of rows, and its place among the variables, a multiple of kLanes
    Index row, size, at, padded;
  };
  static constexpr Index kPatience = 64;  // steps between two looks at the clock
  static constexpr int kIdle = 3;

  bool stuck();
  Index check_every() const { return 1000 + 10 * static_cast<Index>(b_.size()); }
  bool end(Status status) {
    status_ = status;
    return true;
  }
  void step();
  void refresh();
  void look();
  void set(Index k) {
    up_[k] = b_[k] < high_[k] ? T(0) : T(kBlocked);
    down_[k] = b_[k] > low_[k] ? T(0) : T(kBlocked);
  }
  double objective() const;

  const CodeProblem* p_ = nullptr;
  HeldGram<T> K_;
  std::vector<Part> parts_;
  std::vector<Index> row_;  // of each variable; -1: padding
  std::vector<T> G_, up_, down_, diagonal_;
  std::vector<double> b_, low_, high_, exact_gradient_, fixed_;
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
