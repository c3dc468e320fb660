#include "column_smo.hpp"

#include <algorithm>
#include <cmath>

namespace polymargin {

namespace {
constexpr double kTiny = 1e-12;  // curvature of a flat or indefinite direction
}

template <class T>
void ColumnSmo<T>::begin(const CodeProblem& p, const HeldGram<T>& K, Index column, Span<const Index> at,
                         Span<const double> b, const double* outside) {
  p_ = &p, K_ = K;
  parts_.clear();
  for (Index c = 0; c < p.classes(); ++c) {
    const Index from = p.segments[c], to = p.segments[c + 1];
    if (p.sign(c, column) == 0 || from == to) continue;
    if (!parts_.empty() && parts_.back().row + parts_.back().size == from)
      parts_.back().size += to - from;
    else
      parts_.push_back({from, to - from, 0, 0});
  }
  Index m = 0;
  for (Part& part : parts_) {
    part.at = m, part.padded = (part.size + kLanes - 1) / kLanes * kLanes;
    m += part.padded;
  }
  row_.assign(m, -1);
  G_.assign(m, T(0));
  up_.assign(m, T(kBlocked));
  down_.assign(m, T(kBlocked));
  diagonal_.assign(m, T(1));
  b_.assign(m, 0), low_.assign(m, 0), high_.assign(m, 0), fixed_.assign(m, 0);
  std::size_t part = 0;
  for (Index c = 0; c < p.classes(); ++c) {
    const int y = p.sign(c, column);
    if (y == 0) continue;
    for (Index i = p.segments[c]; i < p.segments[c + 1]; ++i) {
      while (i >= parts_[part].row + parts_[part].size) ++part;
      const Index k = parts_[part].at + i - parts_[part].row;
      row_[k] = i;
      diagonal_[k] = static_cast<T>(K.diagonal[i] + p.ridge[i]);
      (y > 0 ? high_ : low_)[k] = y * p.upper[i];
      fixed_[k] = (outside ? outside[i] : 0) - y;
    }
  }
  // The start, clipped; then the heavier side is scaled down until the sum is zero.
  double side[2] = {0, 0};
  if (at.size > 0) {
    Index s = 0;
    for (Index k = 0; k < m; ++k) {
      if (row_[k] < 0) continue;
      while (s < at.size && at[s] < row_[k]) ++s;
      if (s == at.size || at[s] != row_[k]) continue;
      b_[k] = std::min(std::max(b[s], low_[k]), high_[k]);
      side[b_[k] > 0] += b_[k];
    }
    const double sum = side[0] + side[1];
    const bool heavy = sum > 0;
    const double scale = side[heavy] == 0 ? 1 : -side[!heavy] / side[heavy];
    if (sum != 0)
      for (Index k = 0; k < m; ++k)
        if (b_[k] != 0 && (b_[k] > 0) == heavy) b_[k] *= scale;
  }
  for (Index k = 0; k < m; ++k)
    if (row_[k] >= 0) set(k);
  n_iter_ = 0, idle_ = 0;
  next_check_ = check_every();
  status_ = Status::interrupted;
  refresh();
  best_ = objective(), closest_ = violation();
}

// The gradient in float64, from its definition.
template <class T>
void ColumnSmo<T>::refresh() {
  const Index m = static_cast<Index>(b_.size());
  exact_gradient_ = fixed_;
  std::vector<const T*> rows, shifted;
  std::vector<double> coef;
  for (Index k = 0; k < m; ++k)
    if (b_[k] != 0) {
      rows.push_back(K_.row(row_[k]));
      coef.push_back(b_[k]);
      exact_gradient_[k] += p_->ridge[row_[k]] * b_[k];
    }
  constexpr Index tile = 2048;
  for (const Part& part : parts_)
    for (Index from = 0; from < part.size; from += tile) {
      shifted = rows;
      for (const T*& r : shifted) r += part.row + from;
      steps<T>().add_rows(shifted.data(), coef.data(), static_cast<Index>(rows.size()), 0,
                          std::min(tile, part.size - from), exact_gradient_.data() + part.at + from);
    }
  for (Index k = 0; k < m; ++k) G_[k] = static_cast<T>(exact_gradient_[k]);
  exact_ = true;
  look();
}

template <class T>
void ColumnSmo<T>::look() {
  range_ = Range();
  for (Index k = 0; k < static_cast<Index>(b_.size()); ++k) {
    if (up_[k] == 0 && G_[k] < range_.low) range_.low = G_[k], range_.lowest = k;
    if (down_[k] == 0 && G_[k] > range_.high) range_.high = G_[k];
  }
}

// Now and then: whether neither the objective nor the violation fell for long.
template <class T>
bool ColumnSmo<T>::stuck() {
  if (n_iter_ < next_check_) return false;
  next_check_ = n_iter_ + check_every();
  refresh();
  const double now = objective();
  const bool progress = now < best_ - 1e-13 * std::abs(best_) || violation() < 0.99 * closest_;
  idle_ = progress ? 0 : idle_ + 1;
  best_ = std::min(best_, now), closest_ = std::min(closest_, violation());
  return idle_ >= kIdle;
}

template <class T>
double ColumnSmo<T>::objective() const {
  double sum = 0;
  for (std::size_t k = 0; k < b_.size(); ++k) sum += 0.5 * b_[k] * (exact_gradient_[k] + fixed_[k]);
  return sum;
}

template <class T>
void ColumnSmo<T>::step() {
  const Steps<T>& pass = steps<T>();
  const Index i = range_.lowest;
  const T gi = G_[i];
  const T* Ki = K_.row(row_[i]);
  Pick best;
  for (const Part& part : parts_) {
    const Index at = part.at;
    Pick pick = pass.group_second(G_.data() + at, Ki + part.row, gi, diagonal_[i], down_.data() + at,
                                  diagonal_.data() + at, 0, part.padded);
    if (pick.at >= 0 && pick.key > best.key) best = pick, best.at += at;
  }
  const Index j = best.at;
  const double quad = std::max(double(diagonal_[i]) + double(diagonal_[j]) - 2.0 * double(Ki[row_[j]]), kTiny);
  const double rise = high_[i] - b_[i], fall = b_[j] - low_[j];
  const double t = std::min({(double(G_[j]) - double(gi)) / quad, rise, fall});
  b_[i] = t == rise ? high_[i] : b_[i] + t;
  b_[j] = t == fall ? low_[j] : b_[j] - t;
  set(i), set(j);
  G_[i] += static_cast<T>(p_->ridge[row_[i]] * t);
  G_[j] -= static_cast<T>(p_->ridge[row_[j]] * t);
  const T* Kj = K_.row(row_[j]);
  range_ = Range();
  for (const Part& part : parts_) {
    const Index at = part.at;
    Range r = pass.pair_step(G_.data() + at, Ki + part.row, Kj + part.row, static_cast<T>(t), up_.data() + at,
                             down_.data() + at, part.padded);
    if (r.low < range_.low) range_.low = r.low, range_.lowest = r.lowest + at;
    range_.high = std::max(range_.high, r.high);
  }
  ++n_iter_;
  exact_ = false;
}

template <class T>
ColumnSolution ColumnSmo<T>::solution() {
  if (!exact_) refresh();
  ColumnSolution out;
  out.status = status_;
  out.n_iter = n_iter_;
  double sum = 0, low = kBlocked, high = -kBlocked;
  Index n_free = 0;
  const Index m = static_cast<Index>(b_.size());
  for (Index k = 0; k < m; ++k) {
    if (row_[k] < 0) continue;
    const double g = exact_gradient_[k];
    const bool grow = up_[k] == 0, fall = down_[k] == 0;
    if (grow && fall) sum += g, ++n_free;
    if (grow) low = std::min(low, g);
    if (fall) high = std::max(high, g);
    if (b_[k] != 0) out.at.push_back(row_[k]), out.b.push_back(b_[k]);
  }
  out.violation = std::max(high - low, 0.0);
  out.bias = n_free              ? -sum / double(n_free)
             : low >= kBlocked   ? (high <= -kBlocked ? 0 : -high)
             : high <= -kBlocked ? -low
                                 : -0.5 * (low + high);
  for (Index k = 0; k < m; ++k) {
    if (row_[k] < 0) continue;
    const double r = p_->ridge[row_[k]], u = p_->upper[row_[k]], g = exact_gradient_[k], b = b_[k];
    const int y = high_[k] > 0 ? 1 : -1;
    const double slack = std::max(y * (r * b - g - out.bias), 0.0);  // 1 - y f
    out.dual += 0.5 * b * (y - g);
    out.primal += 0.5 * b * (y + g - r * b) + (u == 0 ? 0 : r > 0 ? 0.5 * slack * slack / r : u * slack);
  }
  return out;
}

template class ColumnSmo<float>;
template class ColumnSmo<double>;

}  // namespace polymargin
