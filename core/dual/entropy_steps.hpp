// The problem of dual_problem.hpp with the entropy of the logistic loss, on one working set: a small dense matrix that
// stays in cache. Labels and kernel are already inside Q; what remains is at most one sum constraint per group.
#pragma once
#include <functional>
#include <vector>

#include "simd/steps.hpp"

namespace polymargin {

// A logit beyond which u - a is rounding error of u. A variable there cannot move outward, whatever its gradient.
constexpr double kFull = 35;

template <class T>
struct EntropyQp {
  Index m = 0;
  const T* Q = nullptr;        // m x m
  std::vector<T> G, diagonal;  // Qa - g, and the diagonal of Q
  std::vector<double> a, u;    // 0 < a < u
  std::vector<double> t;       // a = u / (1 + exp(-t)), kept since a alone loses t near the bounds
  std::vector<Index> groups;   // offsets of the groups with a sum constraint each; empty: none
  const T* row(Index i) const { return Q + i * m; }
};

// Steps on one or two variables until no violation exceeds eps. Returns how many; `stop` is polled now and then.
template <class T>
Index entropy_steps(EntropyQp<T>& qp, double eps, Index max_steps, const std::function<bool()>& stop);

}  // namespace polymargin
