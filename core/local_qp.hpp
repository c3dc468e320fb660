// The problem of dual_problem.hpp on one working set, as a small dense matrix that stays in cache. Labels and kernel are
// already inside Q; what remains is a box and at most one sum constraint per group.
#pragma once
#include <functional>
#include <vector>

#include "steps.hpp"

namespace polymargin {

// A logit beyond which u - a is rounding error of u. A variable there has nothing to move outwards, whatever its gradient.
constexpr double kFull = 35;
inline bool entropy_moves(double t, double slope) { return slope < 0 ? t < kFull : t > -kFull; }

template <class T>
struct LocalQp {
  Index m = 0, ld = 0;      // size, and size padded to kLanes
  std::vector<T> Q, G;      // m x ld, and Qa - g
  std::vector<T> up, down;  // 0, or kBlocked where a may not grow or fall
  std::vector<T> diagonal, inverse;
  std::vector<double> a, u;
  std::vector<double> t;      // entropy: a = u / (1 + exp(-t)), kept since a alone loses t near the bounds
  std::vector<Index> groups;  // offsets of the groups with a sum constraint each; empty: none
  bool entropy = false;

  void resize(Index size);
  const T* row(Index i) const { return Q.data() + i * ld; }
  void set(Index i, double value) {
    a[i] = value;
    up[i] = value < u[i] ? T(0) : T(kBlocked);
    down[i] = value > 0 ? T(0) : T(kBlocked);
  }
};

// Steps on one or two variables until no violation exceeds eps. Returns the number of steps; `stop` is asked now and then.
template <class T>
Index solve_local(LocalQp<T>& qp, double eps, Index max_steps, const std::function<bool()>& stop);

}  // namespace polymargin
