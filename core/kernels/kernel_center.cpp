// What is subtracted from all rows: the mean, or the usual value of a feature.
#include <algorithm>
#include <cmath>

#include "kernels/kernel_scratch.hpp"

namespace polymargin {
namespace {

constexpr Index kMeanRows = 1024, kUsualRows = 128;
constexpr double kUsual = 0.6;  // share of equal values above which lists are tried: of fewer they are slower

std::vector<double> mean_row(const Data& X) {
  std::vector<double> sum(X.d, 0);
  const Index used = std::min(X.n, kMeanRows);
  for (Index r = 0; r < used; ++r)  // spread over all rows
    for (Index k = 0, place = X.begin(r * X.n / used); k < X.d; ++k) sum[k] += X.value(place + k);
  for (double& s : sum) s = used ? s / used : 0;
  return sum;
}

// Where more than half of some rows of X have the same value of a feature, that value comes into `mean`. How many of
// all values that were looked at are equal to it? (Boyer and Moore's vote finds the only candidate.)
double set_usual(const Data& X, std::vector<double>& mean) {
  const Index used = std::min(X.n, kUsualRows);
  std::vector<double> usual(X.d);
  std::vector<Index> lead(X.d, 0), count(X.d, 0);
  for (int pass = 0; pass < 2; ++pass)
    for (Index r = 0; r < used; ++r)
      for (Index k = 0, place = X.begin(r * X.n / used); k < X.d; ++k) {
        const double x = X.value(place + k);
        if (pass == 1) {
          count[k] += x == usual[k];
        } else if (lead[k] == 0) {
          usual[k] = x, lead[k] = 1;
        } else {
          lead[k] += x == usual[k] ? 1 : -1;
        }
      }
  double total = 0;
  for (Index k = 0; k < X.d; ++k) {
    if (2 * count[k] <= used) continue;
    mean[k] = usual[k];
    total += static_cast<double>(count[k]);
  }
  return total / std::max(1.0, static_cast<double>(used) * X.d);
}

}  // namespace

// A usual value costs few digits: with a share p > 1/2 of the rows, the mean square of the rest is at most 1/p of the
// variance.
template <class T>
void KernelBlocks<T>::set_mean() {
  wide_mean_ = mean_row(A_);
  if (kernel_.kind == KernelKind::rbf && term_ == Term::product) few_ = set_usual(A_, wide_mean_) > kUsual;
  mean_.resize(A_.d);
  for (Index k = 0; k < A_.d; ++k) {
    mean_[k] = static_cast<float>(wide_mean_[k]);
    // A sum beyond float32 would turn every difference into NaN.
    if (!std::isfinite(mean_[k])) mean_[k] = 0, wide_mean_[k] = 0;
    if (!A_.wide || !B_.wide || kernel_.kind == KernelKind::linear) wide_mean_[k] = mean_[k];
  }
}

template void KernelBlocks<float>::set_mean();
template void KernelBlocks<double>::set_mean();

}  // namespace polymargin
