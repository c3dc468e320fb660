// The problem of margin_problem.hpp on one working set: its kernel block and its scores, class by class, stay in cache.
#pragma once
#include <functional>
#include <vector>

#include "example_step.hpp"
#include "margin_problem.hpp"
#include "steps.hpp"

namespace polymargin {

template <class T>
class LocalMargins {
 public:
  explicit LocalMargins(const MarginProblem& p);

  void resize(Index examples);
  // Steps on one example and its best partner until no violation exceeds eps; returns the number of example steps.
  Index solve(double eps, Index max_steps, const std::function<bool()>& stop);

  Index m = 0, ld = 0;           // examples, and the same padded to kLanes
  std::vector<T> K;              // m x ld
  std::vector<T> F;              // classes x ld
  std::vector<double> b;         // m x classes
  std::vector<double> u, ridge;  // per example
  std::vector<Index> label;

 private:
  void begin();
  Pick choose(Index partner);
  void example(Index i, const double* f, double* b);
  void apply(Index i, const double* change);
  void set(Index i);
  void pair(Index i, Index j);
  double* scores_of(Index i, std::vector<double>& f);
  void shift(std::vector<double>& f, const double* change, Index y, double k) const;
  double reference(const double* f, Index y) const;

  const MarginProblem& p_;
  const Index n_;  // classes
  const double beta_;
  ExampleStep step_;
  std::vector<T> A_, ref_, low_, ridge_, label_, up_, down_, at_cap_, diagonal_;
  std::vector<double> h_, D_, fi_, fj_, bi_, bj_, old_, change_;
};

}  // namespace polymargin
