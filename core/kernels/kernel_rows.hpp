// Blocks of the kernel matrix K[i,j] = k(A_i, B_j) + offset: rows of one Data (training) or of two (prediction).
//
// The value of a pair depends on the two rows and the instruction set only: not on the block, the tile, the order of
// the two rows or the number of threads, bit for bit. Every sum over features runs in the order of the features, in T.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/data.hpp"
#include "base/kernel.hpp"
#include "base/team.hpp"
#include "simd/tile.hpp"

namespace polymargin {

template <class T>  // float or double: the type of the arithmetic and of the values
class KernelBlocks {
 public:
  // precomputed: A is the matrix itself and B is not read.
  KernelBlocks(const Data& A, const Data& B, const Kernel& kernel);

  // out[r * ld + c] = k(A[rows[r]], B[cols[c]]) + offset. Serial and thread safe, any size from 1 x 1 up.
  void block(Span<const Index> rows, Span<const Index> cols, T* out, Index ld) const;
  // The same by all of a team. Callables always run serially.
  void block(Span<const Index> rows, Span<const Index> cols, T* out, Index ld, Team& team) const;
  // Columns that many small blocks will need: packed once, if that takes at most this many bytes.
  struct Columns {
    std::vector<Index> list;
    std::vector<T> panels, norms;
  };
  Columns columns(std::vector<Index> list, double bytes) const;
  bool packs() const;
  void block(Span<const Index> rows, const Columns& cols, T* out, Index ld, Team& team) const;
  // out[i * ld + j] = k(A[rows[i]], A[rows[j]]) + offset for A = B: half is computed, half is mirrored. `stop` is
  // polled by every thread before each of its tasks; once it is true the rest is skipped.
  void gram(Span<const Index> rows, T* out, Index ld, Team& team, const std::function<bool()>& stop = {}) const;
  // out[r] = k(A[rows[r]], A[rows[r]]) + offset, bitwise the value that `block` gives.
  void diagonal(Span<const Index> rows, double* out) const;
  // sum_k gamma_k (a_k - b_k)^2 of row i of A and row j of B in float64: exact where norms would cancel.
  double exponent(Index i, Index j) const;
  // Columns that are computed together: blocks with as many, or a multiple, waste nothing.
  Index width() const;
  // The same for rows.
  Index height() const { return ops_.rows; }
  // Multiply-adds per value, approximately.
  double cost() const {
    if (kernel_.kind == KernelKind::precomputed) return 1;
    if (!A_.sparse() || A_.n == 0) return 20 + static_cast<double>(A_.d);
    return 20 + static_cast<double>(A_.end(A_.n - 1) - A_.begin(0)) / static_cast<double>(A_.n);
  }
  // Whether `block` must not be called from several threads at once.
  bool serial() const { return kernel_.kind == KernelKind::callable; }
  const Data& data() const { return A_; }
  const Kernel& kernel() const { return kernel_; }
  const std::vector<float>& mean() const { return mean_; }
  // Kernel values computed so far; values read from a precomputed matrix do not count.
  std::uint64_t evaluations() const { return evaluations_.load(std::memory_order_relaxed); }

 private:
  struct Scratch;
  static Scratch& scratch();

  void set_mean();
  const void* mean_of(const Data& X, Index k) const {
    if (mean_.empty()) return nullptr;
    return X.wide ? static_cast<const void*>(wide_mean_.data() + k) : mean_.data() + k;
  }
  const T* scale_of(Index k) const { return scale_.empty() ? nullptr : scale_.data() + k; }
  bool sparse() const { return A_.sparse() || B_.sparse(); }
  bool little(Index rows, Index cols) const;
  void set_columns(Span<const Index> cols, Scratch& s) const;                 // at most width()
  void compute(Span<const Index> rows, Scratch& s, T* out, Index ldo) const;  // rows against the columns set last
  void pack(Index from, Index to, Scratch& s) const;
  void dense_rows(Span<const Index> rows, Scratch& s, T* out, Index ldo) const;
  void convert(Index i, Index from, Index to, T* out) const;
  void dots(Span<const Index> rows, Index from, Index to, Scratch& s, T* tile, Index ldt) const;
  void set_sparse_columns(Scratch& s) const;
  void sparse_rows(Span<const Index> rows, Scratch& s, T* out, Index ldo) const;
  template <class F>
  void each_value(const Data& X, Index i, Scratch& s, F f) const;
  void squared_norms(Span<const Index> rows, T* out) const;
  double farthest(const T* col_norms, Index n) const;
  void recompute_far(Index i, T row_norm, const T* dots, const T* col_norms, double farthest, Span<const Index> cols,
                     T* out) const;
  T used_norm(T squared) const;
  void gather(Span<const Index> rows, Span<const Index> cols, T* out, Index ldo) const;
  void call(Span<const Index> rows, Span<const Index> cols, T* out, Index ldo) const;

  Data A_, B_;
  Kernel kernel_;
  const TileOps<T>& ops_;
  Formula<T> formula_;
  Term term_;
  bool has_norms_;
  // Of some rows of A, subtracted from all rows where only differences matter (rounding errors shrink), or where most
  // rows of A have the same value of a feature, that value. For float32 and for float64 rows, equal unless all rows are
  // float64.
  std::vector<float> mean_;
  std::vector<double> wide_mean_;
  bool few_ = false;      // many values are 0 then: products with them are left out
  std::vector<T> scale_;  // rbf: sqrt(gamma) per feature, so that the squared distance is the exponent
  T uniform_ = 1;         // the same where CSR rows meet one gamma: they may have more features than memory
  std::vector<T> norms_;  // of all rows of A: squared length (rbf) or inverse length (cosine)
  mutable std::atomic<std::uint64_t> evaluations_{0};
};

extern template class KernelBlocks<float>;
extern template class KernelBlocks<double>;

}  // namespace polymargin
