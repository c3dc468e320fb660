// A symmetric matrix of kernel values, one half of it, in square tiles: products need every value once. Rows may be
// added. Tiles that memory has no room for are computed in each product: a value is then two or three times as dear.
#pragma once
#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "base/pages.hpp"
#include "base/team.hpp"
#include "simd/steps.hpp"

namespace polymargin {

template <class T>
class PackedGram {
 public:
  static constexpr Index kTile = 256;
  // values(rows, cols, out, ld) for positions in some list of the caller's; called from several threads.
  using Values = std::function<void(Index row, Index n_rows, Index col, Index n_cols, T* out, Index ld)>;

  static double bytes(Index n) {
    const double tiles = double((n + kTile - 1) / kTile);
    return 0.5 * tiles * (tiles + 1) * double(kTile * kTile) * sizeof(T);
  }

  // At most `room` bytes are held.
  PackedGram(Values values, double room, Team& team) : values_(std::move(values)), room_(room), team_(team) {}

  // The first n rows and columns. Whether it was done, else nothing has changed: `stop` is asked every few tiles.
  bool grow(Index n, const std::function<bool()>& stop) {
    constexpr Index few = 64;
    const Index first = first_tile(n_ / kTile), last = first_tile((n + kTile - 1) / kTile);
    const Index before = std::exchange(n_, n);
    for (Index i = static_cast<Index>(tiles_.size()); i * kTile < n; ++i)
      tiles_.push_back(bytes((i + 1) * kTile) <= room_ ? pages<T>(static_cast<std::size_t>((i + 1) * kTile * kTile))
                                                       : Pages<T>());
    for (Index from = first; from < last; from += few) {
      if (stop()) {
        n_ = before;
        return false;
      }
      team_.run(std::min(few, last - from), [&](Index k) { fill(from + k); });
    }
    return true;
  }

  // y = A x, with sums over a tile in T; `exact`: in double. They do not depend on the number of threads.
  void product(const double* x, double* y, bool exact) {
    const Index n_tiles = first_tile((n_ + kTile - 1) / kTile);
    sums_.assign(static_cast<std::size_t>(kParts * n_), 0.0);
    const std::vector<T> narrow(x, x + n_);
    team_.run(kParts, [&](Index part) {
      double* sum = sums_.data() + part * n_;
      std::vector<T> spare;
      for (Index t = part * n_tiles / kParts; t < (part + 1) * n_tiles / kParts; ++t)
        exact ? add_exactly(t, x, sum, spare) : add(t, narrow.data(), sum, spare);
    });
    std::copy(sums_.begin(), sums_.begin() + n_, y);
    for (Index part = 1; part < kParts; ++part) steps<double>().axpy(1, sums_.data() + part * n_, y, n_);
  }

 private:
  static constexpr Index kParts = 16;

  // Tiles are numbered row by row of the lower half.
  static Index first_tile(Index i) { return i * (i + 1) / 2; }
  static std::pair<Index, Index> place(Index t) {
    Index i = static_cast<Index>((std::sqrt(8.0 * double(t) + 1) - 1) / 2);
    while (first_tile(i + 1) <= t) ++i;
    while (first_tile(i) > t) --i;
    return {i, t - first_tile(i)};
  }
  Index height(Index i) const { return std::min(kTile, n_ - i * kTile); }
  T* held(Index i, Index j) { return tiles_[i].get() + j * kTile * kTile; }
  void compute(Index i, Index j, T* out) { values_(i * kTile, height(i), j * kTile, height(j), out, kTile); }
  void fill(Index t) {
    const auto [i, j] = place(t);
    if (tiles_[i]) compute(i, j, held(i, j));
  }
  const T* tile(Index i, Index j, std::vector<T>& spare) {
    if (tiles_[i]) return held(i, j);
    spare.resize(kTile * kTile);
    compute(i, j, spare.data());
    return spare.data();
  }

  void add(Index t, const T* x, double* sum, std::vector<T>& spare) {
    const auto [i, j] = place(t);
    double none[kTile] = {};
    T down[kTile] = {};
    steps<T>().both_ways(tile(i, j, spare), kTile, height(i), height(j), x + i * kTile, x + j * kTile,
                         i == j ? none : sum + i * kTile, down);
    for (Index k = 0; k < height(j); ++k) sum[j * kTile + k] += down[k];
  }
  void add_exactly(Index t, const double* x, double* sum, std::vector<T>& spare) {
    const auto [i, j] = place(t);
    const T* values = tile(i, j, spare);
    steps<T>().add_dots(values, kTile, height(i), height(j), x + j * kTile, sum + i * kTile);
    if (i == j) return;
    const T* rows[kTile];
    for (Index r = 0; r < height(i); ++r) rows[r] = values + r * kTile;
    steps<T>().add_rows(rows, x + i * kTile, height(i), 0, height(j), sum + j * kTile);
  }

  Values values_;
  const double room_;
  Team& team_;
  Index n_ = 0;
  std::vector<Pages<T>> tiles_;  // of each row of tiles; null: not held
  std::vector<double> sums_;
};

}  // namespace polymargin
