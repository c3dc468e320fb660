// Scores that follow late: in the engine (working_sets.hpp) only the scores of active rows follow every step. Those of
// all rows belong to an earlier point, `reference`, until what has changed since is added to them.
#pragma once
#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "base/watch.hpp"
#include "kernels/row_store.hpp"

namespace polymargin {

// Rows whose variables change, with `width` values of each before and after, row by row.
struct Moves {
  std::vector<Index> row;
  std::vector<double> now, old;

  // Moves number from, ..., to - 1.
  Moves part(Index from, Index to, Index width) const {
    return {{row.begin() + from, row.begin() + to},
            {now.begin() + from * width, now.begin() + to * width},
            {old.begin() + from * width, old.begin() + to * width}};
  }
  void add(const Moves& from, std::size_t j, Index width) {
    row.push_back(from.row[j]);
    now.insert(now.end(), from.now.begin() + j * width, from.now.begin() + (j + 1) * width);
    old.insert(old.end(), from.old.begin() + j * width, from.old.begin() + (j + 1) * width);
  }
};

// Changed rows whose kernel rows should be kept (with their positions in the cache), and those that are new.
struct Split {
  std::vector<Index> at, row, first;
};

// Where a value is cheap, a kernel row is kept only from its second use on: many rows go to their bounds and stay
// there. Where there is no room for all that should be kept, none of them is kept.
template <class T>
Split by_use(const std::vector<Index>& at, const std::vector<Index>& row, const RowCache<T>& rows, bool cheap,
             std::vector<char>& used) {
  Split split;
  for (std::size_t r = 0; r < at.size(); ++r) {
    const Index i = row[r];
    const bool keep = !cheap || rows.kept(at[r]) || used[i];
    used[i] = 1;
    if (keep) split.at.push_back(at[r]);
    (keep ? split.row : split.first).push_back(i);
  }
  if (static_cast<Index>(split.at.size()) > rows.capacity()) return {{}, {}, row};
  return split;
}

template <class Policy>
class LateScores {
 public:
  using T = typename Policy::Value;
  static constexpr double kPatience = 2e10;  // multiply-adds that a stop may still cost, well under a second

  // The scores are those in `out`, and so is the point; `halted` says whether to stop in between.
  LateScores(Policy& policy, const KernelBlocks<T>& K, RowStore<T>& rows, const Settings& settings, Solution& out,
             std::function<bool()> halted)
      : policy_(policy),
        rows_(rows),
        out_(out),
        halted_(std::move(halted)),
        n_(rows.size()),
        w_(policy.width()),
        cost_(K.cost()),
        cheap_(!settings.keeps_rows && cost_ <= kCheap) {
    out_.gradient.assign(n_ * w_, 0);
    reference.assign(n_ * w_, 0);
    seen_.assign(n_, 0);
  }

  std::vector<double> reference;
  Index n_owed = 0;   // rows whose change only the active ones have seen
  bool lost = false;  // stopped while scores were computed

  // Whether kernel rows that are used once should not be kept.
  bool cheap() const { return cheap_; }

  // An earlier solve may have left a point with its scores that is nearer than zero.
  void from_last() {
    const RowCache<T>& last = rows_.all();
    if (last.point.size() != out_.alpha.size()) return;
    Index from_zero = 0, from_there = 0;
    for (std::size_t j = 0; j < out_.alpha.size(); ++j)
      from_zero += out_.alpha[j] != 0, from_there += out_.alpha[j] != last.point[j];
    if (2 * from_there < from_zero) reference = last.point, out_.gradient = last.scores;
  }
  void leave_for_next() {
    if (n_ > 2 * RowStore<T>::kSample && n_ * w_ <= kLeft)
      rows_.all().point = out_.alpha, rows_.all().scores = out_.gradient;
  }

  // The rows whose variables are no longer those of `reference`.
  std::vector<Index> changed() const {
    std::vector<char> differs(n_, 0);
    for (Index c = 0; c < w_; ++c)
      for (Index i = 0; i < n_; ++i) differs[i] |= out_.alpha[c * n_ + i] != reference[c * n_ + i];
    std::vector<Index> rows;
    for (Index i = 0; i < n_; ++i)
      if (differs[i]) rows.push_back(i);
    return rows;
  }

