#include "margins/local_margins.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace polymargin {

namespace {
constexpr Index kStopEvery = 1 << 24;  // scores looked at between two looks at the clock, and at most 1024 steps
constexpr Index kGroup = 8;  // examples solved together: each pass over all of them then brings more than its own step
constexpr int kSweeps = 3;   // over such a group, which seldom settles: the next example of it brings more
constexpr double kAlike = 0.02;  // least share of its curvature that an example keeps beside its partner
}  // namespace

template <class T>
LocalMargins<T>::LocalMargins(const MarginProblem& p)
    : p_(p),
      n_(p.classes),
      wide_((p.classes + steps<double>().lanes - 1) / steps<double>().lanes * steps<double>().lanes),
      beta_(p.beta()),
      step_(p.classes, p.beta(), p.own_target > 0, p.capped),
      h_(n_),
      D_(wide_, 0.0),
      f_(kGroup * wide_, -kBlocked),
      now_(kGroup * wide_, 0.0),
      old_(kGroup * wide_, 0.0),
      between_(kGroup * kGroup) {}

template <class T>
void LocalMargins<T>::resize(Index examples) {
  m = examples;
  ld = (m + kLanes - 1) / kLanes * kLanes;
  K.at_least(static_cast<std::size_t>(m * ld));
  F.assign(n_ * ld, T(0));
  b.resize(m * n_);
  for (auto* v : {&u, &ridge}) v->resize(m);
  label.resize(m);
}

// Copies in the type of the passes. Padding cannot move: 0 is its lower bound.
template <class T>
void LocalMargins<T>::begin() {
  A_.assign(n_ * ld, T(0));
  for (auto* v : {&ref_, &low_, &ridge_, &up_, &down_, &at_cap_}) v->assign(ld, T(0));
  label_.assign(ld, T(-1));
  first_.assign(n_, ld), last_.assign(n_, 0);
  diagonal_.assign(ld, T(1));
  for (Index i = 0; i < m; ++i) {
    low_[i] = T(-std::min(u[i], 1e30));
    ridge_[i] = T(ridge[i]);
    diagonal_[i] = T(std::max<double>(K[i * ld + i] + ridge[i], 1e-12));
    label_[i] = T(label[i]);
    first_[label[i]] = std::min(first_[label[i]], i / kLanes * kLanes), last_[label[i]] = i + 1;
    set(i);
    double f = 0;
    if (p_.reference == Reference::mean)
      for (Index c = 0; c < n_; ++c) f += F[c * ld + i];
    ref_[i] = p_.reference == Reference::own ? F[label[i] * ld + i] : T(f / double(n_));
  }
}

template <class T>
void LocalMargins<T>::set(Index i) {
  const double* bi = b.data() + i * n_;
  double total = 0;
  for (Index c = 0; c < n_; ++c) {
    T a = T(bi[c]);
    // What is free must not seem to be at its bound after rounding: it would never move again.
    if (std::abs(bi[c]) < u[i] && std::abs(a) >= -low_[i]) a = std::nextafter(a, T(0));
    A_[c * ld + i] = a;
    total += std::abs(bi[c]);
  }
  at_cap_[i] = T(p_.capped && total >= kAtCap * u[i]);
}

// The example with the largest violation^2 / curvature; beside a partner, what that leaves of the curvature.
template <class T>
Pick LocalMargins<T>::choose(Index partner) {
  const Steps<T>& pass = steps<T>();
  pass.margins(F.data(), A_.data(), ld, n_, ref_.data(), ridge_.data(), low_.data(), label_.data(), ld, up_.data(),
               down_.data());
  if (p_.own_target > 0) {
    for (Index i = 0; i < m; ++i) {
      const Index at = label[i] * ld + i;
      const T g = F[at] - ref_[i] - T(p_.own_target) + ridge_[i] * A_[at];
      if (A_[at] < -low_[i]) up_[i] = std::max(up_[i], -g);
      if (A_[at] > 0) down_[i] = std::max(down_[i], g);
    }
  }
  const T* row = K.data() + std::max<Index>(partner, 0) * ld;
  const T share = partner < 0 ? T(0) : T(1) / diagonal_[partner];
  return pass.worst_example(up_.data(), down_.data(), at_cap_.data(), diagonal_.data(), row, share, T(1 - kAlike),
                            partner, ld);
}

// The exact step of example i at the scores f; b_i in, b_i out, and what it adds to the scores per kernel value in D_.
// Returns how much b_i has changed.
template <class T>
double LocalMargins<T>::example(Index i, const double* f, double* bi) {
  const double k = K[i * ld + i];
  const Index y = label[i];
  if (p_.reference == Reference::own) {
    const double moved = steps<double>().row_step(f, wide_, y, k, ridge[i], u[i], p_.capped, bi, D_.data());
    if (moved >= 0) return moved;
  }
  const double ref = p_.ref(f, 1, y), z = beta_ * std::accumulate(bi, bi + n_, 0.0);
  for (Index c = 0; c < n_; ++c) h_[c] = p_.target(c, y) - (f[c] - ref) + k * (bi[c] + z), D_[c] = -bi[c];
  std::fill(D_.begin() + n_, D_.end(), 0.0);
  step_.solve(h_.data(), y, k, ridge[i], u[i], bi);
  double size = 0, sum = 0;
  for (Index c = 0; c < n_; ++c) D_[c] += bi[c], size += std::abs(D_[c]), sum += D_[c];
  if (p_.reference == Reference::own) D_[y] -= sum;
  return size;
}

