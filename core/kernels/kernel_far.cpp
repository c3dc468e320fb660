// RBF values of pairs far from the origin.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/kernel_scratch.hpp"

namespace polymargin {
namespace {

// Norms, in the exponent's scale, beyond which their rounding shows in an RBF value; exponents beyond which it does
// not.
constexpr double kFar = 256, kVanished = 45;

}  // namespace

template <class T>
double KernelBlocks<T>::exponent(Index i, Index j) const {
  double sum = 0;
  auto add = [&](Index k, double gap) {
    sum += (kernel_.gammas.empty() ? kernel_.gamma : kernel_.gammas[k]) * gap * gap;
  };
  Index p = A_.begin(i), q = B_.begin(j);
  if (!sparse()) {
    for (Index k = 0; k < A_.d; ++k) add(k, A_.value(p + k) - B_.value(q + k));
    return sum;
  }
  const Index p_end = A_.end(i), q_end = B_.end(j);
  while (p < p_end || q < q_end) {
    const Index k = p < p_end ? A_.feature(i, p) : A_.d, l = q < q_end ? B_.feature(j, q) : A_.d;
    add(std::min(k, l), (k <= l ? A_.value(p) : 0.0) - (l <= k ? B_.value(q) : 0.0));
    p += k <= l, q += l <= k;
  }
  return sum;
}

// The largest norm of the columns, where it matters.
template <class T>
double KernelBlocks<T>::farthest(const T* col_norms, Index n) const {
  if (kernel_.kind != KernelKind::rbf || term_ == Term::square) return -std::numeric_limits<double>::infinity();
  T most = 0;
  for (Index c = 0; c < n; ++c) most = std::max(most, col_norms[c]);
  return most;
}

// Norms and dots lose a distance that is small beside the norms: such RBF values are computed from differences. Which
// ones depends on the pair alone.
template <class T>
void KernelBlocks<T>::recompute_far(Index i, T row_norm, const T* dots, const T* col_norms, double farthest,
                                    Span<const Index> cols, T* out) const {
  if (!(double(row_norm) + farthest > kFar)) return;
  for (Index c = 0; c < cols.size; ++c) {
    const double norms = double(row_norm) + double(col_norms[c]);
    if (norms <= kFar) continue;
    const double doubt = 16 * norms * double(std::numeric_limits<T>::epsilon());
    if (norms - 2 * double(dots[c]) - doubt > kVanished) continue;
    out[c] = static_cast<T>(std::exp(-exponent(i, cols[c]))) + formula_.offset;
  }
}

template double KernelBlocks<float>::exponent(Index, Index) const;
template double KernelBlocks<double>::exponent(Index, Index) const;
template double KernelBlocks<float>::farthest(const float*, Index) const;
template double KernelBlocks<double>::farthest(const double*, Index) const;
template void KernelBlocks<float>::recompute_far(Index, float, const float*, const float*, double, Span<const Index>,
                                                 float*) const;
template void KernelBlocks<double>::recompute_far(Index, double, const double*, const double*, double,
                                                  Span<const Index>, double*) const;

}  // namespace polymargin
