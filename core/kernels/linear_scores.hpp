// Scores of a linear kernel by way of weights, w = sum_r coef_r (x_r - mean), summed in more than double precision.
//
// Where rows lie far from the origin, kernel values are much larger than the scores they sum to, and rounding them
// leaves little of these. Weights are as small as the scores.
#pragma once
#include <limits>
#include <vector>

#include "kernels/kernel_rows.hpp"

namespace polymargin {

constexpr double kSeen = 1e-5;  // share of the tolerance below which rounding is ignored

// The approximate error of a score of rounded kernel values up to `largest`; `size`: the length of its coefficients.
template <class T>
double rounding_error(double largest, double size) {
  return 0.5 * double(std::numeric_limits<T>::epsilon()) * largest * size;
}

// f(feature, value) for row i; an empty mean is 0, and CSR rows have none.
template <class F>
void each_entry(const Data& X, const std::vector<float>& mean, Index i, const F& f) {
  for (Index p = X.begin(i); p < X.end(i); ++p) {
    const Index k = X.feature(i, p);
    f(k, mean.empty() ? X.value(p) : X.value(p) - double(mean[k]));
  }
}

// A sum that keeps what rounding takes from it.
struct ExactSum {
  long double high = 0, low = 0;
  void add(long double a) {
    const long double sum = high + a, part = sum - high;
    low += (high - (sum - part)) + (a - part);
    high = sum;
  }
  long double value() const { return high + low; }
};

// sum_r coef[r] x_r of one feature. Values count from the first of them: coefficients that cancel are summed exactly
// before what is large in all rows multiplies their sum.
struct WeightSum {
  double origin = 0;
  bool begun = false;
  long double rest = 0;
  ExactSum total;
  void add(long double a, double x) {
    if (!begun) origin = x, begun = true;
    rest += a * (x - origin);
    total.add(a);
  }
  double value() const { return static_cast<double>(rest + total.value() * origin); }
};

// out[j] = sum_r coef[r] k(x_r, x_j) for the rows j in cols.
template <class T>
void linear_scores(const KernelBlocks<T>& K, Span<const Index> rows, const double* coef, Span<const Index> cols,
                   double* out) {
  const Data& X = K.data();
  const std::vector<float>& mean = K.mean();
  std::vector<WeightSum> sums(X.d);
  ExactSum total;
  for (Index r = 0; r < rows.size; ++r) {
    total.add(coef[r]);
    each_entry(X, mean, rows[r], [&](Index k, double x) { sums[k].add(coef[r], x); });
  }
  std::vector<double> w(X.d);  // what the model keeps
  for (Index k = 0; k < X.d; ++k) w[k] = sums[k].value();
  for (Index j = 0; j < cols.size; ++j) {
    double score = K.kernel().offset * double(total.value());
    each_entry(X, mean, cols[j], [&](Index k, double x) { score += w[k] * x; });
    out[j] = score;
  }
}

}  // namespace polymargin
