// The vector arithmetic of one tile of kernel values, as a table of functions: one table per instruction set and type.
//
// A panel holds `lanes` rows of data feature by feature, panel[k * lanes + l]: its vectors run over rows, so the sum
// over features is sequential in every lane. The other side of a tile is plain rows, whose values are broadcast.
//
// Why not BLAS: its sums depend on the shape of the block, so that K would not be symmetric and a score would change
// with the batch, and it is no faster. Blocks of 512 x 256 values on one AVX2 core (Zen 3), packing included, GFLOP/s
// here / OpenBLAS's gemm:
//
//   features      5      10      36      60     180     784    2000
//   float32   36/38   52/55   77/80   85/86   95/93   95/89   84/86
//   float64   23/23   30/28   40/40   43/42   44/46   41/43   34/37
//
// An RBF value takes 0.3 ns (float32) or 1.0 ns (float64) more than its dot.
#pragma once
#include <cstdint>

#include "base/data.hpp"
#include "base/kernel.hpp"

namespace polymargin {

// The parameters of a kernel in the type of the arithmetic. rbf: gamma is in the scale of the packed rows already.
template <class T>
struct Formula {
  KernelKind kind;
  T gamma, coef0, offset;
  int degree;
};

// What is summed over the features: a b, |a - b|, or -(a - b)^2 / 2. The last one stands in for the dot of two rows of
// norm 0: it makes the same RBF value, without the cancellation of norms that are much larger than the distance.
enum class Term { product, distance, square };

// A row as a list of its values that are not 0.
constexpr Index kFewRows = 256;
template <class T>
struct Few {
  const std::int32_t* feature;
  const T* value;
  Index n;
};

// Kernel values of m rows of one side and n of the other, K[l, i] at values[l * stride + i].
template <class T>
struct KernelTile {
  const T* values;
  Index stride, m, n;
};

template <class T>
struct TileOps {
  int lanes;         // rows in a panel
  int sparse_lanes;  // rows in a panel of sparse data
  int rows;          // rows that `dots` takes at once

  // One row of d values (float64 if wide), converted to T: (x - mean) * scale; mean, of x's type, and scale may be
  // null.
  void (*convert)(bool wide, const void* x, Index d, const void* mean, const T* scale, T* out);
  // The features of x whose values are not 0, in order, and how many; both lists need room for d and a vector.
  Index (*few)(const T* x, Index d, std::int32_t* feature, T* value);
  // `lanes` such rows to a panel. A short panel repeats a row.
  void (*pack)(bool wide, const void* const* x, Index d, const void* mean, const T* scale, T* panel);
  // norms[l] (+)= sum_k panel[k, l]^2, the same operations as the dot of a row with itself.
  void (*norms)(const T* panel, Index d, bool add, T* norms);
  // sum_k x[k]^2, again the same operations.
  T (*norm)(const T* x, Index n);
  // tile[r, c] (+)= the sum of terms of row r of a and row c of b; m <= rows.
  // b is `panels` panels of d * lanes values.
  void (*dots)(Term term, const T* a, Index lda, int m, const T* b, int panels, Index d, bool add, T* tile, Index ldt);
  // The same for products and m <= kFewRows rows that are lists: bitwise what `dots` gives, without terms that are 0.
  void (*few_dots)(const Few<T>* rows, Index m, const T* b, int panels, Index d, bool add, T* tile, Index ldt);
  // One row of n values and a panel of sparse_lanes: out[c] = sum_p value[p] panel[slot[p], c], or the sum of
  // |value[p] - panel[slot[p], c]|.
  void (*sparse_dots)(Term term, const std::int32_t* slot, const T* value, Index n, const T* panel, T* out);
  // out[r, c] = k from the dots (or l1 distances) in tile and the norms of both sides; only tile and col_norms are
  // padded to whole panels.
  void (*finish)(const Formula<T>& f, const T* tile, Index ldt, Index m, Index n, const T* row_norms,
                 const T* col_norms, T* out, Index ldo);
  // out[c, r] = tile[r, c]
  void (*transpose)(const T* tile, Index ldt, Index m, Index n, T* out, Index ldo);
  // f[c, i] += sum_l U[c, l] K[l, i], sums of some terms in T; f has a line of `ld` numbers per class, and n is a whole
  // number of vectors.
  void (*scores)(const KernelTile<T>& K, const T* U, Index classes, double* f, Index ld);
  // The same for one class and the lines at[0], at[1], ..., at[m - 1] of K.
  void (*gathered_scores)(const KernelTile<T>& K, const Index* at, const double* u, double* f);
  // Where f[c] + b > best[c]: best and label become this class's.
  void (*improve)(const double* f, double b, Index n, Index label, double* best, Index* labels);
};

// The table of the instruction set in use.
template <class T>
const TileOps<T>& tile_ops();

}  // namespace polymargin
