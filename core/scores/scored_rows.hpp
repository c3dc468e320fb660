// Rows to be scored against the support vectors of a model: their kernel values, and how they are shared out.
#pragma once
#include <algorithm>
#include <atomic>
#include <numeric>
#include <vector>

#include "kernels/kernel_rows.hpp"
#include "simd/tile.hpp"

namespace polymargin {

// The rows x_j = SV[sv_rows[j]]; precomputed: sv_rows are columns of the rows to be scored.
struct SupportVectors {
  const Data& SV;
  const Kernel& kernel;
  Span<const Index> sv_rows;
};

template <class T>
class ScoredRows {
 public:
  ScoredRows(const Data& Z, const SupportVectors& x)
      : n_(Z.n),
        x_(x),
        turned_(x.kernel.kind == KernelKind::precomputed || x.kernel.kind == KernelKind::callable),
        K_(turned_ ? KernelBlocks<T>(Z, x.SV, x.kernel) : KernelBlocks<T>(x.SV, Z, x.kernel)) {}

  // out[(j - first) * ld + i - from] = k(x_j, z_i) for the support vectors first..last and the rows from..to.
  void values(Index first, Index last, Index from, Index to, T* out, Index ld) const {
    std::vector<Index> rows(to - from);
    std::iota(rows.begin(), rows.end(), from);
    const Span<const Index> some = x_.sv_rows.sub(first, last), these = span(rows);
    if (!turned_) return K_.block(some, these, out, ld);
    std::vector<T> square(static_cast<std::size_t>(these.size * some.size));  // rows of Z come first
    K_.block(these, some, square.data(), some.size);
    tile_ops<T>().transpose(square.data(), some.size, these.size, some.size, out, ld);
  }

  // task(room, from, to) for `size` rows at a time, by all of the team; `room` is what one thread computes `values` in.
  // Little work is not worth threads, and a callable needs one.
  template <class Task>
  void share(Index size, std::size_t room, double work, Team& team, const Task& task) const {
    const Index tasks = (n_ + size - 1) / size;
    std::atomic<Index> next{0};
    const auto worker = [&](Index) {
      std::vector<T> values(room);
      for (Index k = next++; k < tasks; k = next++) task(values.data(), k * size, std::min((k + 1) * size, n_));
    };
    const bool alone = K_.serial() || work < kLittle;
    team.run(alone ? 1 : std::min<Index>(team.size(), tasks), worker);
  }

  const KernelBlocks<T>& kernel() const { return K_; }

 private:
  static constexpr double kLittle = 500000;  // multiply-adds

  const Index n_;
  const SupportVectors x_;
  const bool turned_;
  const KernelBlocks<T> K_;
};

}  // namespace polymargin
