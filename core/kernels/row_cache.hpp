// Rows of K over a list of columns (data rows), kept while memory lasts; the least recently used row goes first.
#pragma once
#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "base/pages.hpp"
#include "kernels/kernel_rows.hpp"

namespace polymargin {

template <class T>
class RowCache {
 public:
  // Room for `bytes` of rows, for lists of at most `most` columns; at least `least` rows are kept whatever the budget.
  RowCache(const KernelBlocks<T>& K, Index most, double bytes, Index least, Team& team)
      : K_(K), team_(team), packing_(bytes / 8) {
    least = std::min(least, most);
    const double room = std::clamp(bytes / sizeof(T), double(least) * double(most), double(most) * double(most));
    reserved_ = static_cast<std::size_t>(room);
    memory_ = pages<T>(reserved_);
  }

  // Starts over with other columns in the same memory: fresh pages cost more than the values stored there.
  void reset(std::vector<Index> columns) {
    m_ = static_cast<Index>(columns.size());
    columns_ = K_.columns(std::move(columns), packing_);
    capacity_ = std::min<Index>(m_, static_cast<Index>(reserved_ / std::max<Index>(m_, 1)));
    slot_.assign(m_, -1);
    owner_.assign(capacity_, -1);
    stamp_.assign(capacity_, 0);
    used_ = 0;
  }

  // What an earlier solve has left besides rows: a point and its kernel products. Owned by the caller; empty at first.
  std::vector<double> point, scores;

  Index capacity() const { return capacity_; }
  // The row at this position if it is kept, else null.
  const T* kept(Index p) const { return slot_[p] < 0 ? nullptr : memory_.get() + slot_[p] * m_; }
  const std::vector<Index>& columns() const { return columns_.list; }

  // Pointers to the rows at these positions (at most `capacity` of them), valid until the next call.
  void fetch(Span<const Index> at, std::vector<const T*>& rows) {
    ++now_;
    missing_.clear();
    for (Index p : at) {
      if (slot_[p] < 0)
        missing_.push_back(p);
      else
        stamp_[slot_[p]] = now_;
    }
    if (!missing_.empty()) load();
    rows.resize(at.size);
    for (Index r = 0; r < at.size; ++r) rows[r] = memory_.get() + slot_[at[r]] * m_;
  }

  // Keeps the columns (and the rows) at these increasing positions; what was computed is moved, not lost.
  void restrict_to(const std::vector<Index>& keep) {
    Index m = static_cast<Index>(keep.size()), filled = 0;
    std::vector<Index> owner(owner_.begin(), owner_.begin() + used_), renamed(m_, -1), columns(m);
    for (Index k = 0; k < m; ++k) renamed[keep[k]] = k, columns[k] = columns_.list[keep[k]];
    std::vector<Index> kept;
    std::vector<std::uint64_t> stamps;
    for (Index s = 0; s < used_; ++s) {
      if (owner[s] < 0 || renamed[owner[s]] < 0) continue;
      const T* from = memory_.get() + s * m_;
      T* to = memory_.get() + filled * m;
      for (Index k = 0; k < m; ++k) to[k] = from[keep[k]];  // never ahead of what is still to be read
      kept.push_back(renamed[owner[s]]);
      stamps.push_back(stamp_[s]);
      ++filled;
    }
    reset(std::move(columns));
    used_ = filled;
    for (Index s = 0; s < filled; ++s) owner_[s] = kept[s], slot_[kept[s]] = s, stamp_[s] = stamps[s];
  }

 private:
  void load() {
    Index n = static_cast<Index>(missing_.size());
    std::vector<Index> wanted(n);
    for (Index r = 0; r < n; ++r) wanted[r] = columns_.list[missing_[r]];
    if (n == m_ && used_ == 0 && capacity_ == m_) {
      K_.gram(span(columns_.list), memory_.get(), m_, team_);
      for (Index r = 0; r < n; ++r) own(r, missing_[r]);
      used_ = n;
      return;
    }
    Index fresh = std::min(n, capacity_ - used_);
    if (fresh > 0) {
      K_.block({wanted.data(), fresh}, columns_, memory_.get() + used_ * m_, m_, team_);
      for (Index r = 0; r < fresh; ++r) own(used_ + r, missing_[r]);
      used_ += fresh;
    }
    if (fresh == n) return;
    std::vector<Index> victims(capacity_);
    std::iota(victims.begin(), victims.end(), Index(0));
    std::nth_element(victims.begin(), victims.begin() + (n - fresh - 1), victims.end(),
                     [&](Index a, Index b) { return stamp_[a] < stamp_[b]; });
    constexpr Index few = 16;
    std::vector<T> block(static_cast<std::size_t>(std::min(few, n - fresh) * m_));
    for (Index r = fresh; r < n; ++r) {
      const Index in_block = (r - fresh) % few, s = victims[r - fresh];
      if (in_block == 0) K_.block({wanted.data() + r, std::min(few, n - r)}, columns_, block.data(), m_, team_);
      std::copy(block.begin() + in_block * m_, block.begin() + (in_block + 1) * m_, memory_.get() + s * m_);
      slot_[owner_[s]] = -1;
      own(s, missing_[r]);
    }
  }

  void own(Index slot, Index p) { owner_[slot] = p, slot_[p] = slot, stamp_[slot] = now_; }

  const KernelBlocks<T>& K_;
  typename KernelBlocks<T>::Columns columns_;
  Team& team_;
  double packing_;  // bytes that the columns may take packed
  Index m_ = 0, capacity_ = 0, used_ = 0;
  std::size_t reserved_ = 0;
  Pages<T> memory_;
  std::vector<Index> slot_, owner_, missing_;  // slot of a position, position in a slot
  std::vector<std::uint64_t> stamp_;
  std::uint64_t now_ = 0;
};

}  // namespace polymargin
