#include "scores/expansion.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "kernels/kernel_rows.hpp"
#include "simd/tile.hpp"

namespace polymargin {
namespace {

constexpr Index kLanes = 256;   // test rows of a task
constexpr Index kChunk = 256;   // support vectors of a tile, and terms of a sum in T
constexpr Index kClasses = 32;  // classes whose scores wait to be written together

// The model and the test rows, as both functions below see them.
struct Expansion {
  const Data& Z;
  const Kernel& kernel;
  Span<const Index> sv_rows, segments;
  Span<const double> alpha, intercept;

  Index classes() const { return intercept.size; }
  bool dense() const { return segments.size == 0; }
};

// Kernel values of the support vectors first..last (a chunk) and these test rows, one row of kLanes values each.
template <class T>
class Tiles {
 public:
  Tiles(const Expansion& e, const KernelBlocks<T>& blocks, Index from, Index to, std::vector<T>& tile)
      : e_(e),
        blocks_(blocks),
        tile_(tile),
        turned_(e.kernel.kind == KernelKind::precomputed || e.kernel.kind == KernelKind::callable),
        test_(to - from),
        square_(turned_ ? kChunk * kLanes : 0) {
    std::iota(test_.begin(), test_.end(), from);
  }

  void fill(Index first, Index last) {
    const Span<const Index> some = e_.sv_rows.sub(first, last), these{test_.data(), static_cast<Index>(test_.size())};
    if (!turned_) return blocks_.block(some, these, tile_.data(), kLanes);
    blocks_.block(these, some, square_.data(), kChunk);  // rows of Z come first
    tile_ops<T>().transpose(square_.data(), kChunk, these.size, last - first, tile_.data(), kLanes);
  }

