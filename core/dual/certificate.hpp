// What a dual point proves. With s = (Q - R) a and the multiplier r of the sum constraint of i,
//
//   primal = 1/2 a's - sum_i r a_i + sum_i max over b in [l_i, u_i] of b (g_i + r - s_i) - ridge_i b^2 / 2
//   dual   = g'a - 1/2 a'Qa - sum_i phi_i(a_i)
//
// where the maximum is the loss of the example: hinge, squared hinge, or with the entropy u ln(1 + exp(r - s)).
#pragma once
#include <algorithm>
#include <cmath>

#include "dual/dual_problem.hpp"

namespace polymargin {

inline double entropy(double a, double u) {
  return (a > 0 ? a * std::log(a / u) : 0) + (a < u ? (u - a) * std::log1p(-a / u) : 0);
}

// Sets primal and dual from alpha, gradient and multiplier; `groups`: offsets of the sum constraints, empty for none.
inline void certify(const DualProblem& p, const std::vector<Index>& groups, Solution& out) {
  double quadratic = 0, loss = 0, ridge = 0, linear = 0, sums = 0, entropic = 0;
  std::size_t g = 0;
  for (Index i = 0; i < p.rows.size; ++i) {
    while (!groups.empty() && i >= groups[g + 1]) ++g;
    double a = out.alpha[i], u = p.upper[i], s = out.gradient[i] + p.linear[i] - p.ridge[i] * a;
    double r = groups.empty() ? 0 : out.multiplier[g], missing = p.linear[i] + r - s;
    quadratic += a * s;
    ridge += p.ridge[i] * a * a;
    linear += p.linear[i] * a;
    sums += r * a;
    if (p.entropy) {
      loss += u * (std::max(missing, 0.0) + std::log1p(std::exp(-std::abs(missing))));
      entropic += entropy(a, u);
    } else {
      const double low = p.low(i);
      if (missing == 0 || (missing < 0 && low == 0)) continue;
      double b = missing > 0 ? u : low;
      if (p.ridge[i] > 0) b = std::min(std::max(missing / p.ridge[i], low), u);
      loss += b * missing - 0.5 * p.ridge[i] * b * b;
    }
  }
  out.primal = 0.5 * quadratic - sums + loss;
  out.dual = linear - 0.5 * (quadratic + ridge) - entropic;
}

}  // namespace polymargin
