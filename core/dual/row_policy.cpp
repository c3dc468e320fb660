#include "dual/row_policy.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "dual/box_bias.hpp"
#include "dual/certificate.hpp"

namespace polymargin {

namespace {
constexpr double kNoMargin = 1e-6;  // of the largest Q_ii: classes with a smaller margin overlap
constexpr double kFaceShare = 0.1;  // of the memory, that the factor of a face may take
constexpr double kSides = 0.25;     // of the violation of a group, that both of its sides take part in at least
constexpr Index kAtOnce = 4096;     // rows of a problem whose free variables go together, at most
}  // namespace

template <class T>
RowPolicy<T>::RowPolicy(const DualProblem& problem, const KernelBlocks<T>& K, const std::vector<double>& start,
                        const Settings& settings, Team& team)
    : p_(problem), K_(K), settings_(settings), M_(problem, K, team), diagonal_(problem.rows.size) {
  const Index n = p_.rows.size;
  K_.diagonal(p_.rows, diagonal_.data());
  for (Index i = 0; i < n; ++i) diagonal_[i] = p_.same * diagonal_[i] + p_.ridge[i];
  steps_.room = kFaceShare * settings.memory;
  smallest_margin_ = kNoMargin * *std::max_element(diagonal_.begin(), diagonal_.end());
  for (Index i = 0; i < n && p_.entropy; ++i) t_.push_back(std::log(start[i] / (p_.upper[i] - start[i])));
}

template <class T>
Index RowPolicy<T>::most_at_once() const {
  const double room = 0.5 * RowStore<T>::left(p_.rows.size, settings_.memory) / sizeof(T);
  return p_.entropy ? 0 : static_cast<Index>(std::min(std::sqrt(std::max(room, 0.0)), double(kAtOnce)));
}

template <class T>
void RowPolicy<T>::set_up(const std::vector<Index>& active, const double*) {
  active_ = &active;
  const Index m = static_cast<Index>(active.size());
  groups_.clear();
  if (p_.sum == Sum::none) return;
  groups_.push_back(0);
  for (Index k = 1; k < m; ++k)
    if (new_group(active[k], active[k - 1])) groups_.push_back(k);
  groups_.push_back(m);
}

// --- optimality ---

template <class T>
Level RowPolicy<T>::level(Index g, const double* F, const double* A) const {
  Level level;
  for (Index k = groups_[g]; k < groups_[g + 1]; ++k) {
    const Index i = (*active_)[k];
    level.see(can_grow(i, A[k]), can_fall(i, A[k]), gradient(i, F[k], A[k]));
  }
  return level;
}

// Without sums the gradient itself is the violation. With them it is how far the smallest gradient of a group that may
// grow is below the largest that may fall, and a row's share in it is its distance from the level between the two.
template <class T>
double RowPolicy<T>::measure(const double* F, const double* A, double* excess) {
  const std::vector<Index>& active = *active_;
  const Index m = static_cast<Index>(active.size()), n_groups = static_cast<Index>(groups_.size()) - 1;
  double worst = 0;
  auto see = [&](Index k, double level) {
    const Index i = active[k];
    const double g = gradient(i, F[k], A[k]) - level;
    falls_[k] = g > 0;
    excess[k] = std::max(can_grow(i, A[k]) ? -g : -kBlocked, can_fall(i, A[k]) ? g : -kBlocked);
  };
  multiplier_.clear(), falls_.resize(m);
  if (groups_.empty()) {
    for (Index k = 0; k < m; ++k) see(k, 0), worst = std::max(worst, excess[k]);
    return worst;
  }
  for (Index g = 0; g < n_groups; ++g) {
    const Level seen = level(g, F, A);
    const double low = seen.least, high = seen.most;
    multiplier_.push_back(seen.value());
    const double side = kSides * (high - low);
    const double between = high > low ? std::clamp(multiplier_[g], low + side, high - side) : multiplier_[g];
    for (Index k = groups_[g]; k < groups_[g + 1]; ++k) {
      see(k, between);
      if (high <= low) excess[k] = std::min(excess[k], 0.0);
    }
    worst = std::max(worst, high - low);
  }
  return worst;
}

template <class T>
double RowPolicy<T>::tolerance() const {
  if (!settings_.relative) return settings_.tol;
  const double sum = std::accumulate(multiplier_.begin(), multiplier_.end(), 0.0);
  const double margin = multiplier_.empty() ? 1 : sum / double(multiplier_.size());
  return settings_.tol * std::max(margin, smallest_margin_);
}

template <class T>
double RowPolicy<T>::objective(const std::vector<double>& alpha, const std::vector<double>& scores) const {
  double sum = 0;
  for (Index i = 0; i < p_.rows.size; ++i) {
    sum += alpha[i] * (0.5 * (scores[i] + p_.ridge[i] * alpha[i]) - p_.linear[i]);
    if (p_.entropy) sum += entropy(alpha[i], p_.upper[i]);
  }
  return sum;
}

// The entropy's change comes with the slope after the step.
template <class T>
double RowPolicy<T>::slope(Index k, const double* F, const double* A, const double* old, bool before) const {
  const Index i = (*active_)[k];
  const double now = A[k], change = now - *old;
  const double sum = change * (F[k] - p_.linear[i] + p_.ridge[i] * (before ? *old : now));
  if (!p_.entropy || before) return sum;
  return sum + 2 * (entropy(now, p_.upper[i]) - entropy(*old, p_.upper[i]));
}

// --- the working set ---

template <class T>
std::pair<T*, Index> RowPolicy<T>::square(Index q) {
  return {square_.at_least(static_cast<std::size_t>(q * q)), q};
}

// Every group is a part of its own.
template <class T>
void RowPolicy<T>::load(const std::vector<Index>& at, const double* F, const double* A) {
  const Index q = static_cast<Index>(at.size());
  set_.resize(q);
  for (Index r = 0; r < q; ++r) set_[r] = (*active_)[at[r]];
  M_.multiply(span(set_), span(set_), square_.data(), q);
  sizes_.clear();
  for (Index r = 0; r < q; ++r) {
    if (r == 0 || (p_.sum != Sum::none && new_group(set_[r], set_[r - 1]))) sizes_.push_back(0);
    ++sizes_.back();
  }
  if (p_.entropy) {
    EntropyQp<T>& qp = logistic_;
    qp.m = q, qp.Q = square_.data(), qp.groups.clear();
    for (Index r = 0, g = 0; p_.sum != Sum::none && r <= q; r += r < q ? sizes_[g++] : 1) qp.groups.push_back(r);
    qp.G.resize(q), qp.diagonal.resize(q);
    for (auto* v : {&qp.a, &qp.u, &qp.t}) v->resize(q);
    for (Index r = 0; r < q; ++r) {
      const Index i = set_[r];
      square_[r * q + r] += T(p_.ridge[i]);
      qp.G[r] = T(F[at[r]] - p_.linear[i] + p_.ridge[i] * A[at[r]]), qp.diagonal[r] = square_[r * q + r];
      qp.a[r] = A[at[r]], qp.u[r] = p_.upper[i], qp.t[r] = t_[i];
    }
    return;
  }
  DenseQp<T>& qp = steps_.qp;
  p_.sum == Sum::none ? qp.reset({q}, {}) : qp.reset(sizes_, everything(static_cast<Index>(sizes_.size()) + 1));
  qp.blocks = {{square_.data(), q}};
  for (Index r = 0; r < q; ++r) {
    const Index i = set_[r];
    qp.low[r] = p_.low(i), qp.high[r] = p_.upper[i];
    qp.ridge[r] = p_.ridge[i], qp.diagonal[r] = diagonal_[i] - p_.ridge[i];
    qp.z[r] = A[at[r]], qp.gradient[r] = gradient(i, F[at[r]], A[at[r]]);
  }
}

template <class T>
Index RowPolicy<T>::solve(double target, Index budget, const std::function<bool()>& stop) {
  if (!p_.entropy) {
    steps_.begin();
    return steps_.run_working_set(target, budget, [&] { return !stop(); });
  }
  const Index steps = entropy_steps<T>(logistic_, target, budget, stop);
  for (std::size_t r = 0; r < set_.size(); ++r) t_[set_[r]] = logistic_.t[r];
  return steps;
}

// --- from a coarser problem ---

// Whether the variable was at a bound off zero.
template <class T>
bool RowPolicy<T>::reduce(Index i, double scale, double* a) const {
  const double bound = *a > 0 ? p_.upper[i] : p_.low(i);
  const bool is_bound = *a == scale * bound;
  *a = p_.ridge[i] > 0 ? *a / scale : std::clamp(*a, p_.low(i), p_.upper[i]);
  return is_bound;
}

// A binary machine with bounds: the multiplier that leaves the smallest losses at these scores.
template <class T>
void RowPolicy<T>::choose_bias(const std::vector<double>& scores, std::vector<double>& multiplier) const {
  const std::size_t n = p_.rows.size;
  if (p_.lower.size == 0 || multiplier.size() != 1 || *std::max_element(p_.ridge.begin(), p_.ridge.end()) > 0) return;
  std::vector<double> y(n), upper(n), g(n);
  for (std::size_t i = 0; i < n; ++i) {
    y[i] = p_.upper[i] > 0 ? 1 : -1;
    upper[i] = p_.upper[i] > 0 ? p_.upper[i] : -p_.low(i);
    g[i] = scores[i] - p_.linear[i];
  }
  multiplier[0] = -box_bias(y, upper, g);
}

// What the scores call for, and how far they are from calling for something else. Rows without a say, far from all
// support vectors, are at the margin up to rounding: they stay at zero.
template <class T>
double RowPolicy<T>::respond(Index i, const std::vector<double>& multiplier, const double* f, double* a) const {
  const double missing = p_.linear[i] - *f + (multiplier.empty() ? 0 : multiplier[0]);
  *a = missing > settings_.tol ? p_.upper[i] : missing < -settings_.tol ? p_.low(i) : 0;
  if (p_.ridge[i] > 0) *a = std::clamp(missing / p_.ridge[i], p_.low(i), p_.upper[i]);
  return std::abs(missing);
}

// The variables of the one group add up to zero: rows near the margin change first.
template <class T>
void RowPolicy<T>::balance(const std::vector<Index>& near, std::vector<double>& alpha) const {
  if (p_.sum == Sum::none) return;
  double excess = std::accumulate(alpha.begin(), alpha.end(), 0.0);
  auto give = [&](Index i) {
    const double to =
        std::clamp(alpha[i] - excess, excess > 0 ? p_.low(i) : alpha[i], excess > 0 ? alpha[i] : p_.upper[i]);
    excess += to - alpha[i], alpha[i] = to;
  };
  for (Index i : near) give(i);
  for (Index i = 0; i < p_.rows.size; ++i)
    if ((alpha[i] > 0) == (excess > 0) && alpha[i] != 0) give(i);
}

// --- the end ---

template <class T>
void RowPolicy<T>::lose(const double* F, const double* A, Solution& out) {
  out.multiplier.clear();
  for (Index g = 0; g + 1 < static_cast<Index>(groups_.size()); ++g) out.multiplier.push_back(level(g, F, A).value());
}

// Entropy: full and empty variables take the logits that the level of their group implies; nothing else changes.
template <class T>
void RowPolicy<T>::settle(Solution& out) {
  std::size_t g = 0;
  for (Index i = 0; p_.entropy && i < p_.rows.size; ++i) {
    while (!groups_.empty() && i >= groups_[g + 1]) ++g;
    const double t = (groups_.empty() ? 0 : out.multiplier[g]) - out.gradient[i];
    if (can_grow(i, 0) && can_fall(i, 0)) continue;
    t_[i] = can_grow(i, 0) ? std::min(t, t_[i]) : std::max(t, t_[i]);
    out.alpha[i] = p_.upper[i] / (1 + std::exp(-t_[i]));
  }
}

// All rows are active, and have been measured.
template <class T>
void RowPolicy<T>::finish(Solution& out) {
  out.multiplier = multiplier_;
  choose_bias(out.gradient, out.multiplier);
  for (Index i = 0; i < p_.rows.size; ++i) out.gradient[i] += p_.ridge[i] * out.alpha[i] - p_.linear[i];
  settle(out);
  certify(p_, groups_, out);
}

template class RowPolicy<float>;
template class RowPolicy<double>;

}  // namespace polymargin
