#include "dual/landmark_model.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/row_store.hpp"
#include "simd/steps.hpp"

namespace polymargin {

namespace {
constexpr double kJitter = 1e-6;  // of the largest value on the diagonal, and more where rounding has made P indefinite
constexpr double kMostJitter = 1e-2;
constexpr Index kColumns = 2048;  // that are copied at a time
}  // namespace

template <class T>
bool LandmarkModel<T>::set(Factor& factor, const std::vector<double>& A) const {
  constexpr Index together = 32;
  std::vector<double> rows;
  factor.begin(0, jitter_, m_);
  for (Index k = 0; k < m_; k += together) {
    const Index count = std::min(together, m_ - k), ld = k + count;
    rows.clear();
    for (Index v = k; v < ld; ++v) rows.insert(rows.end(), A.begin() + v * m_, A.begin() + v * m_ + ld);
    if (factor.append(rows.data(), count, ld) < count) return false;
  }
  return true;
}

template <class T>
bool LandmarkModel<T>::begin(const std::vector<Index>& landmarks) {
  P_.resize(static_cast<std::size_t>(m_ * m_));
  double largest = 0;
  for (Index l = 0; l < m_; ++l) {
    for (Index k = 0; k < m_; ++k) P_[l * m_ + k] = row(l)[landmarks[k]];
    largest = std::max(largest, P_[l * m_ + l]);
  }
  for (jitter_ = kJitter * largest; jitter_ <= kMostJitter * largest; jitter_ *= 10)
    if (set(start_, P_)) return true;
  return false;
}

// The product of a matrix with itself is that of a linear kernel.
template <class T>
void LandmarkModel<T>::change(const std::vector<Index>& columns, const std::vector<double>& weights) {
  std::vector<double> part(static_cast<std::size_t>(m_ * m_));
  const std::vector<Index> all = everything(m_);
  Kernel linear;
  linear.kind = KernelKind::linear;
  for (double sign : {1.0, -1.0}) {
    std::vector<Index> at;
    std::vector<double> root;
    for (std::size_t k = 0; k < columns.size(); ++k)
      if (sign * weights[k] > 0) at.push_back(columns[k]), root.push_back(std::sqrt(std::abs(weights[k])));
    const Index n = static_cast<Index>(at.size());
    std::vector<double> copy(static_cast<std::size_t>(m_ * std::min(n, kColumns)));
    for (Index from = 0; from < n; from += kColumns) {
      const Index d = std::min(kColumns, n - from);
      for (Index l = 0; l < m_; ++l)
        for (Index k = 0; k < d; ++k) copy[l * d + k] = root[from + k] * row(l)[at[from + k]];
      Data data;
      data.n = m_, data.d = data.stride = d, data.x = copy.data(), data.wide = true;
      KernelBlocks<double>(data, data, linear).gram(span(all), part.data(), m_, team_);
      steps<double>().axpy(sign, part.data(), H_.data(), m_ * m_);
    }
  }
}

template <class T>
void LandmarkModel<T>::down(const double* x, Index n, double* out) const {
  constexpr Index few = 16;
  team_.parts(m_, few, [&](Index from, Index to) {
    std::fill(out + from, out + to, 0.0);
    for (Index k = 0; k < n; k += kColumns)
      steps<T>().add_dots(B_.get() + from * n_ + k, n_, to - from, std::min(kColumns, n - k), x + k, out + from);
  });
}

template <class T>
void LandmarkModel<T>::up(const double* c, Index n, double* out) const {
  std::vector<const T*> rows(m_);
  for (Index l = 0; l < m_; ++l) rows[l] = B_.get() + l * n_;
  team_.parts(n, kColumns, [&](Index from, Index to) {
    std::fill(out + from, out + to, 0.0);
    steps<T>().add_rows(rows.data(), c, m_, from, to, out);
  });
}

template <class T>
void LandmarkModel<T>::keep(const std::vector<Index>& columns) {
  for (Index l = 0; l < m_; ++l)
    for (std::size_t k = 0; k < columns.size(); ++k) row(l)[k] = row(l)[columns[k]];
}

template class LandmarkModel<float>;
template class LandmarkModel<double>;

}  // namespace polymargin
