// The problem of margin_problem.hpp on one working set: its kernel block and its scores, class by class, stay in cache.
#pragma once
#include <functional>
#include <vector>

#include "base/pages.hpp"
#include "margins/example_step.hpp"
#include "margins/margin_problem.hpp"
#include "simd/steps.hpp"

namespace polymargin {

template <class T>
class LocalMargins {
 public:
  explicit LocalMargins(const MarginProblem& p);

  void resize(Index examples);
  // Exact steps on examples until no violation exceeds eps; returns their number. The next example is the one with the
  // largest gain beside the last one, and a few in succession are solved together: pairs that pull at each other settle
  // at once.
  Index solve(double eps, Index max_steps, const std::function<bool()>& stop);

  Index m = 0, ld = 0;           // examples, and the same padded to kLanes
  Room<T> K;                     // m x ld
  std::vector<T> F;              // classes x ld
  std::vector<double> b;         // m x classes
  std::vector<double> u, ridge;  // per example
  std::vector<Index> label;

 private:
  void begin();
  Pick choose(Index partner);
  void join(Index i);
  void together();
  double move(Index t);
  double example(Index i, const double* f, double* b);
  void apply();
  void set(Index i);

  const MarginProblem& p_;
  const Index n_, wide_;  // classes, and the same padded to kLanes
  const double beta_;
  ExampleStep step_;
  std::vector<T> A_, ref_, low_, ridge_, label_, up_, down_, at_cap_, diagonal_;
  std::vector<double> h_, D_;
  std::vector<Index> group_;           // the examples in hand
  std::vector<double> f_, now_, old_;  // theirs: scores, variables and these before the step, one row of `wide_` each
  std::vector<double> between_;        // kernel values between them
  std::vector<Index> first_, last_;    // where examples of a class begin (at a whole vector) and end
};

}  // namespace polymargin
