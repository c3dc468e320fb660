// A point of Newton's method (newton.hpp): rows at hand, their variables, scores and level, the primal along a line.
#pragma once
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "dual/dual_problem.hpp"
#include "simd/steps.hpp"

namespace polymargin {

inline double sum(const std::vector<double>& v) { return std::accumulate(v.begin(), v.end(), 0.0); }
inline double dot(const std::vector<double>& x, const std::vector<double>& y) {
  return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
}
inline void add(double c, const std::vector<double>& x, std::vector<double>& y) {
  steps<double>().axpy(c, x.data(), y.data(), static_cast<Index>(x.size()));
}

class NewtonPoint {
 protected:
  explicit NewtonPoint(const DualProblem& problem) : p_(problem), tied_(problem.sum != Sum::none) {}

  void list(std::vector<Index> variables) {
    at_ = std::move(variables);
    const Index n = size();
    sign_.resize(n), w_.resize(n), g_.resize(n), f_.resize(n, 0.0), a_.resize(n, 0.0), in_.resize(n, 0);
    for (Index k = 0; k < n; ++k) {
      const Index i = at_[k];
      sign_[k] = p_.upper[i] > 0 ? 1 : p_.low(i) < 0 ? -1 : 0;
      w_[k] = 1 / p_.ridge[i], g_[k] = p_.linear[i];
    }
  }
  Index size() const { return static_cast<Index>(at_.size()); }

  double missing(Index k, double f, double level) const {
    const double s = g_[k] - f + level;
    return sign_[k] * s > 0 ? s : 0;
  }

  // The level at which the answers to the scores add up to zero: they are piecewise linear in it.
  void fit_level() {
    for (int k = 0; tied_ && k < 50; ++k) {
      double sum = 0, slope = 0, before = level_;
      for (Index j = 0; j < size(); ++j)
        if (const double s = missing(j, f_[j], level_); s != 0) sum += w_[j] * s, slope += w_[j];
      if (slope > 0) level_ -= sum / slope;
      if (std::abs(level_ - before) <= 1e-14 * std::abs(before)) break;
    }
  }

  double largest_violation() const {
    double worst = 0;
    for (Index k = 0; k < size(); ++k) worst = std::max(worst, std::abs(missing(k, f_[k], level_) - a_[k] / w_[k]));
    return worst;
  }

  // To the minimum of the primal over t of (a + t d, level + t c); to t = 1, where rows off S are at zero, if that is
  // about as good.
  double line_search(const std::vector<double>& d, const std::vector<double>& Kd, double c) {
    auto slope = [&](double t) {
      double sum = 0;
      for (Index k = 0; k < size(); ++k) {
        const double s = missing(k, f_[k] + t * Kd[k], level_ + t * c);
        sum += (a_[k] + t * d[k]) * Kd[k] - w_[k] * s * (Kd[k] - c);
      }
      return sum;
    };
    const double first = slope(0);
    double low = 0, high = 2;
    if (!(first < 0)) return 0;
    if (std::abs(slope(1)) <= -kWholeStep * first) low = high = 1;
    for (int k = 0; k < 30 && low < high; ++k) (slope(0.5 * (low + high)) < 0 ? low : high) = 0.5 * (low + high);
    const double t = 0.5 * (low + high);
    add(t, d, a_), add(t, Kd, f_);
    level_ += t * c;
    return t;
  }

  const DualProblem& p_;
  const bool tied_;                           // by a sum
  std::vector<Index> at_;                     // the variables at hand
  std::vector<double> sign_, w_, g_, f_, a_;  // theirs: which way from zero, 1 / ridge, linear part, scores, values
  std::vector<char> in_;                      // S
  double level_ = 0;

 private:
  static constexpr double kWholeStep = 0.25;  // of the slope, that may be left after a step to the solution itself
};

}  // namespace polymargin
