#include "scores/code_scores.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace polymargin {

namespace {

constexpr Index kMostLanes = 256;       // test rows of a block
constexpr Index kBlockBytes = 3 << 20;  // kernel values of a block, about
constexpr Index kDearBytes = 12 << 20;  // the same for long rows: each block reads all support vectors
constexpr double kDear = 256;           // multiply-adds of such a value

// The kernel values of all support vectors and some test rows, and sums of them.
template <class T>
class TestBlock {
 public:
  TestBlock(const T* values, const CodeModel& model, Index lanes)
      : values_(values), model_(model), lanes_(lanes), f_(lanes) {}

  // f of one column, for all lanes; valid until the next call.
  const double* column(Index l) {
    const Span<const Index> at = model_.coef.rows(l);
    std::fill(f_.begin(), f_.end(), model_.bias[l]);
    tile_ops<T>().gathered_scores({values_, lanes_, at.size, lanes_}, at.data, model_.coef.values(l).data, f_.data());
    return f_.data();
  }

 private:
  const T* values_;
  const CodeModel& model_;
  Index lanes_;
  std::vector<double> f_;
};

// task(block, from, to) for blocks of test rows, by all of the team.
template <class T, class Task>
void over_blocks(const Data& Z, const CodeModel& model, Team& team, const Task& task) {
  const ScoredRows<T> rows(Z, model);
  const Index width = tile_ops<T>().lanes, n = std::max<Index>(model.sv_rows.size, 1);
  const Index bytes = rows.kernel().cost() > kDear ? kDearBytes : kBlockBytes;
  Index lanes = std::min({kMostLanes, bytes / static_cast<Index>(sizeof(T)) / n, rows.kernel().width()});
  lanes = std::min(lanes, (Z.n + team.size() - 1) / team.size());
  lanes = std::max<Index>((lanes + width - 1) / width, 1) * width;
  const double work = double(Z.n) * (double(n) * double(Z.d + 16) + double(model.coef.at.size));
  rows.share(lanes, n * lanes, work, team, [&](T* values, Index from, Index to) {
    rows.values(0, model.sv_rows.size, from, to, values, lanes);
    TestBlock<T> block(values, model, lanes);
    task(block, from, to);
  });
}

}  // namespace

template <class T>
void code_scores(const Data& Z, const CodeModel& model, double* out, Team& team) {
  const Index L = model.columns();
  over_blocks<T>(Z, model, team, [&](TestBlock<T>& block, Index from, Index to) {
    for (Index l = 0; l < L; ++l) {
      const double* f = block.column(l);
      for (Index i = from; i < to; ++i) out[i * L + l] = f[i - from];
    }
  });
}

template <class T>
void pair_votes(const Data& Z, const CodeModel& model, Index classes, double doubt, double* out, Team& team) {
  over_blocks<T>(Z, model, team, [&](TestBlock<T>& block, Index from, Index to) {
    const Index m = to - from;
    std::vector<double> votes(classes * m, 0), sums(classes * m, 0), least(m, std::numeric_limits<double>::infinity());
    for (Index a = 0, l = 0; a < classes; ++a)
      for (Index b = a + 1; b < classes; ++b, ++l) {
        const double* f = block.column(l);
        double *va = votes.data() + a * m, *vb = votes.data() + b * m;
        double *sa = sums.data() + a * m, *sb = sums.data() + b * m;
        for (Index i = 0; i < m; ++i) {
          const double won = f[i] > 0;
          va[i] += won, vb[i] += 1 - won;
          sa[i] += f[i], sb[i] -= f[i];
          least[i] = std::min(least[i], std::abs(f[i]));
        }
      }
    for (Index i = 0; i < m; ++i)
      for (Index c = 0; c < classes; ++c) {
        const double s = sums[c * m + i];
        const bool sure = !(least[i] < doubt);
        out[(from + i) * classes + c] = sure ? votes[c * m + i] + s / (3 * (std::abs(s) + 1)) : std::nan("");
      }
  });
}

template <class T>
void dag_winners(const Data& Z, const CodeModel& model, Index classes, Index* out, Team& team) {
  over_blocks<T>(Z, model, team, [&](TestBlock<T>& block, Index from, Index to) {
    const Index m = to - from;
    // The rows that are at the same pair go on together. Pairs are met in the order of their distance b - a.
    std::vector<std::vector<Index>> at(classes), next(classes);  // by a; b = a + distance
    at[0].resize(m);
    std::iota(at[0].begin(), at[0].end(), Index(0));
    for (Index distance = classes - 1; distance > 0; --distance) {
      for (Index a = 0; a + distance < classes; ++a) {
        if (at[a].empty()) continue;
        const double* f = block.column(pair_number(a, a + distance, classes));
        for (Index i : at[a]) next[f[i] > 0 ? a : a + 1].push_back(i);
        at[a].clear();
      }
      std::swap(at, next);
    }
    for (Index a = 0; a < classes; ++a)
      for (Index i : at[a]) out[from + i] = a;
  });
}

#define POLYMARGIN_INSTANTIATE(T)                                                            \
  template void code_scores<T>(const Data&, const CodeModel&, double*, Team&);               \
  template void pair_votes<T>(const Data&, const CodeModel&, Index, double, double*, Team&); \
  template void dag_winners<T>(const Data&, const CodeModel&, Index, Index*, Team&);
POLYMARGIN_INSTANTIATE(float)
POLYMARGIN_INSTANTIATE(double)
#undef POLYMARGIN_INSTANTIATE

}  // namespace polymargin