// Example i comes into the group. The scores of those that are there have followed all changes since.
template <class T>
void LocalMargins<T>::join(Index i) {
  const Index t = static_cast<Index>(group_.size());
  group_.push_back(i);
  for (Index c = 0; c < n_; ++c) {
    f_[t * wide_ + c] = F[c * ld + i];
    now_[t * wide_ + c] = b[i * n_ + c];
  }
  for (Index s = 0; s <= t; ++s) between_[s * kGroup + t] = between_[t * kGroup + s] = K[i * ld + group_[s]];
}

// The exact step of one of the group, whose scores follow; returns how much it has moved.
template <class T>
double LocalMargins<T>::move(Index t) {
  const double size = example(group_[t], f_.data() + t * wide_, now_.data() + t * wide_);
  if (size > 0)
    steps<double>().add_outer(between_.data() + t * kGroup, static_cast<Index>(group_.size()), D_.data(), wide_,
                              f_.data());
  return size;
}

// The group solved by exact steps on one after the other; only their own scores are followed meanwhile.
template <class T>
void LocalMargins<T>::together() {
  const Index g = static_cast<Index>(group_.size());
  std::copy_n(now_.begin(), g * wide_, old_.begin());
  double first = 0;
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    double moved = 0;
    for (Index t = g - 1; t >= 0; --t) moved += move(t);  // the newest has most to gain
    if (sweep == 0) first = moved;
    if (g == 1 || moved <= 0.02 * first) break;
  }
  apply();
}

// Adds the changes of the group to b and to all scores, class by class: few classes of an example change.
template <class T>
void LocalMargins<T>::apply() {
  const Steps<T>& pass = steps<T>();
  const Index g = static_cast<Index>(group_.size());
  std::vector<double>& D = old_;
  for (Index t = 0; t < g; ++t) {
    double sum = 0;
    for (Index c = 0; c < n_; ++c) sum += D[t * wide_ + c] = now_[t * wide_ + c] - D[t * wide_ + c];
    if (p_.reference == Reference::own) D[t * wide_ + label[group_[t]]] -= sum;
    std::copy_n(now_.data() + t * wide_, n_, b.data() + group_[t] * n_);
    set(group_[t]);
  }
  for (Index c = 0; c < n_; ++c) {
    Index moved[kGroup], n_moved = 0;
    for (Index t = 0; t < g; ++t)
      if (D[t * wide_ + c] != 0) moved[n_moved++] = t;
    for (Index r = 0; r < n_moved; r += 2) {
      const Index s = moved[r], t = r + 1 < n_moved ? moved[r + 1] : s;
      pass.update(F.data() + c * ld, K.data() + group_[s] * ld, K.data() + group_[t] * ld, T(D[s * wide_ + c]),
                  s == t ? T(0) : T(D[t * wide_ + c]), ld);
    }
    if (n_moved > 0 && p_.reference == Reference::own)
      pass.own_scores(F.data() + c * ld + first_[c], label_.data() + first_[c], T(c), last_[c] - first_[c],
                      ref_.data() + first_[c]);
  }
  for (Index t = 0; t < g && p_.reference == Reference::mean; ++t) {
    const double sum = std::accumulate(D.begin() + t * wide_, D.begin() + t * wide_ + n_, 0.0);
    const T* row = K.data() + group_[t] * ld;
    pass.update(ref_.data(), row, row, T(sum / double(n_)), T(0), ld);
  }
}

template <class T>
Index LocalMargins<T>::solve(double eps, Index max_steps, const std::function<bool()>& stop) {
  begin();
  const Index patience = 40 * m + 1000;  // steps without a smaller violation: rounding leaves nothing to gain
  // A step passes over all scores, and some fifty times over those of a group.
  const Index every = std::clamp<Index>(kStopEvery / (n_ * (ld + 50 * kGroup)), 1, 1024);
  double least = std::numeric_limits<double>::infinity();
  group_.clear();
  for (Index steps = 0, since = 0;; ++steps) {
    if (static_cast<Index>(group_.size()) == kGroup) group_.clear();
    const Pick next = choose(group_.empty() ? -1 : group_.back());
    since = next.violation < 0.9 * least ? 0 : since + 1;
    least = std::min(least, next.violation);
    if (next.violation <= eps || steps == max_steps || since > patience) return steps;
    if (steps % every == every - 1 && stop()) return steps;
    // Only the newest itself is left, or an older one comes up again: begin a new group.
    const bool again = next.at < 0 || std::find(group_.begin(), group_.end(), next.at) != group_.end();
    if (again) group_.clear();
    if (next.at < 0) continue;
    join(next.at);
    together();
  }
}

template class LocalMargins<float>;
template class LocalMargins<double>;

}  // namespace polymargin
