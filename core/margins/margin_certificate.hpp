// What a dual point with a variable b per row and class proves, from its scores F:
//
//   primal = 1/2 sum b (F - ref) + the losses of the slacks
//   dual   = t'b - 1/2 sum b (F - ref) - sum ridge/2 |b|^2
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "margins/margin_problem.hpp"

namespace polymargin {

struct Proof {
  double primal, dual;
};

inline Proof certify(const MarginProblem& p, const std::vector<double>& alpha, const std::vector<double>& F) {
  const Index n = p.rows.size, T = p.classes;
  double quadratic = 0, ridge = 0, linear = 0, loss = 0;
  constexpr Index tile = 1024;  // class by class over some examples, as the numbers lie in memory
  std::vector<double> ref(tile), sum(tile), top(tile);
  for (Index begin = 0; begin < n; begin += tile) {
    const Index end = std::min(begin + tile, n);
    for (auto* v : {&sum, &top}) std::fill(v->begin(), v->end(), 0.0);
    references(
        p.reference, T, F.data() + begin, n, end - begin, [&](Index k) { return p.label[begin + k]; }, ref.data());
    for (Index c = 0; c < T; ++c)
      for (Index i = begin; i < end; ++i) {
        const Index y = p.label[i], k = i - begin;
        const double b = alpha[c * n + i], f = F[c * n + i] - ref[k], t = p.target(c, y);
        quadratic += b * f;
        ridge += p.ridge[i] * b * b;
        linear += t * b;
        if (c == y && p.own_target <= 0) continue;
        const double slack = std::max(c == y ? t - f : f - t, 0.0);
        sum[k] += p.ridge[i] > 0 ? 0.5 * slack * slack / p.ridge[i] : p.upper[i] * slack;
        top[k] = std::max(top[k], p.upper[i] * slack);
      }
    for (Index k = 0; k < end - begin; ++k) loss += p.capped ? top[k] : sum[k];
  }
  return {0.5 * quadratic + loss, linear - 0.5 * (quadratic + ridge)};
}

}  // namespace polymargin
