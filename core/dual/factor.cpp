#include "dual/factor.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "simd/steps.hpp"

namespace polymargin {

namespace {
// An eighth more. Columns a power of two apart would share their places in the cache.
Index room_for(Index size) { return std::max<Index>(size + size / 8, 64) + 8; }
}  // namespace

void Factor::begin(bool has_sum, double jitter, Index size) {
  if (Index(has_sum) != n_sums_ || capacity_ < std::max<Index>(size, 1)) {
    n_sums_ = has_sum;
    capacity_ = std::max(capacity_, room_for(size));
    stride_ = capacity_ + n_sums_;
    memory_ = pages<double>(static_cast<std::size_t>(capacity_ * stride_));
  }
  n_ = 0, jitter_ = jitter;
}

void Factor::grow(Index least) {
  const Index capacity = room_for(least), stride = capacity + n_sums_;
  Pages<double> memory = pages<double>(static_cast<std::size_t>(capacity * stride));
  for (Index k = 0; k < n_; ++k) {
    std::copy(column(k) + k, column(k) + n_, memory.get() + k * stride + k);
    std::copy_n(column(k) + capacity_, n_sums_, memory.get() + k * stride + capacity);
  }
  memory_.swap(memory);
  capacity_ = capacity, stride_ = stride;
}

// Some columns at a time, over so many rows that these stay in cache for all x.
void Factor::forward(double* x, Index count, Index ld) const {
  constexpr Index panel = 8, tile = 512;
  const Steps<double>& pass = steps<double>();
  const double* L[panel];
  std::vector<double> c(static_cast<std::size_t>(count * panel));
  for (Index k = 0; k < n_; k += panel) {
    const Index width = std::min(panel, n_ - k);
    for (Index a = 0; a < width; ++a) L[a] = column(k + a);
    for (Index v = 0; v < count; ++v) {
      double* y = x + v * ld;
      for (Index a = 0; a < width; ++a) {
        y[k + a] /= L[a][k + a];
        c[v * width + a] = -y[k + a];
        for (Index b = a + 1; b < width; ++b) y[k + b] -= y[k + a] * L[a][k + b];
      }
    }
    for (Index from = k + width; from < n_; from += tile) {
      const Index to = std::min(from + tile, n_);
      Index v = 0;
      for (; v + 4 <= count; v += 4) pass.add_rows_to_four(L, c.data() + v * width, width, from, to, x + v * ld, ld);
      for (; v < count; ++v) pass.add_rows(L, c.data() + v * width, width, from, to, x + v * ld);
    }
  }
}

void Factor::backward(double* x) const {
  const Steps<double>& pass = steps<double>();
  for (Index k = n_ - 1; k >= 0; --k) x[k] = (x[k] - pass.dot(column(k) + k + 1, x + k + 1, n_ - k - 1)) / column(k)[k];
}

Index Factor::append(double* rows, Index count, Index ld) {
  const Steps<double>& pass = steps<double>();
  const Index n = n_;
  if (n + count > capacity_) grow(n + count);
  forward(rows, count, ld);
  Index done = 0;
  for (; done < count; ++done) {
    double* x = rows + done * ld;
    for (Index a = 0; a < done; ++a) {
      const double* y = rows + a * ld;
      x[n + a] = (x[n + a] - pass.dot(x, y, n + a)) / y[n + a];
    }
    const double pivot = x[n_] + jitter_ - pass.dot(x, x, n_);
    if (!(pivot >= 0.5 * jitter_)) break;
    x[n_] = std::sqrt(pivot);
    if (n_sums_) {
      double w = 1;
      for (Index k = 0; k < n_; ++k) w -= x[k] * ones(k);
      column(n_)[capacity_] = w / x[n_];
    }
    ++n_;
  }
  for (Index k = 0; k < n_; ++k)
    for (Index v = std::max<Index>(k - n, 0); v < done; ++v) column(k)[n + v] = rows[v * ld + k];
  return done;
}

void Factor::add_row(Index k, double c, double* y) const {
  for (Index j = 0; j <= k; ++j) y[j] += c * column(j)[k];
}

// The rows below move up; for each that has left, rotations of neighboring columns make the rest triangular again, from
// the last one on. Those of the next follow a column behind, so that a column is in cache for all of them.
void Factor::remove(const std::vector<Index>& list, double* y) {
  const Steps<double>& pass = steps<double>();
  const Index count = static_cast<Index>(list.size()), rows = n_ - count;
  for (Index k = 0, before = 0; k < n_; ++k) {
    while (before < count && list[before] < k) ++before;
    double* x = column(k);
    Index from = k, to = k - before;
    for (Index b = before; b <= count; ++b) {
      const Index end = b < count ? list[b] : n_;
      std::copy(x + from, x + end, x + to);
      to += end - from, from = end + 1;
    }
  }
  for (Index front = list[0] + count - 1; front + 1 < n_; ++front)
    for (Index t = 0; t < count; ++t) {
      const Index k = front - t, row = k + 1 - (count - t);
      if (k < list[count - 1 - t]) continue;
      double *a = column(k), *b = column(k + 1);
      const double h = std::sqrt(a[row] * a[row] + b[row] * b[row]), c = a[row] / h, s = b[row] / h;
      pass.rotate(a + row, b + row, c, s, a + row, rows - row);
      pass.rotate(a + capacity_, b + capacity_, c, s, a + capacity_, n_sums_);
      const double above = y[k], below = y[k + 1];
      y[k] = c * above + s * below, y[k + 1] = c * below - s * above;
    }
  n_ = rows;
}

}  // namespace polymargin
