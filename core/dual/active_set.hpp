// The active set of the engine (working_sets.hpp): rows in increasing order, with compact copies of what the steps need
// of them. Variables and scores come `width` per row, class by class.
#pragma once
#include <algorithm>
#include <utility>
#include <vector>

#include "base/data.hpp"

namespace polymargin {

struct ActiveSet {
  Index width = 1, m = 0;           // m rows
  std::vector<Index> rows;          // of the problem
  std::vector<double> F, A;         // scores and variables
  std::vector<double> excess, key;  // by how much a row violates the conditions, and what moving it promises

  // These rows, out of n with the given variables and scores.
  void take(std::vector<Index> list, Index n, const std::vector<double>& alpha, const std::vector<double>& scores) {
    rows = std::move(list), resize(static_cast<Index>(rows.size()));
    for (Index c = 0; c < width; ++c)
      for (Index k = 0; k < m; ++k) {
        F[c * m + k] = scores[c * n + rows[k]];
        A[c * m + k] = alpha[c * n + rows[k]];
      }
  }

  // Only the rows `next` of these. Returns where they were.
  std::vector<Index> narrow(std::vector<Index> next) {
    std::vector<Index> keep;
    for (Index k = 0; k < m && keep.size() < next.size(); ++k)
      if (rows[k] == next[keep.size()]) keep.push_back(k);
    const Index h = static_cast<Index>(keep.size());
    for (Index c = 0; c < width; ++c)  // never ahead of what is still to be read
      for (Index k = 0; k < h; ++k) {
        F[c * h + k] = F[c * m + keep[k]];
        A[c * h + k] = A[c * m + keep[k]];
      }
    rows = std::move(next), resize(h);
    return keep;
  }

  void store_scores(Index n, std::vector<double>& scores) const {
    for (Index c = 0; c < width; ++c)
      for (Index k = 0; k < m; ++k) scores[c * n + rows[k]] = F[c * m + k];
  }

  bool is_used(Index k) const {
    for (Index c = 0; c < width; ++c)
      if (A[c * m + k] != 0) return true;
    return false;
  }

  // Of these positions the ones with the largest keys.
  void keep_worst(std::vector<Index>& list, Index most) const {
    if (static_cast<Index>(list.size()) <= most) return;
    std::nth_element(list.begin(), list.begin() + most, list.end(),
                     [&](Index a, Index b) { return key[a] != key[b] ? key[a] > key[b] : a < b; });
    list.resize(most);
  }

  // The positions of at most `most` rows with the largest keys, some that want to grow and some that want to fall:
  // under a sum constraint one kind alone cannot move.
  template <class Falls>
  std::vector<Index> worst(Index most, const Falls& falls) const {
    std::vector<Index> growing, falling;
    for (Index k = 0; k < m; ++k)
      if (key[k] > 0) (falls(k) ? falling : growing).push_back(k);
    const Index n_up = static_cast<Index>(growing.size()), n_down = static_cast<Index>(falling.size());
    keep_worst(growing, std::max(most / 2, most - n_down));
    keep_worst(falling, std::max(most / 2, most - n_up));
    growing.insert(growing.end(), falling.begin(), falling.end());
    return growing;
  }

  // The next active set: leaves out rows that are held at their bounds by more than the violation. Those that were
  // active stay unless they are held; of the others at most `most` come in, the worst first.
  std::vector<Index> contenders(double violation, const std::vector<char>& was_active, Index most) const {
    std::vector<Index> kept, fresh;
    for (Index k = 0; k < m; ++k) {
      const bool held = excess[k] < -violation;
      if (!held && (was_active[rows[k]] || is_used(k)))
        kept.push_back(rows[k]);
      else if (key[k] > 0)
        fresh.push_back(k);
    }
    keep_worst(fresh, most);
    for (Index k : fresh) kept.push_back(rows[k]);
    std::sort(kept.begin(), kept.end());
    return kept;
  }

 private:
  void resize(Index size) {
    m = size;
    for (std::vector<double>* v : {&F, &A}) v->resize(m * width);
    for (std::vector<double>* v : {&excess, &key}) v->resize(m);
  }
};

}  // namespace polymargin
