// What the files of KernelBlocks share: how stored rows are read, and what one thread needs while it computes a tile.
#pragma once
#include <cstdint>
#include <vector>

#include "base/pages.hpp"
#include "kernels/kernel_rows.hpp"

namespace polymargin {

inline bool euclidean(KernelKind kind) { return kind == KernelKind::rbf || kind == KernelKind::sqeuclidean; }

// f(feature, value as T) for the stored values of row i of a CSR matrix, in the order of the features.
template <class T, class S, class J, class F>
void each_stored(const Data& X, Index i, F f) {
  const J* indptr = static_cast<const J*>(X.indptr);
  const J* indices = static_cast<const J*>(X.indices);
  const S* values = static_cast<const S*>(X.values);
  for (Index p = indptr[i]; p < indptr[i + 1]; ++p) f(static_cast<Index>(indices[p]), static_cast<T>(values[p]));
}
template <class T, class F>
void each_stored(const Data& X, Index i, F f) {
  if (X.wide_index)
    return X.wide ? each_stored<T, double, std::int64_t>(X, i, f) : each_stored<T, float, std::int64_t>(X, i, f);
  X.wide ? each_stored<T, double, std::int32_t>(X, i, f) : each_stored<T, float, std::int32_t>(X, i, f);
}

// What one thread needs while it computes a tile. It lives as long as the thread: small blocks allocate nothing.
template <class T>
struct KernelBlocks<T>::Scratch {
  Span<const Index> cols;
  const T *packed = nullptr, *packed_norms = nullptr;  // panels and norms of the columns, in `panels` or in a Columns
  Room<T> panels, col_norms, rows, row_norms, tile, mirror, value;
  Room<std::int32_t> feature;
  std::vector<Few<T>> lists;
  std::vector<const void*> starts;
  // Sparse: the panel holds the features that occur in its columns; slot 0 is a row of zeros.
  std::vector<Index> features;        // of slots 1, 2, ...
  std::vector<std::int32_t> slot_of;  // feature -> slot, or 0
  std::vector<std::int32_t> slots;    // one row against the panel: slots and values
  std::vector<T> values;
};

// f(feature, scaled value) for row i of either form, where one side is CSR.
template <class T>
template <class F>
void KernelBlocks<T>::each_value(const Data& X, Index i, Scratch& s, F f) const {
  const T* scale = scale_of(0);
  auto scaled = [&](Index k, T x) { f(k, x * (scale ? scale[k] : uniform_)); };
  if (X.sparse()) return each_stored<T>(X, i, scaled);
  T* x = s.rows.at_least(X.d);
  ops_.convert(X.wide, X.at(i), X.d, nullptr, nullptr, x);
  for (Index k = 0; k < X.d; ++k) scaled(k, x[k]);
}

}  // namespace polymargin
