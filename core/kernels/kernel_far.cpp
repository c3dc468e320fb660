// RBF values of pairs far from the origin.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/kernel_scratch.hpp"

namespace polymargin {
namespace {

// Norms, in the scale of the exponent, beyond which their rounding shows in an RBF value; exponents beyond which it does not.
constexpr double kFar = 256, kVanished = 45;

}  // namespace

// sum_k gamma_k (a_k - b_k)^2 of row i of A and row j of B, of whatever form, feature by feature.
template <class T>
double KernelBlocks<T>::exponent(Index i, Index j) const {
  struct Cursor {
    const Data& X;
    Index row, at, end;
    Cursor(const Data& data, Index r)
        : X(data),
          row(r),
          at(X.sparse() ? index_at(X.indptr, X.wide_index, r) : 0),
          end(X.sparse() ? index_at(X.indptr, X.wide_index, r + 1) : X.d) {}
    Index feature() const { return at == end ? X.d : X.sparse() ? index_at(X.indices, X.wide_index, at) : at; }
    double take(Index k) {
      if (feature() != k) return 0;
      const void* x = X.sparse() ? X.values : row_start(X, row);
      const Index p = at++;
      return X.wide ? static_cast<const double*>(x)[p] : static_cast<const float*>(x)[p];
    }
  } a(A_, i), b(B_, j);
  double sum = 0;
  for (Index k = std::min(a.feature(), b.feature()); k < A_.d; k = std::min(a.feature(), b.feature())) {
    const double gap = a.take(k) - b.take(k);
    sum += (kernel_.gammas.empty() ? kernel_.gamma : kernel_.gammas[k]) * gap * gap;
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
