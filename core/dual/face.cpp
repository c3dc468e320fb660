#include "dual/face.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace polymargin {

namespace {

constexpr Index kStopEvery = 16;     // steps between two looks at the clock
constexpr int kRepairs = 3;          // of a factor that has lost its digits
constexpr double kSumError = 1e-12;  // of a group, relative to its variables
constexpr Index kMostFree = 2048, kMostGroups = 64;
constexpr std::size_t kBlock = 5,
                      kShare = 16;  // variables set free together: at least, and as a share of the free ones
// Of the largest diagonal element: what keeps the factor of a singular matrix positive, more than rounding its values
// to T takes away.
template <class T>
constexpr double kJitter = sizeof(T) == 8 ? 1e-13 : 2e-6;

}  // namespace

// --- the factor ---

void Factor::begin(Index n_groups, double jitter) {
  if (n_groups != n_groups_ || capacity_ == 0) {
    n_groups_ = n_groups;
    capacity_ = std::max<Index>(capacity_, 64);
    stride_ = capacity_ + n_groups_;
    memory_.assign(static_cast<std::size_t>(capacity_ * stride_), 0.0);
  }
  n_ = 0, jitter_ = jitter;
}

void Factor::grow() {
  const Index capacity = 2 * capacity_, stride = capacity + n_groups_;
  std::vector<double> memory(static_cast<std::size_t>(capacity * stride));
  for (Index k = 0; k < n_; ++k) {
    std::copy_n(column(k), n_, memory.data() + k * stride);
    std::copy_n(column(k) + capacity_, n_groups_, memory.data() + k * stride + capacity);
  }
  memory_.swap(memory);
  capacity_ = capacity, stride_ = stride;
}

void Factor::forward(double* x) const {
  const Steps<double>& pass = steps<double>();
  for (Index k = 0; k < n_; ++k) {
    x[k] /= column(k)[k];
    pass.axpy(-x[k], column(k) + k + 1, x + k + 1, n_ - k - 1);
  }
}

void Factor::backward(double* x) const {
  const Steps<double>& pass = steps<double>();
  for (Index k = n_ - 1; k >= 0; --k) x[k] = (x[k] - pass.dot(column(k) + k + 1, x + k + 1, n_ - k - 1)) / column(k)[k];
}

bool Factor::append(const double* row, double diagonal, Index group) {
  if (n_ == capacity_) grow();
  row_.assign(row, row + n_);
  forward(row_.data());
  double pivot = diagonal + jitter_;
  for (Index k = 0; k < n_; ++k) pivot -= row_[k] * row_[k], column(k)[n_] = row_[k];
  if (!(pivot >= 0.5 * jitter_)) return false;
  double* own = column(n_);
  own[n_] = std::sqrt(pivot);
  double* w = own + capacity_;
  for (Index g = 0; g < n_groups_; ++g) w[g] = g == group ? 1 : 0;
  for (Index k = 0; k < n_; ++k)
    for (Index g = 0; g < n_groups_; ++g) w[g] -= row_[k] * column(k)[capacity_ + g];
  for (Index g = 0; g < n_groups_; ++g) w[g] /= own[n_];
  ++n_;
  return true;
}

// The rows below move up; rotations of neighbouring columns make the rest triangular again.
void Factor::remove(Index at) {
  const Steps<double>& pass = steps<double>();
  for (Index k = 0; k < at; ++k) std::copy(column(k) + at + 1, column(k) + n_, column(k) + at);
  for (Index k = at; k + 1 < n_; ++k) {
    double *a = column(k), *b = column(k + 1);
    const double x = a[k + 1], y = b[k + 1], h = std::hypot(x, y), c = x / h, s = y / h;
    pass.rotate(a + k + 1, b + k + 1, c, s, a + k, n_ - k - 1);
    pass.rotate(a + capacity_, b + capacity_, c, s, a + capacity_, n_groups_);
  }
  --n_;
}

// --- the face ---

template <class T>
void Face<T>::set_free(Index i) {
  if (lost_) return;
  const double f = double(free_.size());
  row_.clear();
  for (Index j : free_) row_.push_back(qp_->value(i, j));
  lost_ |= !factor_.append(row_.data(), qp_->diagonal[i] + qp_->ridge[i], qp_->group_of[i]);
  if (lost_) return;
  free_.push_back(i);
  is_free_[i] = 1;
  work_ += f * f;
}

template <class T>
void Face<T>::set_fixed(Index at) {
  const double rest = double(free_.size()) - double(at);
  is_free_[free_[at]] = 0;
  free_.erase(free_.begin() + at);
  factor_.remove(at);
  work_ += 3 * rest * rest;
}

