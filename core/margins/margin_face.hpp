// Conjugate gradients on the face of a point of margin_problem.hpp.
//
// Exact steps on examples soon find the variables that rest at their bounds, and then creep where the kernel matrix is nearly
// singular and C large. On the face of the point, where variables at bounds stay there and an example at its cap keeps its
// sum, the problem has no constraints: conjugate gradients run to its minimum. Where a bound is in the way, the whole step is
// cut off at the bounds if that lowers the objective by more than the part of it before the first bound, and they begin anew
// on the smaller face. The objective only falls.
#pragma once
#include <functional>
#include <vector>

#include "margins/margin_problem.hpp"
#include "margins/score_kernel.hpp"

namespace polymargin {

template <class T>
class MarginFace {
 public:
  MarginFace(const MarginProblem& problem, const ScoreKernel<T>& M) : p_(problem), M_(M), T_(problem.classes) {}

  // The variables b of the examples at their scores F, both class by class; K are the kernel rows over these examples. Ends
  // when no slope on the face exceeds eps, after `most` products with K, or when stop() says so.
  void descend(const std::vector<Index>& example, const std::vector<const T*>& K, const std::vector<double>& F,
               std::vector<double>& b, double eps, Index most, const std::function<bool()>& stop);

 private:
  bool is_free(Index k, Index c) const;
  void find();
  double project(std::vector<double>& v) const;
  void product(const std::vector<double>& d, std::vector<double>& Hd);
  double first_bound(const std::vector<double>& d) const;
  void cut(std::vector<double>& v) const;

  const MarginProblem& p_;
  const ScoreKernel<T>& M_;
  const Index T_;
  Index m_ = 0;
  const std::vector<Index>* example_ = nullptr;
  const std::vector<const T*>* K_ = nullptr;
  std::vector<double> b_, zero_;
  std::vector<char> free_, at_cap_;
  std::vector<double> n_free_;
};

}  // namespace polymargin