 private:
  const Expansion& e_;
  const KernelBlocks<T>& blocks_;
  std::vector<T>& tile_;
  bool turned_;
  std::vector<Index> test_;
  std::vector<T> square_;
};

// For the test rows from..to: emit(c, f) for every class in turn, f[l] = sum_j alpha_j k(x_j, z_l), l < lanes of padded
// length. Chunks of support vectors begin at the same places for all test rows, so a score does not depend on its
// neighbors.
template <class T, class Emit>
void each_class(const Expansion& e, const KernelBlocks<T>& blocks, Index from, Index to, std::vector<T>& tile,
                Emit emit) {
  const TileOps<T>& ops = tile_ops<T>();
  const Index lanes = (to - from + ops.lanes - 1) / ops.lanes * ops.lanes, total = e.sv_rows.size;
  Tiles<T> tiles(e, blocks, from, to, tile);
  std::vector<T> alpha(kChunk);
  if (e.dense()) {  // all classes from one tile while it is in cache
    std::vector<double> f(e.classes() * lanes, 0);
    for (Index first = 0; first < total; first += kChunk) {
      const Index last = std::min(first + kChunk, total);
      tiles.fill(first, last);
      for (Index c = 0; c < e.classes(); ++c) {
        const double* row = e.alpha.data + c * total;
        for (Index i = first; i < last; ++i) alpha[i - first] = static_cast<T>(row[i]);
        ops.accumulate(tile.data(), kLanes, last - first, lanes, alpha.data(), f.data() + c * lanes);
      }
    }
    for (Index c = 0; c < e.classes(); ++c) emit(c, f.data() + c * lanes, lanes);
    return;
  }
  std::vector<double> f(lanes, 0);
  Index c = 0;
  for (Index j = 0; c < e.classes(); ++c) {
    std::fill(f.begin(), f.end(), 0);
    while (j < e.segments[c + 1]) {
      const Index first = j / kChunk * kChunk, last = std::min(first + kChunk, total);
      if (j == first) {
        tiles.fill(first, last);
        for (Index i = first; i < last; ++i) alpha[i - first] = static_cast<T>(e.alpha[i]);
      }
      const Index end = std::min(last, e.segments[c + 1]);
      ops.accumulate(tile.data() + (j - first) * kLanes, kLanes, end - j, lanes, alpha.data() + (j - first), f.data());
      j = end;
    }
    emit(c, f.data(), lanes);
  }
}

// task(from, to, tile) over all test rows, by all of the team. A callable needs one thread.
template <class T, class Task>
void over_rows(const Expansion& e, Team& team, Task task) {
  const Index m = e.Z.n;
  // Fewer rows than threads * kLanes: smaller tasks, so that all threads have one.
  const Index even = (m + team.size() - 1) / team.size();
  const Index size = std::min(kLanes, std::max<Index>(32, (even + 31) / 32 * 32)), tasks = (m + size - 1) / size;
  auto one = [&](Index i) {
    std::vector<T> tile(kChunk * kLanes, 0);
    task(i * size, std::min((i + 1) * size, m), tile);
  };
  const bool alone = e.kernel.kind == KernelKind::callable || m * (e.sv_rows.size + 1) * (e.Z.d + 16) < 500000;
  if (!alone) return team.run(tasks, one);
  for (Index i = 0; i < tasks; ++i) one(i);
}

template <class T>
KernelBlocks<T> kernel_blocks(const Data& Z, const Data& SV, const Kernel& kernel) {
  const bool turned = kernel.kind == KernelKind::precomputed || kernel.kind == KernelKind::callable;
  return turned ? KernelBlocks<T>(Z, SV, kernel) : KernelBlocks<T>(SV, Z, kernel);
}

}  // namespace

template <class T>
void scores(const Data& Z, const Data& SV, const Kernel& kernel, Span<const Index> sv_rows, Span<const Index> segments,
            Span<const double> alpha, Span<const double> intercept, double* out, Team& team) {
  const Expansion e{Z, kernel, sv_rows, segments, alpha, intercept};
  const KernelBlocks<T> blocks = kernel_blocks<T>(Z, SV, kernel);
  const Index classes = e.classes();
  over_rows<T>(e, team, [&](Index from, Index to, std::vector<T>& tile) {
    std::vector<double> waiting(kClasses * kLanes);  // class by class, written row by row
    each_class<T>(e, blocks, from, to, tile, [&](Index c, const double* f, Index lanes) {
      std::copy(f, f + lanes, waiting.data() + c % kClasses * kLanes);
      if (c % kClasses != kClasses - 1 && c != classes - 1) return;
      const Index first = c / kClasses * kClasses;
      for (Index i = from; i < to; ++i)
        for (Index k = first; k <= c; ++k)
          out[i * classes + k] = waiting[(k - first) * kLanes + i - from] + intercept[k];
    });
  });
}

template <class T>
void argmax_scores(const Data& Z, const Data& SV, const Kernel& kernel, Span<const Index> sv_rows,
                   Span<const Index> segments, Span<const double> alpha, Span<const double> intercept, Index* out,
                   Team& team) {
  const Expansion e{Z, kernel, sv_rows, segments, alpha, intercept};
  const KernelBlocks<T> blocks = kernel_blocks<T>(Z, SV, kernel);
  const TileOps<T>& ops = tile_ops<T>();
  over_rows<T>(e, team, [&](Index from, Index to, std::vector<T>& tile) {
    std::vector<double> best(kLanes, -std::numeric_limits<double>::infinity());
    std::vector<Index> labels(kLanes, 0);
    each_class<T>(e, blocks, from, to, tile, [&](Index c, const double* f, Index lanes) {
      ops.improve(f, intercept[c], lanes, c, best.data(), labels.data());
    });
    std::copy(labels.begin(), labels.begin() + (to - from), out + from);
  });
}

template <class T>
void own_scores(const Data& Z, const Data& SV, const Kernel& kernel, Span<const Index> sv_rows,
                Span<const Index> segments, Span<const double> alpha, Span<const double> intercept,
                Span<const Index> labels, double same, double other, double* out, Team& team) {
  const Expansion e{Z, kernel, sv_rows, segments, alpha, intercept};
  const KernelBlocks<T> blocks = kernel_blocks<T>(Z, SV, kernel);
  over_rows<T>(e, team, [&](Index from, Index to, std::vector<T>& tile) {
    std::vector<double> own(kLanes, 0), all(kLanes, 0);
    each_class<T>(e, blocks, from, to, tile, [&](Index c, const double* f, Index) {
      const double b = intercept[c];
      for (Index l = 0; l < to - from; ++l) {
        const double score = f[l] + b;
        all[l] += score;
        own[l] = labels[from + l] == c ? score : own[l];
      }
    });
    for (Index l = 0; l < to - from; ++l) out[from + l] = other * all[l] + (same - other) * own[l];
  });
}

#define POLYMARGIN_INSTANTIATE(T)                                                                                 \
  template void scores<T>(const Data&, const Data&, const Kernel&, Span<const Index>, Span<const Index>,          \
                          Span<const double>, Span<const double>, double*, Team&);                                \
  template void argmax_scores<T>(const Data&, const Data&, const Kernel&, Span<const Index>, Span<const Index>,   \
                                 Span<const double>, Span<const double>, Index*, Team&);                          \
  template void own_scores<T>(const Data&, const Data&, const Kernel&, Span<const Index>, Span<const Index>,      \
                              Span<const double>, Span<const double>, Span<const Index>, double, double, double*, \
                              Team&);
POLYMARGIN_INSTANTIATE(float)
POLYMARGIN_INSTANTIATE(double)
#undef POLYMARGIN_INSTANTIATE

}  // namespace polymargin
