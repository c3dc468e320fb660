#include "kernels/kernel_rows.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "kernels/kernel_scratch.hpp"

namespace polymargin {
namespace {

constexpr Index kWhole = 1024;          // features that a panel may have; longer rows are summed panel after panel,
constexpr Index kFeatures = 512;        // of this many features each
constexpr Index kPanelBytes = 1 << 20;  // all panels of a tile; even from beyond L2 they come as fast as rows use them
constexpr Index kColumns = 256;         // columns of a tile at most
constexpr Index kRows = 256;            // rows of a tile that waits in memory: long rows, and the Gram's mirror
constexpr Index kTaskRows = 512;        // rows a thread computes per packing of the columns
constexpr double kSerial = 500000;      // multiplications below which threads cost more than they gain
// The work of a term that is listed, against one of a dense tile: 2.4 to 3.3 with AVX2 (Zen 3), less with AVX-512.
constexpr double kListed = 2.5;
// Up to this many features, differences are squared directly: exact at any distance from the origin.
constexpr Index kDirect = 16;

Term term_of(KernelKind kind, const Data& A, const Data& B) {
  if (kind == KernelKind::laplacian) return Term::distance;
  return euclidean(kind) && A.d <= kDirect && !A.sparse() && !B.sparse() ? Term::square : Term::product;
}

}  // namespace

template <class T>
typename KernelBlocks<T>::Scratch& KernelBlocks<T>::scratch() {
  thread_local Scratch s;
  return s;
}

template <class T>
KernelBlocks<T>::KernelBlocks(const Data& A, const Data& B, const Kernel& kernel)
    : A_(A),
      B_(B),
      kernel_(kernel),
      ops_(tile_ops<T>()),
      formula_{kernel.kind, static_cast<T>(kernel.gamma), static_cast<T>(kernel.coef0), static_cast<T>(kernel.offset),
               kernel.degree},
      term_(term_of(kernel.kind, A, B)),
      has_norms_(euclidean(kernel.kind) || kernel.kind == KernelKind::cosine) {
  const KernelKind kind = kernel.kind;
  if (kind == KernelKind::callable) return;
  if (kind == KernelKind::precomputed) {
    if (A.sparse())
      throw std::invalid_argument("a precomputed kernel matrix must be dense, got CSR; call toarray() on it");
    return;
  }
  if (A.d != B.d) throw std::invalid_argument("both sides of a kernel need the same number of features");
  if (euclidean(kind)) {
    if (!kernel.gammas.empty() && static_cast<Index>(kernel.gammas.size()) != A.d)
      throw std::invalid_argument("an ellipsoidal kernel needs one gamma per feature");
    if (sparse() && kernel.gammas.empty()) {
      uniform_ = static_cast<T>(std::sqrt(kernel.gamma));
    } else {
      scale_.resize(A.d);
      for (Index k = 0; k < A.d; ++k)
        scale_[k] = static_cast<T>(std::sqrt(kernel.gammas.empty() ? kernel.gamma : kernel.gammas[k]));
    }
  }
  const bool moved =
      euclidean(kind) || kind == KernelKind::laplacian || (kind == KernelKind::linear && kernel.centered);
  if (moved && !sparse()) set_mean();
  if (!has_norms_) return;
  norms_.resize(A.n);
  if (term_ == Term::square) return;  // the norms stay 0
  std::vector<Index> all(kRows);
  for (Index i = 0; i < A.n; i += kRows) {
    const Index m = std::min(kRows, A.n - i);
    for (Index r = 0; r < m; ++r) all[r] = i + r;
    squared_norms({all.data(), m}, norms_.data() + i);
  }
  for (T& norm : norms_) norm = used_norm(norm);
}

template <class T>
T KernelBlocks<T>::used_norm(T squared) const {
  if (kernel_.kind != KernelKind::cosine) return squared;
  return squared > 0 ? 1 / std::sqrt(squared) : 0;
}

// Squared norms of rows of A by the same operations as their dots: the distance of a row to itself is exactly 0.
template <class T>
void KernelBlocks<T>::squared_norms(Span<const Index> rows, T* out) const {
  Scratch& s = scratch();
  if (sparse()) {
    for (Index r = 0; r < rows.size; ++r) {
      s.values.clear();
      each_value(A_, rows[r], s, [&](Index, T x) { s.values.push_back(x); });
      out[r] = ops_.norm(s.values.data(), static_cast<Index>(s.values.size()));
    }
    return;
  }
  const int lanes = ops_.lanes;
  T* panel = s.panels.at_least(std::min(A_.d, kFeatures) * lanes);
  T* sums = s.col_norms.at_least(lanes);
  s.starts.resize(lanes);
  for (Index r = 0; r < rows.size; r += lanes) {
    const Index m = std::min<Index>(lanes, rows.size - r);
    for (Index k = 0; k == 0 || k < A_.d; k += kFeatures) {
      const Index count = std::min(kFeatures, A_.d - k);
      for (Index l = 0; l < lanes; ++l) s.starts[l] = A_.at(rows[r + std::min(l, m - 1)], k);
      ops_.pack(A_.wide, s.starts.data(), count, mean_of(A_, k), scale_of(k), panel);
      ops_.norms(panel, count, k > 0, sums);
    }
    std::copy(sums, sums + m, out + r);
  }
}

template <class T>
Index KernelBlocks<T>::width() const {
  if (sparse()) return ops_.sparse_lanes;
  const Index fit = kPanelBytes / static_cast<Index>(sizeof(T)) / std::max<Index>(1, A_.d <= kWhole ? A_.d : kFeatures);
  return std::max<Index>(ops_.lanes, std::min(fit, kColumns) / ops_.lanes * ops_.lanes);
}

template <class T>
void KernelBlocks<T>::set_columns(Span<const Index> cols, Scratch& s) const {
  s.cols = cols;
  if (sparse()) return set_sparse_columns(s);
  if (A_.d <= kWhole) pack(0, A_.d, s);
}

template <class T>
void KernelBlocks<T>::compute(Span<const Index> rows, Scratch& s, T* out, Index ldo) const {
  sparse() ? sparse_rows(rows, s, out, ldo) : dense_rows(rows, s, out, ldo);
}

// ---- dense rows ----

// The features from..to of all columns, and their part of the norms.
template <class T>
void KernelBlocks<T>::pack(Index from, Index to, Scratch& s) const {
  const int lanes = ops_.lanes;
  const Index panels = (s.cols.size + lanes - 1) / lanes, size = (to - from) * lanes;
  T* panel = s.panels.at_least(panels * size);
  T* norms = s.col_norms.at_least(panels * lanes);
  s.starts.resize(lanes);
  for (Index p = 0; p < panels; ++p) {
    for (Index l = 0; l < lanes; ++l) s.starts[l] = B_.at(s.cols[std::min(p * lanes + l, s.cols.size - 1)], from);
    ops_.pack(B_.wide, s.starts.data(), to - from, mean_of(B_, from), scale_of(from), panel + p * size);
    if (term_ == Term::square)
      std::fill(norms + p * lanes, norms + (p + 1) * lanes, T(0));
    else if (has_norms_)
      ops_.norms(panel + p * size, to - from, from > 0, norms + p * lanes);
  }
  if (to == A_.d && kernel_.kind == KernelKind::cosine)
    for (Index c = 0; c < panels * lanes; ++c) norms[c] = used_norm(norms[c]);
  s.packed = panel;
  s.packed_norms = norms;
}

// The features from..to of row i of A, as they enter the sums.
template <class T>
void KernelBlocks<T>::convert(Index i, Index from, Index to, T* out) const {
  ops_.convert(A_.wide, A_.at(i, from), to - from, mean_of(A_, from), scale_of(from), out);
}

// The dots of some rows with the features from..to of the columns that are packed. By lists of the values that are not
// 0, where these are few; all rows or none, so that a list meets its part of the panels while that is in cache.
template <class T>
void KernelBlocks<T>::dots(Span<const Index> rows, Index from, Index to, Scratch& s, T* tile, Index ldt) const {
  const Index d = to - from, lda = (d + 63) / 16 * 16, step = ops_.rows;
  const int panels = static_cast<int>((s.cols.size + ops_.lanes - 1) / ops_.lanes);
  T* a = s.rows.at_least(step * lda);
  if (few_) {
    std::int32_t* feature = s.feature.at_least(rows.size * lda);
    T* value = s.value.at_least(rows.size * lda);
    s.lists.resize(rows.size);
    Index total = 0;
    for (Index r = 0; r < rows.size; ++r) {
      convert(rows[r], from, to, a);
      s.lists[r] = {feature + total, value + total, ops_.few(a, d, feature + total, value + total)};
      total += s.lists[r].n;
    }
    if (kListed * static_cast<double>(total) < static_cast<double>(rows.size * d))
      return ops_.few_dots(s.lists.data(), rows.size, s.packed, panels, d, from > 0, tile, ldt);
  }
  for (Index r = 0; r < rows.size; r += step) {
    const Index m = std::min(step, rows.size - r);
    for (Index i = 0; i < m; ++i) convert(rows[r + i], from, to, a + i * lda);
    ops_.dots(term_, a, lda, static_cast<int>(m), s.packed, panels, d, from > 0, tile + r * ldt, ldt);
  }
}

template <class T>
void KernelBlocks<T>::dense_rows(Span<const Index> rows, Scratch& s, T* out, Index ldo) const {
  const Index d = A_.d, lanes = ops_.lanes, ldt = (s.cols.size + lanes - 1) / lanes * lanes;
  const bool whole = d <= kWhole;
  const Index height = !whole ? kRows : few_ ? kFewRows : ops_.rows;
  T* tile = s.tile.at_least(height * ldt);
  T* row_norms = s.row_norms.at_least(height);
  double far = 0;
  for (Index r0 = 0; r0 < rows.size; r0 += height) {
    const Index m = std::min(height, rows.size - r0);
    Index k = 0;
    do {
      const Index end = whole ? d : std::min(k + kFeatures, d);
      if (!whole) pack(k, end, s);
      dots(rows.sub(r0, r0 + m), k, end, s, tile, ldt);
      k = end;
    } while (k < d);
    if (has_norms_)
      for (Index r = 0; r < m; ++r) row_norms[r] = norms_[rows[r0 + r]];
    ops_.finish(formula_, tile, ldt, m, s.cols.size, row_norms, s.packed_norms, out + r0 * ldo, ldo);
    if (r0 == 0) far = farthest(s.packed_norms, s.cols.size);
    for (Index r = 0; r < m; ++r)
      recompute_far(rows[r0 + r], row_norms[r], tile + r * ldt, s.packed_norms, far, s.cols, out + (r0 + r) * ldo);
  }
}

// ---- given matrices and callables ----

template <class T>
void KernelBlocks<T>::gather(Span<const Index> rows, Span<const Index> cols, T* out, Index ldo) const {
  const T offset = formula_.offset;
  for (Index r = 0; r < rows.size; ++r) {
    const void* x = A_.at(rows[r]);
    T* y = out + r * ldo;
    if (A_.wide)
      for (Index c = 0; c < cols.size; ++c) y[c] = static_cast<T>(static_cast<const double*>(x)[cols[c]]) + offset;
    else
      for (Index c = 0; c < cols.size; ++c) y[c] = static_cast<T>(static_cast<const float*>(x)[cols[c]]) + offset;
  }
}

template <class T>
void KernelBlocks<T>::call(Span<const Index> rows, Span<const Index> cols, T* out, Index ldo) const {
  std::vector<double> values(static_cast<std::size_t>(rows.size * cols.size));
  kernel_.call(rows, cols, values.data(), cols.size);
  for (Index r = 0; r < rows.size; ++r)
    for (Index c = 0; c < cols.size; ++c)
      out[r * ldo + c] = static_cast<T>(values[r * cols.size + c]) + formula_.offset;
}

// ---- blocks ----

// Whether these are too few rows and columns for threads; a CSR matrix may have any number of features.
template <class T>
bool KernelBlocks<T>::little(Index rows, Index cols) const {
  return static_cast<double>(rows) * static_cast<double>(cols) * (static_cast<double>(A_.d) + 16) < kSerial;
}

template <class T>
void KernelBlocks<T>::block(Span<const Index> rows, Span<const Index> cols, T* out, Index ld) const {
  if (rows.size == 0 || cols.size == 0) return;
  if (kernel_.kind == KernelKind::precomputed) return gather(rows, cols, out, ld);
  evaluations_.fetch_add(static_cast<std::uint64_t>(rows.size * cols.size), std::memory_order_relaxed);
  if (kernel_.kind == KernelKind::callable) return call(rows, cols, out, ld);
  Scratch& s = scratch();
  const Index step = width();
  for (Index c = 0; c < cols.size; c += step) {
    set_columns(cols.sub(c, std::min(c + step, cols.size)), s);
    compute(rows, s, out + c, ld);
  }
}

template <class T>
void KernelBlocks<T>::block(Span<const Index> rows, Span<const Index> cols, T* out, Index ld, Team& team) const {
  if (team.size() == 1 || little(rows.size, cols.size) || serial()) return block(rows, cols, out, ld);
  const Index step = kernel_.kind == KernelKind::precomputed ? cols.size : width();
  const Index across = (cols.size + step - 1) / step;
  const Index wanted = (4 * team.size() + across - 1) / across;  // tasks down, for an even load
  const Index height = std::min(kTaskRows, (rows.size + wanted - 1) / wanted), down = (rows.size + height - 1) / height;
  team.run(down * across, [&](Index task) {
    const Index i = task / across * height, j = task % across * step;
    block(rows.sub(i, std::min(i + height, rows.size)), cols.sub(j, std::min(j + step, cols.size)), out + i * ld + j,
          ld);
  });
}

template <class T>
bool KernelBlocks<T>::packs() const {
  return kernel_.kind != KernelKind::precomputed && !serial() && !sparse() && A_.d <= kWhole;
}

template <class T>
typename KernelBlocks<T>::Columns KernelBlocks<T>::columns(std::vector<Index> list, double bytes) const {
  Columns columns;
  columns.list = std::move(list);
  const Index n = static_cast<Index>(columns.list.size()), lanes = ops_.lanes, padded = (n + lanes - 1) / lanes * lanes;
  if (!packs() || static_cast<double>(padded) * (A_.d + 1) * sizeof(T) > bytes) return columns;
  columns.panels.resize(static_cast<std::size_t>(padded * A_.d));
  columns.norms.resize(padded);
  Scratch& s = scratch();
  for (Index c = 0; c < n; c += lanes) {
    s.cols = {columns.list.data() + c, std::min<Index>(lanes, n - c)};
    pack(0, A_.d, s);
    std::copy(s.packed, s.packed + lanes * A_.d, columns.panels.data() + c * A_.d);
    if (has_norms_) std::copy(s.packed_norms, s.packed_norms + lanes, columns.norms.data() + c);
  }
  return columns;
}

template <class T>
void KernelBlocks<T>::block(Span<const Index> rows, const Columns& cols, T* out, Index ld, Team& team) const {
  const Span<const Index> all = span(cols.list);
  if (cols.panels.empty()) return block(rows, all, out, ld, team);
  evaluations_.fetch_add(static_cast<std::uint64_t>(rows.size * all.size), std::memory_order_relaxed);
  const auto one = [&](Index c, Index end) {
    Scratch& s = scratch();
    s.cols = all.sub(c, end);
    s.packed = cols.panels.data() + c * A_.d;
    s.packed_norms = cols.norms.data() + c;
    dense_rows(rows, s, out + c, ld);
  };
  team.parts(all.size, width(), one, little(rows.size, all.size));
}

template <class T>
void KernelBlocks<T>::gram(Span<const Index> rows, T* out, Index ld, Team& team,
                           const std::function<bool()>& stop) const {
  const Index n = rows.size;
  if (n == 0) return;
  if (kernel_.kind == KernelKind::precomputed || kernel_.kind == KernelKind::callable)
    return block(rows, rows, out, ld, team);
  evaluations_.fetch_add(static_cast<std::uint64_t>(n) * (n + 1) / 2, std::memory_order_relaxed);
  // A task is a strip of columns from..to against some rows above its diagonal; the last rows are the diagonal square.
  const Index step = width(), strips = (n + step - 1) / step, parts = (n + 8 * kRows - 1) / (8 * kRows);
  auto one = [&](Index task) {
    const Index from = (strips - 1 - task / parts) * step, to = std::min(from + step, n);
    const Index top = task % parts * 8 * kRows, bottom = std::min(top + 8 * kRows, to);
    if (top >= to || (stop && stop())) return;
    Scratch& s = scratch();
    set_columns(rows.sub(from, to), s);
    T* tile = s.mirror.at_least(kRows * step);
    for (Index i = top; i < bottom;) {
      const Index end = i < from ? std::min({i + kRows, bottom, from}) : bottom;
      if (i >= from) {  // on the diagonal square both halves are computed
        compute(rows.sub(i, end), s, out + i * ld + from, ld);
      } else {
        compute(rows.sub(i, end), s, tile, step);
        for (Index r = i; r < end; ++r)
          std::copy(tile + (r - i) * step, tile + (r - i) * step + (to - from), out + r * ld + from);
        ops_.transpose(tile, step, end - i, to - from, out + from * ld + i, ld);
      }
      i = end;
    }
  };
  team.run(strips * parts, one, little(n, n / 2));
}

template <class T>
void KernelBlocks<T>::diagonal(Span<const Index> rows, double* out) const {
  constexpr Index few = 32;  // a callable computes small squares: one call per value would cost more
  std::vector<T> values(few * few), squared(few);
  for (Index i = 0; i < rows.size; i += few) {
    const Index m = std::min(few, rows.size - i);
    const Span<const Index> some = rows.sub(i, i + m);
    switch (kernel_.kind) {
      case KernelKind::precomputed:
        for (Index r = 0; r < m; ++r) gather(some.sub(r, r + 1), some.sub(r, r + 1), values.data() + r, 1);
        break;
      case KernelKind::callable:
        block(some, some, values.data(), few);
        for (Index r = 0; r < m; ++r) values[r] = values[r * few + r];
        break;
      case KernelKind::sqeuclidean:
        for (Index r = 0; r < m; ++r) values[r] = formula_.offset;
        break;
      case KernelKind::rbf:
      case KernelKind::laplacian:
        for (Index r = 0; r < m; ++r) values[r] = 1 + formula_.offset;
        break;
      default:
        squared_norms(some, squared.data());
        for (Index r = 0; r < m; ++r) {
          const T norm = used_norm(squared[r]);
          T dots[64] = {squared[r]}, norms[64] = {norm};
          ops_.finish(formula_, dots, 64, 1, 1, &norm, norms, values.data() + r, 1);
        }
    }
    for (Index r = 0; r < m; ++r) out[i + r] = values[r];
  }
}

template class KernelBlocks<float>;
template class KernelBlocks<double>;

}  // namespace polymargin