template <class T>
void Face<T>::factorize() {
  const std::vector<Index> list = std::move(free_);
  free_.clear();
  const double largest = *std::max_element(qp_->diagonal.begin(), qp_->diagonal.end());
  factor_.begin(qp_->n_groups(), kJitter<T> * std::max(largest, std::numeric_limits<double>::min()));
  for (Index i : list) set_free(i);
}

// d_ and lambda_ from the gradient of the free variables.
template <class T>
void Face<T>::direction() {
  d_.clear();
  for (Index i : free_) d_.push_back(-qp_->gradient[i]);
  factor_.forward(d_.data());
  if (!qp_->groups.empty()) solve_groups();
  factor_.backward(d_.data());
  work_ += double(d_.size()) * double(d_.size());
  ++n_steps_;
}

// W'W lambda = -W'd - excess by Cholesky, then d += W lambda: the sums are what they were at the start. A group without free variables has no equation.
template <class T>
void Face<T>::solve_groups() {
  const Index n = qp_->n_groups(), f = factor_.size();
  small_.assign(n * n, 0.0), lambda_.resize(n);
  for (Index a = 0; a < n; ++a) lambda_[a] = -excess_[a];
  double* S = small_.data();
  for (Index k = 0; k < f; ++k) {
    const double* w = factor_.groups(k);
    for (Index a = 0; a < n; ++a) {
      lambda_[a] -= w[a] * d_[k];
      for (Index b = 0; b <= a; ++b) S[a * n + b] += w[a] * w[b];
    }
  }
  for (Index a = 0; a < n; ++a) {
    for (Index b = 0; b < a; ++b) {
      for (Index c = 0; c < b; ++c) S[a * n + b] -= S[a * n + c] * S[b * n + c];
      S[a * n + b] /= S[b * n + b];
      S[a * n + a] -= S[a * n + b] * S[a * n + b];
      lambda_[a] -= S[a * n + b] * lambda_[b];
    }
    const bool none = !(S[a * n + a] > 0);
    S[a * n + a] = none ? 1 : std::sqrt(S[a * n + a]);
    lambda_[a] = none ? 0 : lambda_[a] / S[a * n + a];
  }
  for (Index a = n - 1; a >= 0; --a) {
    for (Index c = a + 1; c < n; ++c) lambda_[a] -= S[c * n + a] * lambda_[c];
    lambda_[a] /= S[a * n + a];
  }
  for (Index k = 0; k < f; ++k)
    for (Index a = 0; a < n; ++a) d_[k] += factor_.groups(k)[a] * lambda_[a];
  work_ += double(f) * double(n) * double(n);
}

// A step along d_, to its end (true) or to the first bound. The gradient of the free variables follows:
// (Q + R) d = -g + A lambda - jitter d.
template <class T>
bool Face<T>::advance() {
  const Index f = factor_.size();
  DenseQp<T>& q = *qp_;
  double step = 1;
  Index hit = -1;
  for (Index k = 0; k < f; ++k) {
    const Index i = free_[k];
    const double room = d_[k] > 0 ? q.high[i] - q.z[i] : q.z[i] - q.low[i];
    if (room < step * std::abs(d_[k])) step = room / std::abs(d_[k]), hit = k;
  }
  for (Index k = 0; k < f; ++k) {
    const Index i = free_[k];
    q.z[i] = std::clamp(q.z[i] + step * d_[k], q.low[i], q.high[i]);
    double& g = q.gradient[i];
    g += step * ((q.groups.empty() ? 0 : lambda_[q.group_of[i]]) - g - factor_.jitter() * d_[k]);
  }
  for (double& x : excess_) x *= 1 - step;
  if (hit < 0) return true;
  q.z[free_[hit]] = d_[hit] > 0 ? q.high[free_[hit]] : q.low[free_[hit]];
  set_fixed(hit);
  return false;
}

// The gradient of all variables at z: that of the old point, and what the changes since then add.
template <class T>
void Face<T>::follow() {
  std::vector<double> g = old_g_;
  qp_->add_change(old_z_, g);
  double changed = 0;
  for (Index i = 0; i < qp_->size(); ++i) {
    changed += qp_->z[i] != old_z_[i];
    gain_ += 0.5 * (old_z_[i] - qp_->z[i]) * (old_g_[i] + g[i]);
  }
  qp_->gradient = g, old_g_ = std::move(g), old_z_ = qp_->z;
  see_sums();
  if (kept_sums()) safe_z_ = qp_->z, safe_g_ = qp_->gradient;
  work_ += double(qp_->size()) * changed;
}

template <class T>
void Face<T>::see_sums() {
  excess_.assign(std::max<Index>(qp_->n_groups(), 1), 0.0);
  for (Index i = 0; i < qp_->size(); ++i) excess_[qp_->group_of[i]] += qp_->z[i];
  for (std::size_t a = 0; a < sum_.size(); ++a) excess_[a] -= sum_[a];
}

