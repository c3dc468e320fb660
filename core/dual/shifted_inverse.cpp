#include "dual/shifted_inverse.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/kernel_rows.hpp"
#include "kernels/row_store.hpp"

namespace polymargin {

namespace {
constexpr Index kBlock = 128;  // rows of a block
}

template <class T>
Index ShiftedInverse<T>::stride() const {
  const Index lanes = tile_ops<T>().lanes;
  return (n_ + lanes - 1) / lanes * lanes;
}

template <class T>
void rows_by_rows(const Rows<T>& A, const Rows<T>& B, Index d, T* out, Index ldo, Team& team) {
  Kernel linear;
  linear.kind = KernelKind::linear;
  Data left, right;
  left.d = right.d = d, left.wide = right.wide = sizeof(T) == 8;
  left.n = A.n, left.stride = A.stride, left.x = A.x;
  right.n = B.n, right.stride = B.stride, right.x = B.x;
  const std::vector<Index> rows = everything(A.n), columns = everything(B.n);
  KernelBlocks<T>(left, right, linear).block(span(rows), span(columns), out, ldo, team);
}

// L L' = K + rho I block by block of columns, and U = L^-T with it.
template <class T>
bool ShiftedInverse<T>::set(const T* K, Index ld, Index n, double rho, Team& team, const std::function<bool()>& stop) {
  n_ = n;
  const std::size_t size = static_cast<std::size_t>(n * stride());
  if (size > room_) L_ = pages<T>(size, true), U_ = pages<T>(size, true), room_ = size;
  for (Index i = 0; i < n; ++i) {
    std::copy_n(K + i * ld, i + 1, L_.get() + i * n);
    L_[i * n + i] += T(rho);
    std::fill_n(U_.get() + i * n, n, T(0));
  }
  part_.resize(static_cast<std::size_t>(n * kBlock));
  for (Index a = 0; a < n; a += kBlock) {
    if (stop()) return false;
    const Index b = std::min(a + kBlock, n), width = b - a;
    if (a > 0) {
      rows_by_rows<T>({L_.get() + a * n, n - a, n}, {L_.get() + a * n, width, n}, a, part_.data(), width, team);
      for (Index r = a; r < n; ++r)
        for (Index c = 0; c < std::min(width, r - a + 1); ++c) L_[r * n + a + c] -= part_[(r - a) * width + c];
    }
    if (!factor(a, b)) return false;
    if (b < n) {
      rows_by_rows<T>({L_.get() + b * n + a, n - b, n}, {corner_.data(), width, width}, width, part_.data(), width,
                      team);
      for (Index r = b; r < n; ++r) std::copy_n(part_.data() + (r - b) * width, width, L_.get() + r * n + a);
    }
    invert(a, b, team);
  }
  return multiply(team, stop);
}

// W = U U', whose rows begin with zeros, first in the place of L. A panel is some of its columns (simd/tile.hpp).
template <class T>
bool ShiftedInverse<T>::multiply(Team& team, const std::function<bool()>& stop) {
  const Index n = n_;
  for (Index a = 0; a < n; a += kBlock) {
    if (stop()) return false;
    const Index b = std::min(a + kBlock, n), at = a * n + a;
    rows_by_rows<T>({U_.get() + at, n - a, n}, {U_.get() + at, b - a, n}, n - a, L_.get() + at, n, team);
    for (Index i = b; i < n; ++i)
      for (Index j = a; j < b; ++j) L_[j * n + i] = L_[i * n + j];
  }
  const Index lanes = tile_ops<T>().lanes;
  for (Index c = 0; c < n; c += lanes)
    for (Index k = 0; k < n; ++k) {
      T* to = U_.get() + c * n + k * lanes;
      std::fill(std::copy_n(L_.get() + k * n + c, std::min(lanes, n - c), to), to + lanes, T(0));
    }
  return true;
}

// The block from a to b on the diagonal becomes its factor, `corner_` the inverse of that.
template <class T>
bool ShiftedInverse<T>::factor(Index a, Index b) {
  const Index width = b - a;
  std::vector<double> D(static_cast<std::size_t>(width * width), 0.0), E(D);
  for (Index i = 0; i < width; ++i)
    for (Index j = 0; j <= i; ++j) {
      double sum = L_[(a + i) * n_ + a + j];
      for (Index k = 0; k < j; ++k) sum -= D[i * width + k] * D[j * width + k];
      if (i == j && !(sum > 0)) return false;
      D[i * width + j] = i == j ? std::sqrt(sum) : sum / D[j * width + j];
    }
  for (Index j = 0; j < width; ++j) {  // column by column of D E = I
    E[j * width + j] = 1 / D[j * width + j];
    for (Index i = j + 1; i < width; ++i) {
      double sum = 0;
      for (Index k = j; k < i; ++k) sum -= D[i * width + k] * E[k * width + j];
      E[i * width + j] = sum / D[i * width + i];
    }
  }
  corner_.assign(E.begin(), E.end());
  for (Index i = 0; i < width; ++i)
    for (Index j = 0; j < width; ++j) L_[(a + i) * n_ + a + j] = T(D[i * width + j]);
  return true;
}

// Columns a to b of U, from those before: L U' = I.
template <class T>
void ShiftedInverse<T>::invert(Index a, Index b, Team& team) {
  const Index width = b - a;
  if (a > 0) {
    std::vector<T> product(static_cast<std::size_t>(a * width));
    rows_by_rows<T>({U_.get(), a, n_}, {L_.get() + a * n_, width, n_}, a, product.data(), width, team);
    rows_by_rows<T>({product.data(), a, width}, {corner_.data(), width, width}, width, part_.data(), width, team);
    for (Index c = 0; c < a; ++c)
      for (Index i = 0; i < width; ++i) U_[c * n_ + a + i] = -part_[c * width + i];
  }
  for (Index i = 0; i < width; ++i)
    for (Index j = 0; j <= i; ++j) U_[(a + j) * n_ + a + i] = corner_[i * width + j];
}

// Panel after panel, which stays in cache for all vectors.
template <class T>
void ShiftedInverse<T>::product(const T* x, Index count, T* out, Team& team) const {
  const TileOps<T>& ops = tile_ops<T>();
  const Index lanes = ops.lanes, ld = stride();
  team.run(ld / lanes, [&](Index p) {
    for (Index v = 0; v < count; v += ops.rows)
      ops.dots(Term::product, x + v * n_, n_, static_cast<int>(std::min<Index>(ops.rows, count - v)),
               U_.get() + p * n_ * lanes, 1, n_, false, out + v * ld + p * lanes, ld);
  });
}

template class ShiftedInverse<float>;
template class ShiftedInverse<double>;
template void rows_by_rows(const Rows<float>&, const Rows<float>&, Index, float*, Index, Team&);
template void rows_by_rows(const Rows<double>&, const Rows<double>&, Index, double*, Index, Team&);

}  // namespace polymargin
