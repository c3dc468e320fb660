// The bias of a binary machine with bounds, by one rule for every way to its coefficients.
//
// At coefficients b with g = Kb - y the losses of a bias are, up to a constant,
//
//   sum_i u_i (y_i (t_i - bias))_+        t = -g: the bias from which on, or up to which, row i has no loss
//
// so they fall while the weight u of the rows with t < bias is less than that of the positive rows. They are smallest
// at one t, or between two neighbors among them: then all variables are at their bounds (with equal class weights and a
// small C, say), and the bias is the middle of the two, as it is LIBSVM's wherever its variables are exactly at bounds.
// Kb is the same for all optimal b, and so is this bias; to take the mean of t over the free variables, LIBSVM's rule
// otherwise, gives the same number at the optimum, but any number at all if one variable is off its bound by rounding.
#pragma once
#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "base/data.hpp"

namespace polymargin {

constexpr double kSameWeight = 1e-10;  // of all weight: less is rounding

// Rows with upper = 0 take no part; without any others the bias is 0, with rows of one label the smallest without loss.
inline double box_bias(const std::vector<double>& y, const std::vector<double>& upper, const std::vector<double>& g) {
  using Point = std::pair<double, double>;  // t and u
  std::vector<Point> points;
  double all = 0, wanted = 0;
  for (std::size_t k = 0; k < y.size(); ++k) {
    if (upper[k] <= 0) continue;
    points.emplace_back(-g[k], upper[k]);
    all += upper[k];
    if (y[k] > 0) wanted += upper[k];
  }
  if (points.empty()) return 0;
  const double slack = kSameWeight * all;
  if (wanted <= slack) return std::min_element(points.begin(), points.end())->first;
  // The first point with which the weight is reached.
  auto first = points.begin(), last = points.end();
  double below = 0;
  while (last - first > 1) {
    const auto middle = first + (last - first) / 2;
    std::nth_element(first, middle, last);
    const double weight =
        std::accumulate(first, middle, 0.0, [](double w, const Point& point) { return w + point.second; });
    if (below + weight >= wanted - slack)
      last = middle;
    else
      below += weight, first = middle;
  }
  if (below + first->second > wanted + slack || last == points.end()) return first->first;
  return 0.5 * (first->first + std::min_element(last, points.end())->first);
}

}  // namespace polymargin
