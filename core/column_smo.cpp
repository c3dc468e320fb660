#include "column_smo.hpp"

#include <algorithm>
#include <cmath>

namespace polymargin {

namespace {
constexpr double kTiny = 1e-12;  // curvature of a flat or indefinite direction
}

template <class T>
void ColumnSmo<T>::begin() {
  const BinaryProblem<T>& p = problem;
  parts_.clear();
  Index m = 0, first = 0;
  for (Index size : p.sizes) {
    parts_.push_back({first, size, m, (size + kLanes - 1) / kLanes * kLanes});
    first += size, m += parts_.back().padded;
  }
  part_of_.assign(m, 0);
  up_.assign(m, T(kBlocked)), down_.assign(m, T(kBlocked));
  diagonal_.assign(m, T(1)), ridge_.assign(m, T(0)), G_.assign(m, T(0));
  b_.assign(m, 0), low_.assign(m, 0), high_.assign(m, 0), linear_.assign(m, 0);
  for (std::size_t q = 0; q < parts_.size(); ++q)
    for (Index r = 0; r < parts_[q].size; ++r) {
      const Index v = parts_[q].first + r, k = parts_[q].at + r;
      part_of_[k] = q;
      diagonal_[k] = static_cast<T>(p.diagonal[v] + p.ridge[v]);
      ridge_[k] = static_cast<T>(p.ridge[v]);
      (p.y[v] > 0 ? high_ : low_)[k] = p.y[v] * p.upper[v];
      linear_[k] = p.linear[v];
      b_[k] = p.b[v];
      set(k);
    }
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
  exact_gradient_ = linear_;
  std::vector<Index> used;
  std::vector<double> coef;
  for (Index k = 0; k < m; ++k)
    if (b_[k] != 0) {
      used.push_back(k), coef.push_back(b_[k]);
      const Part& part = parts_[part_of_[k]];
      exact_gradient_[k] += problem.ridge[part.first + k - part.at] * b_[k];
    }
  constexpr Index tile = 2048;
  std::vector<const T*> rows(used.size());
  for (std::size_t q = 0; q < parts_.size(); ++q)
    for (Index from = 0; from < parts_[q].size; from += tile) {
      for (std::size_t r = 0; r < used.size(); ++r) rows[r] = row(used[r], q) + from;
      steps<T>().add_rows(rows.data(), coef.data(), static_cast<Index>(rows.size()), 0,
                          std::min(tile, parts_[q].size - from), exact_gradient_.data() + parts_[q].at + from);
    }
  range_ = Range();
  for (Index k = 0; k < m; ++k) {
    G_[k] = static_cast<T>(exact_gradient_[k]);
    if (up_[k] == 0 && G_[k] < range_.low) range_.low = G_[k], range_.lowest = k;
    if (down_[k] == 0 && G_[k] > range_.high) range_.high = G_[k];
  }
  exact_ = true;
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
  for (std::size_t k = 0; k < b_.size(); ++k) sum += 0.5 * b_[k] * (exact_gradient_[k] + linear_[k]);
  return sum;
}

template <class T>
bool ColumnSmo<T>::step() {
  const Steps<T>& pass = steps<T>();
  const Index i = range_.lowest;
  if (i < 0) return false;
  const T gi = G_[i];
  Pick best;
  for (std::size_t q = 0; q < parts_.size(); ++q) {
    const Index at = parts_[q].at;
    const Pick pick = pass.pair_second(G_.data() + at, row(i, q), gi, diagonal_[i], down_.data() + at,
                                       diagonal_.data() + at, parts_[q].padded);
    if (pick.at >= 0 && pick.key > best.key) best = pick, best.at += at;
  }
  const Index j = best.at;
  if (j < 0) return false;
  const T kij = row(i, part_of_[j])[j - parts_[part_of_[j]].at];
  // The kernel's part is never negative: the ridges are left where rounding of large kernel values says otherwise.
  const double ridges = double(ridge_[i]) + double(ridge_[j]);
  const double quad = std::max({double(diagonal_[i]) + double(diagonal_[j]) - 2.0 * double(kij), ridges, kTiny});
  const double rise = high_[i] - b_[i], fall = b_[j] - low_[j];
  const double t = std::min({(double(G_[j]) - double(gi)) / quad, rise, fall});
  b_[i] = t == rise ? high_[i] : b_[i] + t;
  b_[j] = t == fall ? low_[j] : b_[j] - t;
  set(i), set(j);
  G_[i] += static_cast<T>(ridge_[i] * t);
  G_[j] -= static_cast<T>(ridge_[j] * t);
  range_ = Range();
  for (std::size_t q = 0; q < parts_.size(); ++q) {
    const Index at = parts_[q].at;
    const Range r = pass.pair_step(G_.data() + at, row(i, q), row(j, q), static_cast<T>(t), up_.data() + at,
                                   down_.data() + at, parts_[q].padded);
    if (r.low < range_.low) range_.low = r.low, range_.lowest = r.lowest + at;
    range_.high = std::max(range_.high, r.high);
  }
  ++n_iter_;
  exact_ = false;
  return true;
}

template <class T>
void ColumnSmo<T>::finish() {
  if (!exact_) refresh();
  gradient_.resize(problem.y.size());
  for (const Part& part : parts_) {
    std::copy_n(b_.begin() + part.at, part.size, problem.b.begin() + part.first);
    std::copy_n(exact_gradient_.begin() + part.at, part.size, gradient_.begin() + part.first);
  }
}

template class ColumnSmo<float>;
template class ColumnSmo<double>;

}  // namespace polymargin
