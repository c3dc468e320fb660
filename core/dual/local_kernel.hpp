// Kernel values between the rows of a working set (working_sets.hpp): from kernel rows that are kept, by symmetry from
// their columns, the rest computed. A row for which as many values have been computed as a whole kernel row has gets
// one that is kept.
#pragma once
#include <algorithm>
#include <vector>

#include "kernels/row_store.hpp"

namespace polymargin {

template <class T>
class LocalKernel {
 public:
  // `data`: the place of every row of the problem in the data.
  LocalKernel(const KernelBlocks<T>& K, Span<const Index> data, RowStore<T>& rows, Team& team)
      : K_(K), data_(data), rows_(rows), team_(team), spent_(data.size, 0) {}

  // The active set has changed: a position is another row. Or it is a new one, over whose columns nothing is kept.
  void forget() { loaded_.clear(); }
  void start_over() { spent_.assign(spent_.size(), 0); }

  // The policy's square becomes K between the rows at the positions `at` of the active set.
  template <class Policy>
  void load(Policy& policy, const std::vector<Index>& at, const std::vector<Index>& active) {
    if (Policy::kKeepsSquare && at == loaded_) return;
    const Index q = static_cast<Index>(at.size());
    const auto [Q, ld] = policy.square(q);
    keep_due(at, active);
    std::vector<Index> missing, data;
    for (Index r = 0; r < q; ++r)
      if (!rows_.active().kept(at[r])) missing.push_back(r), data.push_back(data_[active[at[r]]]);
    compute(missing, data, q, Q, ld);
    for (Index r : missing) spent_[active[at[r]]] += static_cast<Index>(missing.size());
    constexpr Index few = 64;
    const auto fill = [&, Q = Q, ld = ld](Index from, Index to) {
      for (Index r = from; r < to; ++r) {
        std::fill(Q + r * ld + q, Q + (r + 1) * ld, T(0));
        const T* row = rows_.active().kept(at[r]);
        if (!row) continue;
        for (Index c = 0; c < q; ++c) Q[r * ld + c] = row[at[c]];
        for (Index b : missing) Q[b * ld + r] = row[at[b]];
      }
    };
    team_.parts(q, few, fill, q < 4 * few);
    loaded_ = at;
  }

 private:
  void keep_due(const std::vector<Index>& at, const std::vector<Index>& active) {
    std::vector<Index> due;
    for (Index k : at)
      if (spent_[active[k]] >= static_cast<Index>(active.size()) && !rows_.active().kept(k)) due.push_back(k);
    if (2 * static_cast<Index>(due.size()) <= rows_.active().capacity()) rows_.active().fetch(span(due), fetched_);
  }

  // Values between the rows that are not kept, which are `data` and at the places `missing` of Q: side by side at
  // first, then each at its place, which is never before the one it had.
  void compute(const std::vector<Index>& missing, const std::vector<Index>& data, Index q, T* Q, Index ld) {
    const Index h = static_cast<Index>(missing.size());
    if (h == q) {
      K_.gram(span(data), Q, ld, team_);
    } else if (h > 0) {
      K_.gram(span(data), Q, h, team_);
      for (Index a = h - 1; a >= 0; --a)
        for (Index b = h - 1; b >= 0; --b) Q[missing[a] * ld + missing[b]] = Q[a * h + b];
    }
  }

  const KernelBlocks<T>& K_;
  Span<const Index> data_;
  RowStore<T>& rows_;
  Team& team_;
  std::vector<Index> loaded_;  // whose values the policy has
  std::vector<Index> spent_;   // values computed for a row in working sets, since the active set was chosen
  std::vector<const T*> fetched_;
};

}  // namespace polymargin
