// Kernel rows of a solver with an active set: rows over all columns, for exact gradients, and over the active ones.
#pragma once
#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "kernels/row_cache.hpp"

namespace polymargin {

inline bool is_zero(const std::vector<double>& v) {
  return std::all_of(v.begin(), v.end(), [](double a) { return a == 0; });
}

// 0, 1, ..., n - 1, and those of them that are not in an increasing list.
inline std::vector<Index> everything(Index n) {
  std::vector<Index> all(n);
  std::iota(all.begin(), all.end(), Index(0));
  return all;
}
inline std::vector<Index> the_rest(const std::vector<Index>& some, Index n) {
  std::vector<Index> rest;
  for (Index i = 0, k = 0; i < n; ++i) {
    if (k < static_cast<Index>(some.size()) && some[k] == i)
      ++k;
    else
      rest.push_back(i);
  }
  return rest;
}

template <class T>
class RowStore {
 public:
  static constexpr Index kLeastRows = 16;  // kept even where the memory budget is smaller
  static constexpr Index kSample = 4096;   // a larger problem starts on a sample of this size
  static constexpr Index kWhole = 1024;    // up to this size a working set may be the whole problem,
  static constexpr Index kLeastSet = 256;  // and up to this one whatever the memory

  // Of the memory: rows over all columns, active ones, and the values of a working set, most of which come from these.
  static constexpr double kShare = 0.5, kActiveShare = 1.0 / 3, kSetShare = 0.2;

  // `all` may hold rows of an earlier solve and is left for the next one.
  RowStore(const KernelBlocks<T>& K, Span<const Index> rows, std::unique_ptr<RowCache<T>>& all, double memory,
           Team& team)
      : K_(K), rows_(rows), all_(all), memory_(memory), team_(team) {}

  // Rows of a working set whose values this memory has room for.
  static Index most_in_set(double memory) {
    const double fit = std::sqrt(kSetShare * memory / sizeof(T));
    return static_cast<Index>(std::clamp(fit, double(kLeastSet), double(kWhole)));
  }
  // What the rows of n columns leave of the memory: for the factor of a face, and blocks in the making.
  static double left(Index n, double memory) {
    const double whole = double(n) * double(n) * sizeof(T);
    return memory - std::min(whole, kShare * memory) - std::min(whole, kActiveShare * memory);
  }

  // Rows over all columns.
  RowCache<T>& all() {
    std::vector<Index> columns(rows_.begin(), rows_.end());
    if (!all_ || all_->columns() != columns) {
      all_ = std::make_unique<RowCache<T>>(K_, rows_.size, kShare * memory_, kLeastRows, team_);
      all_->reset(std::move(columns));
    }
    return *all_;
  }

  Index size() const { return rows_.size; }
  RowCache<T>& active() { return over_all_ ? *all_ : *some_; }
  bool over_all() const { return over_all_; }

  void activate(const std::vector<Index>& active) {
    over_all_ = static_cast<Index>(active.size()) == rows_.size;
    if (over_all_) {
      all();
      return;
    }
    if (!some_) some_ = std::make_unique<RowCache<T>>(K_, rows_.size, kActiveShare * memory_, kLeastRows, team_);
    std::vector<Index> columns(active.size());
    for (std::size_t k = 0; k < active.size(); ++k) columns[k] = rows_[active[k]];
    some_->reset(std::move(columns));
  }

  // The active set becomes `active`, the entries at the positions `keep` of what it was.
  void narrow(const std::vector<Index>& active, const std::vector<Index>& keep) {
    if (over_all_)
      activate(active);
    else
      some_->restrict_to(keep);
  }

 private:
  const KernelBlocks<T>& K_;
  Span<const Index> rows_;
  std::unique_ptr<RowCache<T>>& all_;
  std::unique_ptr<RowCache<T>> some_;
  double memory_;
  Team& team_;
  bool over_all_ = true;
};

}  // namespace polymargin
