// A Cholesky factor that is kept up to date as variables come and go.
#pragma once
#include <vector>

#include "base/data.hpp"
#include "base/pages.hpp"

namespace polymargin {

// L L' = the matrix of the free variables and, with a sum, w = L^-1 1, as columns of one array.
class Factor {
 public:
  // With room for `size` variables; more are possible.
  void begin(bool has_sum, double jitter, Index size);
  Index size() const { return n_; }
  // Variables with these values toward the ones that are there, toward each other and with themselves, a row of them
  // every ld; the rows are changed. Returns how many came in before the matrix was not positive.
  Index append(double* rows, Index count, Index ld);
  // Those at these positions, in increasing order; of y = L^-1 x as well, with theirs of x.
  void remove(const std::vector<Index>& list, double* y);
  void cut(Index size) { n_ = size; }  // only the first ones stay
  // x = L^-1 x for several x, one every ld, and x = L^-T x
  void forward(double* x, Index count = 1, Index ld = 0) const;
  void backward(double* x) const;
  void add_row(Index k, double c, double* y) const;            // y += c times row k of L
  double ones(Index k) const { return column(k)[capacity_]; }  // w
  double pivot(Index k) const { return column(k)[k] * column(k)[k]; }
  double jitter() const { return jitter_; }

 private:
  double* column(Index k) { return memory_.get() + k * stride_; }
  const double* column(Index k) const { return memory_.get() + k * stride_; }
  void grow(Index least);

  Index n_ = 0, capacity_ = 0, n_sums_ = 0, stride_ = 0;
  double jitter_ = 0;
  Pages<double> memory_;  // column k: L[., k], written from row k on, then w[k]
};

}  // namespace polymargin
