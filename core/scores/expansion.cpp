#include "scores/expansion.hpp"

#include <algorithm>
#include <limits>
#include <vector>

namespace polymargin {
namespace {

constexpr Index kLanes = 256;   // test rows of a task
constexpr Index kChunk = 256;   // support vectors of a tile, and terms of a sum in T
constexpr Index kClasses = 32;  // classes whose scores wait to be written together

// For the test rows from..to: emit(c, f) for every class in turn, f[l] = sum_j alpha_j k(x_j, z_l), l < lanes of padded
// length. Chunks of support vectors begin at the same places for all test rows, so a score does not depend on its
// neighbors.
template <class T, class Emit>
void each_class(const Expansion& e, const ScoredRows<T>& Z, Index from, Index to, T* tile, const Emit& emit) {
  const TileOps<T>& ops = tile_ops<T>();
  const Index lanes = (to - from + ops.lanes - 1) / ops.lanes * ops.lanes, total = e.sv_rows.size;
  const bool dense = e.segments.size == 0;  // then all classes from one tile while it is in cache
  std::vector<T> alpha(kChunk * (dense ? e.classes() : 1));
  std::vector<double> f(lanes * (dense ? e.classes() : 1), 0);
  for (Index first = 0; dense && first < total; first += kChunk) {
    const Index last = std::min(first + kChunk, total), n = last - first;
    Z.values(first, last, from, to, tile, kLanes);
    for (Index c = 0; c < e.classes(); ++c)
      for (Index i = 0; i < n; ++i) alpha[c * n + i] = static_cast<T>(e.alpha[c * total + first + i]);
    ops.scores({tile, kLanes, n, lanes}, alpha.data(), e.classes(), f.data(), lanes);
  }
  for (Index c = 0, j = 0; c < e.classes(); ++c) {
    if (!dense) std::fill(f.begin(), f.end(), 0);
    while (!dense && j < e.segments[c + 1]) {
      const Index first = j / kChunk * kChunk, last = std::min(first + kChunk, total);
      if (j == first) {
        Z.values(first, last, from, to, tile, kLanes);
        for (Index i = first; i < last; ++i) alpha[i - first] = static_cast<T>(e.alpha[i]);
      }
      const Index end = std::min(last, e.segments[c + 1]), at = j - first;
      ops.scores({tile + at * kLanes, kLanes, end - j, lanes}, alpha.data() + at, 1, f.data(), lanes);
      j = end;
    }
    emit(c, f.data() + (dense ? c * lanes : 0), lanes);
  }
}

// task(from, to, each) over all test rows, where each(emit) is `each_class` for them.
template <class T, class Task>
void over_rows(const Data& Z, const Expansion& e, Team& team, const Task& task) {
  const ScoredRows<T> rows(Z, e);
  // Fewer rows than threads * kLanes: smaller tasks, so that all threads have one.
  const Index even = (Z.n + team.size() - 1) / team.size();
  const Index size = std::min(kLanes, std::max<Index>(32, (even + 31) / 32 * 32));
  const double work = double(Z.n) * double(e.sv_rows.size + 1) * double(Z.d + 16);
  rows.share(size, kChunk * kLanes, work, team, [&](T* tile, Index from, Index to) {
    task(from, to, [&](const auto& emit) { each_class<T>(e, rows, from, to, tile, emit); });
  });
}

}  // namespace

template <class T>
void scores(const Data& Z, const Expansion& e, double* out, Team& team) {
  const Index classes = e.classes();
  over_rows<T>(Z, e, team, [&](Index from, Index to, const auto& each) {
    std::vector<double> waiting(kClasses * kLanes);  // class by class, written row by row
    each([&](Index c, const double* f, Index lanes) {
      std::copy(f, f + lanes, waiting.data() + c % kClasses * kLanes);
      if (c % kClasses != kClasses - 1 && c != classes - 1) return;
      const Index first = c / kClasses * kClasses;
      for (Index i = from; i < to; ++i)
        for (Index k = first; k <= c; ++k)
          out[i * classes + k] = waiting[(k - first) * kLanes + i - from] + e.intercept[k];
    });
  });
}

template <class T>
void argmax_scores(const Data& Z, const Expansion& e, Index* out, Team& team) {
  over_rows<T>(Z, e, team, [&](Index from, Index to, const auto& each) {
    std::vector<double> best(kLanes, -std::numeric_limits<double>::infinity());
    std::vector<Index> labels(kLanes, 0);
    each([&](Index c, const double* f, Index lanes) {
      tile_ops<T>().improve(f, e.intercept[c], lanes, c, best.data(), labels.data());
    });
    std::copy(labels.begin(), labels.begin() + (to - from), out + from);
  });
}

template <class T>
void own_scores(const Data& Z, const Expansion& e, Span<const Index> labels, double same, double other, double* out,
                Team& team) {
  over_rows<T>(Z, e, team, [&](Index from, Index to, const auto& each) {
    std::vector<double> own(kLanes, 0), all(kLanes, 0);
    each([&](Index c, const double* f, Index) {
      for (Index l = 0; l < to - from; ++l) {
        const double score = f[l] + e.intercept[c];
        all[l] += score;
        own[l] = labels[from + l] == c ? score : own[l];
      }
    });
    for (Index l = 0; l < to - from; ++l) out[from + l] = other * all[l] + (same - other) * own[l];
  });
}

#define POLYMARGIN_INSTANTIATE(T)                                               \
  template void scores<T>(const Data&, const Expansion&, double*, Team&);       \
  template void argmax_scores<T>(const Data&, const Expansion&, Index*, Team&); \
  template void own_scores<T>(const Data&, const Expansion&, Span<const Index>, double, double, double*, Team&);
POLYMARGIN_INSTANTIATE(float)
POLYMARGIN_INSTANTIATE(double)
#undef POLYMARGIN_INSTANTIATE

}  // namespace polymargin
