// (K + rho I)^-1 of a symmetric matrix K >= 0, value by value, for products with many vectors one after the other.
//
// A Cholesky factor, its inverse and the product of that with itself are all products of rows with rows, so the tiles
// of a linear kernel (kernels/kernel_rows.hpp) compute them block by block: n^3 multiply-adds at the speed of kernel
// values.
#pragma once
#include <functional>
#include <vector>

#include "base/pages.hpp"
#include "base/team.hpp"

namespace polymargin {

// out[r * ldo + c] = sum_k A[r * lda + k] B[c * ldb + k], sums in T.
template <class T>
struct Rows {
  const T* x;
  Index n, stride;
};
template <class T>
void rows_by_rows(const Rows<T>& A, const Rows<T>& B, Index d, T* out, Index ldo, Team& team);

template <class T>
class ShiftedInverse {
 public:
  Index stride() const;  // n, padded to whole vectors
  static double bytes(double n) { return 2 * n * n * sizeof(T); }

  // Row i of K begins at K + i * ld. False where K + rho I is not positive in T, or stop() said so: asked block by
  // block.
  bool set(const T* K, Index ld, Index n, double rho, Team& team, const std::function<bool()>& stop);
  // out[v * stride() + i] = sum_j W[i, j] x[v * n + j]
  void product(const T* x, Index count, T* out, Team& team) const;

 private:
  bool factor(Index a, Index b);
  void invert(Index a, Index b, Team& team);
  bool multiply(Team& team, const std::function<bool()>& stop);

  Index n_ = 0;
  std::size_t room_ = 0;
  Pages<T> L_, U_;                // the factor and its inverse, transposed; in the end W by rows, and in panels
  std::vector<T> corner_, part_;  // inverse of a block on the diagonal of L, and products
};

extern template class ShiftedInverse<float>;
extern template class ShiftedInverse<double>;

}  // namespace polymargin
