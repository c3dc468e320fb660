// Changes of scores: F[c, k] += sum_r D[r,c] k(x_r, x_k) for the classes whose D is not zero, mostly two or three of a
// row.
#pragma once
#include <algorithm>
#include <vector>

#include "kernels/kernel_sums.hpp"
#include "kernels/linear_scores.hpp"
#include "margins/margin_problem.hpp"
#include "simd/steps.hpp"

namespace polymargin {

// D of some examples: the entries that are not zero, listed by class.
struct ScoreChange {
  std::vector<Index> example;             // whose rows are needed
  std::vector<std::vector<Index>> rows;   // per class: numbers into `example`
  std::vector<std::vector<double>> coef;  // per class: D
  explicit ScoreChange(Index classes) : rows(classes), coef(classes) {}
};

template <class T>
class ScoreKernel {
 public:
  ScoreKernel(const MarginProblem& problem, const KernelBlocks<T>& K, Team& team) : p_(problem), K_(K), team_(team) {}

  // Adds example i with the change b_i - old_i, both with stride `ld` between classes.
  void add(ScoreChange& out, Index i, const double* b, const double* old, Index ld) const {
    const Index r = static_cast<Index>(out.example.size());
    double sum = 0;
    if (p_.reference == Reference::own)
      for (Index c = 0; c < p_.classes; ++c) sum += b[c * ld] - old[c * ld];
    for (Index c = 0; c < p_.classes; ++c) {
      const double d = b[c * ld] - old[c * ld] - (c == p_.label[i] ? sum : 0);
      if (d != 0) out.rows[c].push_back(r), out.coef[c].push_back(d);
    }
    out.example.push_back(i);
  }

  // From rows in memory, over n columns; class c of F begins at F + c * n.
  void add_rows(const std::vector<const T*>& rows, const ScoreChange& change, Index n, double* F) const {
    constexpr Index tile = 1024;
    const Index m = static_cast<Index>(change.example.size());
    const auto one = [&](Index begin, Index end) { sum(rows.data(), 0, m, change, begin, end, 0, F, n); };
    team_.parts(n, tile, one, m * n <= kSerial);
  }

  // From rows that are computed on the way and not kept. F has the stride of `columns`.
  void add_blocks(const ScoreChange& change, Span<const Index> columns, double* F) const {
    by_blocks(K_, p_.rows, span(change.example), columns, team_,
              [&](const T* const* values, Index first, Index last, Index begin, Index end) {
                sum(values, first, last, change, begin, end, begin, F, columns.size);
              });
  }

 private:
  static constexpr Index kSerial = 100000;  // kernel values below which threads cost more than they gain

  // Rows first..last, of which rows[0] is the first; their entry for column k is at k - from.
  void sum(const T* const* rows, Index first, Index last, const ScoreChange& change, Index begin, Index end, Index from,
           double* F, Index ld) const {
    const Steps<T>& pass = steps<T>();
    std::vector<const T*> some;
    for (Index c = 0; c < p_.classes; ++c) {
      const std::vector<Index>& list = change.rows[c];
      const auto low = std::lower_bound(list.begin(), list.end(), first) - list.begin();
      const auto high = std::lower_bound(list.begin(), list.end(), last) - list.begin();
      if (low == high) continue;
      some.clear();
      for (auto j = low; j < high; ++j) some.push_back(rows[list[j] - first] + (begin - from));
      pass.add_rows(some.data(), change.coef[c].data() + low, high - low, 0, end - begin, F + c * ld + begin);
    }
  }

  const MarginProblem& p_;
  const KernelBlocks<T>& K_;
  Team& team_;
};

// The scores of a problem with a variable per example and class: those of the prototypes, made of b by the same
// operations as the ones that the model keeps.
template <class T>
void linear_part(const MarginProblem& p, const KernelBlocks<T>& K, const std::vector<double>& b, std::vector<double>& F,
                 Team& team) {
  const Index n = p.rows.size;
  std::vector<double> sum(n, 0.0);
  for (Index c = 0; c < p.classes; ++c)
    for (Index i = 0; i < n; ++i) sum[i] += b[c * n + i];
  team.run(p.classes, [&](Index c) {
    std::vector<Index> rows;
    std::vector<double> coef;
    for (Index i = 0; i < n; ++i) {
      double B = b[c * n + i];
      if (p.reference == Reference::mean) B -= sum[i] / static_cast<double>(p.classes);
      if (p.reference == Reference::own && p.label[i] == c) B -= sum[i];
      if (B != 0) rows.push_back(p.rows[i]), coef.push_back(B);
    }
    linear_scores(K, span(rows), coef.data(), p.rows, F.data() + c * n);
  });
}

}  // namespace polymargin