template <class T>
bool Face<T>::kept_sums() const {
  std::vector<double> size(excess_.size(), 0.0);
  for (Index i = 0; i < qp_->size(); ++i) size[qp_->group_of[i]] += std::abs(qp_->z[i]);
  for (std::size_t a = 0; a < size.size() && !qp_->groups.empty(); ++a)
    if (!(std::abs(excess_[a]) <= kSumError * size[a])) return false;
  return true;
}

// The multiplier of each group; returns how far a free variable's gradient is from its own.
template <class T>
double Face<T>::see_levels() {
  std::vector<Level> levels(std::max<Index>(qp_->n_groups(), 1));
  for (Index i = 0; i < qp_->size(); ++i)
    levels[qp_->group_of[i]].see(qp_->can_grow(i), qp_->can_fall(i), qp_->gradient[i]);
  level_.clear(), n_free_.clear();
  for (const Level& l : levels) level_.push_back(l.value()), n_free_.push_back(l.n_free);
  double residual = 0;
  for (Index i : free_) residual = std::max(residual, std::abs(qp_->gradient[i] - level(i)));
  return residual;
}

// Sets the worst of the variables at bounds free; false where none violates its condition by more than tol / 2, so that
// no two differ by more than tol.
template <class T>
bool Face<T>::widen(double tol) {
  const std::vector<double>& g = qp_->gradient;
  std::vector<std::pair<double, Index>> worst;
  for (Index i = 0; i < qp_->size(); ++i) {
    const double grow = qp_->can_grow(i) ? level(i) - g[i] : 0, fall = qp_->can_fall(i) ? g[i] - level(i) : 0;
    if (!is_free_[i] && std::max(grow, fall) > 0.5 * tol) worst.push_back({-std::max(grow, fall), i});
  }
  if (worst.empty()) return false;
  // Some that come together may keep each other from moving; the worst alone always can.
  const std::size_t block = gain_ > 0 ? std::max(kBlock, free_.size() / kShare) : 1;
  gain_ = 0;
  const auto end = worst.begin() + std::min(block, worst.size());
  std::partial_sort(worst.begin(), end, worst.end());
  for (auto one = worst.begin(); one != end; ++one) set_free(one->second);
  // A group without free variables needs one that grows and one that falls.
  for (Index group = 0; group < qp_->n_groups(); ++group)
    for (bool grows : {true, false}) {
      if (n_free_[group] > 0) continue;
      std::pair<double, Index> most{0, -1};
      for (const auto& one : worst)
        if (qp_->group_of[one.second] == group && (g[one.second] < level(one.second)) == grows)
          most = std::min(most, one);
      if (most.second >= 0 && !is_free_[most.second]) set_free(most.second);
    }
  return true;
}

template <class T>
bool Face<T>::solve(DenseQp<T>& qp, double tol, double work, const std::function<bool()>& stop) {
  qp_ = &qp;
  work_ = 0, n_steps_ = 0, gain_ = 1, lost_ = false;
  safe_z_ = old_z_ = qp.z, safe_g_ = old_g_ = qp.gradient;
  is_free_.assign(qp.size(), 0);
  free_.clear();
  for (Index i = 0; i < qp.size(); ++i)
    if (qp.can_grow(i) && qp.can_fall(i)) free_.push_back(i);
  sum_.clear();
  see_sums();
  sum_ = excess_;
  see_sums();
  if (static_cast<Index>(free_.size()) > kMostFree || qp.n_groups() > kMostGroups) return false;
  factorize();
  int repairs = 0;
  double last = std::numeric_limits<double>::infinity();
  while (!lost_ && work_ < work && static_cast<Index>(free_.size()) <= kMostFree) {
    if (n_steps_ % kStopEvery == kStopEvery - 1 && stop()) break;
    if (!free_.empty()) {
      direction();
      if (!advance()) continue;
    }
    for (Index k = factor_.size() - 1; k >= 0; --k)
      if (!qp.can_grow(free_[k]) || !qp.can_fall(free_[k])) set_fixed(k);
    follow();
    const double residual = see_levels();
    const bool kept = kept_sums();
    if (residual > 0.1 * tol || !kept) {  // rounding: once more, then with a new factor
      const bool lost = !kept || !(residual <= 0.5 * last);
      if (lost) factorize();
      lost_ |= lost && ++repairs > kRepairs;
      last = residual;
      continue;
    }
    last = std::numeric_limits<double>::infinity();
    if (!widen(tol)) return !lost_;
  }
  follow();
  if (!kept_sums()) qp.z = safe_z_, qp.gradient = safe_g_;
  return false;
}

template class Face<float>;
template class Face<double>;

}  // namespace polymargin
