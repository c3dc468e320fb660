// The problem of margin_problem.hpp on some examples, for the face of a point (dual/face.hpp).
//
// The variables are the sizes z = |b|, class by class, and after the last class the slack of every example: what is
// left of its cap, or without one a size that no step exhausts. The sizes and the slack of an example are a tie. Moved
// alone, a variable and its base change the scores of two classes at most,
//
//   own reference     e_base - e_c             the slack counts as the own class
//   otherwise         s_c e_c - s_base e_base  s = 1 for the own class, -1 for others, 0 for the slack
//
// with e centered for the reference `mean`, so a value of H is one kernel value and a few comparisons, and the gradient
// of all variables follows through the scores.
#pragma once
#include <vector>

#include "dual/face_program.hpp"
#include "margins/margin_problem.hpp"
#include "margins/score_kernel.hpp"

namespace polymargin {

template <class T>
class MarginQp : public FaceProgram {
 public:
  MarginQp(const MarginProblem& problem, const ScoreKernel<T>& M) : p_(problem), M_(M), T_(problem.classes) {}

  // The examples with their kernel rows over each other, their scores F and variables b, class by class.
  void load(const std::vector<Index>& example, std::vector<const T*> K, const std::vector<double>& F,
            const std::vector<double>& b);
  double b(Index r, Index c) const;
  // Only the variables of class c may move from now on.
  void confine(Index c);

  double values(Index i, const std::vector<Index>& list, double* out) const override;
  void add_change(const std::vector<double>& old, std::vector<double>& g) const override;
  double jitter() const override;

 private:
  double sign(Index c, Index r) const { return c == T_ ? 0 : c == label_[r] ? 1 : -1; }

  const MarginProblem& p_;
  const ScoreKernel<T>& M_;
  const Index T_;
  Index m_ = 0;
  double shared_ = 0;  // -<e_c, e_d> for c != d
  std::vector<Index> example_, label_;
  std::vector<Index> axis_;  // a variable without its base changes the scores by along_ e of this class
  std::vector<double> along_;
  std::vector<double> bound_;  // upper bounds of all classes
  std::vector<const T*> K_;
};

}  // namespace polymargin
