// The vector passes over a tile of kernel values K, landmarks x rows, of landmark_pass.hpp, besides its scores
// (tile.hpp): one table of functions per instruction set and type of K. f, a and D have a line of `ld` numbers per
// class.
//
// `n` rows are a multiple of kRowsAtOnce: those that fill up have strength 0.
#pragma once
#include "base/margin_loss.hpp"
#include "simd/tile.hpp"

namespace polymargin {

constexpr Index kRowsAtOnce = 16;

// Rows of a tile: classes, as numbers that vectors compare, and C weight. `s` makes their losses smooth.
struct TileRows {
  const double *label, *strength;
  Index n;
  double s;
};

// Sums over rows: the true losses, the smooth ones, and sum_c t_c a_c - r/2 |a|^2.
struct LossSums {
  double loss = 0, smooth = 0, linear = 0;
};

template <class T>
struct LandmarkSteps {
  // f becomes a, with the sign of its margin: a_c for the own class and -a_c for others; D is V'a, and g[c] += sum_i
  // D[c, i].
  LossSums (*slopes)(const MarginLoss& loss, const TileRows& rows, double* f, Index ld, T* D, double* g,
                     float* curvature);
  // G[c, l] += sum_i D[c, i] K[l, i], sums in T over the tile.
  void (*project)(const KernelTile<T>& K, const T* D, Index ld, Index classes, double* G);
};

template <class T>
const LandmarkSteps<T>& landmark_steps();

}  // namespace polymargin
