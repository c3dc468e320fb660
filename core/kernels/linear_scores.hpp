// Scores of a linear kernel by way of weights, w = sum_r coef_r (x_r - mean), summed in more than double precision.
//
// Where rows lie far from the origin, kernel values are much larger than the scores they sum to, and rounding them leaves
// little of these. Weights are as small as the scores.
#pragma once
#include <limits>
#include <vector>

#include "kernels/kernel_rows.hpp"

namespace polymargin {

constexpr double kSeen = 1e-5;  // share of the tolerance below which rounding is ignored

// The approximate error of a score from rounded kernel values up to `largest`; `size` is the length of its coefficients.
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

// out[j] = sum_r coef[r] k(x_r, x_j) for the rows j in cols.
template <class T>
void linear_scores(const KernelBlocks<T>& K, Span<const Index> rows, const double* coef, Span<const Index> cols,
                   double* out) {
  const Data& X = K.data();
  const std::vector<float>& mean = K.mean();
  std::vector<long double> sums(X.d, 0.0L);
  long double total = 0;
  for (Index r = 0; r < rows.size; ++r) {
    const long double a = coef[r];
    total += a;
    each_entry(X, mean, rows[r], [&](Index k, double x) { sums[k] += a * x; });
  }
  const std::vector<double> w(sums.begin(), sums.end());  // what the model keeps
  for (Index j = 0; j < cols.size; ++j) {
    double score = K.kernel().offset * double(total);
    each_entry(X, mean, cols[j], [&](Index k, double x) { score += w[k] * x; });
    out[j] = score;
  }
}

}  // namespace polymargin
