// CSR rows, on one side or both.
#include <algorithm>

#include "kernels/kernel_scratch.hpp"

namespace polymargin {
namespace {

constexpr Index kMapped = 1 << 22;  // features that a table feature -> slot may have (16 MB)

}  // namespace

// A panel of the columns that holds only the features that occur in them.
template <class T>
void KernelBlocks<T>::set_sparse_columns(Scratch& s) const {
  const Index lanes = ops_.sparse_lanes, d = B_.d;
  const bool mapped = d <= kMapped;
  for (Index k : s.features)
    if (k < static_cast<Index>(s.slot_of.size())) s.slot_of[k] = 0;
  s.features.clear();
  if (mapped && static_cast<Index>(s.slot_of.size()) < d) s.slot_of.resize(d, 0);
  if (B_.sparse()) {
    for (Index c = 0; c < s.cols.size; ++c)
      each_stored<T>(B_, s.cols[c], [&](Index k, T) {
        if (mapped && s.slot_of[k]) return;
        s.features.push_back(k);
        if (mapped) s.slot_of[k] = 1;
      });
    if (term_ == Term::distance || !mapped) {
      std::sort(s.features.begin(), s.features.end());
      s.features.erase(std::unique(s.features.begin(), s.features.end()), s.features.end());
    }
  } else {
    for (Index k = 0; k < d; ++k) s.features.push_back(k);
  }
  const Index used = static_cast<Index>(s.features.size());
  if (mapped)
    for (Index q = 0; q < used; ++q) s.slot_of[s.features[q]] = static_cast<std::int32_t>(q + 1);

  T* panel = s.panels.at_least((used + 1) * lanes);
  T* norms = s.col_norms.at_least(lanes);
  std::fill(panel, panel + (used + 1) * lanes, T(0));
  std::fill(norms, norms + lanes, T(0));
  for (Index c = 0; c < s.cols.size; ++c) {
    s.values.clear();
    each_value(B_, s.cols[c], s, [&](Index k, T x) {
      const Index q =
          mapped ? s.slot_of[k] : std::lower_bound(s.features.begin(), s.features.end(), k) - s.features.begin() + 1;
      panel[q * lanes + c] = x;
      if (has_norms_) s.values.push_back(x);
    });
    if (has_norms_) norms[c] = used_norm(ops_.norm(s.values.data(), static_cast<Index>(s.values.size())));
  }
}

template <class T>
void KernelBlocks<T>::sparse_rows(Span<const Index> rows, Scratch& s, T* out, Index ldo) const {
  const Index lanes = ops_.sparse_lanes, used = static_cast<Index>(s.features.size());
  const bool mapped = A_.d <= kMapped;
  const T* panel = s.panels.at_least((used + 1) * lanes);
  T* tile = s.tile.at_least(lanes);
  T* col_norms = s.col_norms.at_least(lanes);
  const double far = farthest(col_norms, s.cols.size);

  auto slot = [&](Index k) -> std::int32_t {
    if (mapped) return s.slot_of[k];
    const auto at = std::lower_bound(s.features.begin(), s.features.end(), k);
    return at != s.features.end() && *at == k ? static_cast<std::int32_t>(at - s.features.begin() + 1) : 0;
  };
  for (Index r = 0; r < rows.size; ++r) {
    Index n = 0, next = 0;  // next: first feature of the panel not yet in the list (l1)
    auto add = [&](std::int32_t q, T x) {
      s.slots[n] = q;
      s.values[n] = x;
      ++n;
    };
    // Dots need the features that both have; distances all that either has, in order.
    auto put = [&](Index k, T x) {
      if (term_ == Term::distance) {
        for (; next < used && s.features[next] < k; ++next) add(static_cast<std::int32_t>(next + 1), 0);
        const bool both = next < used && s.features[next] == k;
        add(both ? static_cast<std::int32_t>(++next) : 0, x);
      } else {
        const std::int32_t q = slot(k);
        s.slots[n] = q;
        s.values[n] = x;
        n += q > 0;
      }
    };
    const Index i = rows[r], most = A_.end(i) - A_.begin(i) + used + 1;
    if (static_cast<Index>(s.slots.size()) < most) s.slots.resize(most);
    if (s.values.size() < s.slots.size()) s.values.resize(s.slots.size());
    each_value(A_, i, s, put);
    if (term_ == Term::distance)
      for (; next < used; ++next) add(static_cast<std::int32_t>(next + 1), 0);
    ops_.sparse_dots(term_, s.slots.data(), s.values.data(), n, panel, tile);
    const T norm = has_norms_ ? norms_[i] : 0;
    ops_.finish(formula_, tile, lanes, 1, s.cols.size, &norm, col_norms, out + r * ldo, ldo);
    recompute_far(i, norm, tile, col_norms, far, s.cols, out + r * ldo);
  }
}

template void KernelBlocks<float>::set_sparse_columns(Scratch&) const;
template void KernelBlocks<double>::set_sparse_columns(Scratch&) const;
template void KernelBlocks<float>::sparse_rows(Span<const Index>, Scratch&, float*, Index) const;
template void KernelBlocks<double>::sparse_rows(Span<const Index>, Scratch&, double*, Index) const;

}  // namespace polymargin