  // The first scores: of the given rows alone, at the point. Once copied, `forget`: no other row has seen the point.
  void begin_with(const std::vector<Index>& which, const Watch& watch) {
    const std::vector<Index> used = changed();
    n_owed = static_cast<Index>(used.size());
    add(used, which, watch);
  }
  void forget() {
    std::fill(out_.gradient.begin(), out_.gradient.end(), 0.0);
    std::fill(seen_.begin(), seen_.end(), 0);
  }

  // The scores of the given rows follow the change since `reference`; those left out are up to date already.
  void refresh(const std::vector<Index>& which, const Watch& watch) {
    add(changed(), which, watch);
    settle();
  }
  // All scores are those of the point.
  void settle() { reference = out_.alpha, n_owed = 0; }

  // The scores of some rows at a point that is zero except for `moves`; nothing if there is no time for them.
  std::vector<double> at(const Moves& moves, const std::vector<Index>& which) {
    std::vector<double> F(which.size() * w_, 0.0);
    in_parts(moves.row, static_cast<Index>(which.size()), [&](Span<const Index> part) {
      const Index from = part.data - moves.row.data();
      policy_.add_blocks(moves.part(from, from + part.size, w_), span(which), F.data());
    });
    return lost ? std::vector<double>() : F;
  }

  // Seconds for the scores of this many rows after the change of that many others, as far as is known.
  double seconds(double changed, double others) const { return value_seconds_ * changed * others; }

 private:
  static constexpr double kCheap = 100;    // a value of fewer multiply-adds is computed faster than memory is allocated
  static constexpr Index kLeft = 4000000;  // scores that are left for the next solve

  // Where there is room, the kernel rows of what changed are kept over all columns: they are needed again at the end of
  // the next stage.
  void add(const std::vector<Index>& changed, const std::vector<Index>& which, const Watch& watch) {
    if (changed.empty() || which.empty()) return;
    const Split split = by_use(changed, changed, rows_.all(), cheap_, seen_);
    const Index w = static_cast<Index>(which.size());
    const std::vector<Index> columns = everything(n_);
    const double begun = watch.left();
    std::vector<double> total(split.row.empty() ? 0 : n_ * w_, 0.0), sum(w * w_, 0.0);
    in_parts(split.row, n_, [&](Span<const Index> part) {
      rows_.all().fetch(part, fetched_);
      policy_.add_rows(fetched_, moves_of(part), span(columns), total.data());
    });
    in_parts(split.first, w,
             [&](Span<const Index> part) { policy_.add_blocks(moves_of(part), span(which), sum.data()); });
    for (Index c = 0; c < w_; ++c)
      for (Index k = 0; k < w; ++k)
        out_.gradient[c * n_ + which[k]] += (total.empty() ? 0 : total[c * n_ + which[k]]) + sum[c * w + k];
    if (std::isfinite(begun)) value_seconds_ = (begun - watch.left()) / (double(changed.size()) * double(w));
  }

  Moves moves_of(Span<const Index> part) const {
    Moves moves;
    for (Index i : part) {
      moves.row.push_back(i);
      for (Index c = 0; c < w_; ++c) {
        moves.now.push_back(out_.alpha[c * n_ + i]);
        moves.old.push_back(reference[c * n_ + i]);
      }
    }
    return moves;
  }

  // work(rows) for a few rows at a time, with polls in between; after a stop the scores are lost.
  template <class Work>
  void in_parts(const std::vector<Index>& rows, Index width, const Work& work) {
    const Index n = static_cast<Index>(rows.size());
    const Index part = std::max<Index>(RowStore<T>::kLeastRows,
                                       static_cast<Index>(kPatience / (double(width + 1) * (cost_ + double(w_)))));
    for (Index from = 0; from < n && !lost; from += part) {
      if (from > 0 && halted_())
        lost = true;
      else
        work(span(rows).sub(from, std::min(from + part, n)));
    }
  }

  Policy& policy_;
  RowStore<T>& rows_;
  Solution& out_;
  std::function<bool()> halted_;
  const Index n_, w_;
  const double cost_;
  const bool cheap_;
  double value_seconds_ = 0;  // of one score of one changed row, where time is limited
  std::vector<char> seen_;    // whose kernel row was needed before, over all columns
  std::vector<const T*> fetched_;
};

}  // namespace polymargin
