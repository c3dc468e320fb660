#include "margins/local_margins.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace polymargin {

namespace {
constexpr Index kStopEvery = 1 << 24;  // scores looked at between two looks at the clock, and at most 1024 steps
constexpr Index kGroup = 8;  // examples solved together: each pass over all of them then brings more than its own step
constexpr int kSweeps = 6;   // over such a group
constexpr double kAlike = 0.02;  // least share of its curvature that an example keeps beside its partner
}  // namespace

template <class T>
LocalMargins<T>::LocalMargins(const MarginProblem& p)
    : p_(p),
      n_(p.classes),
      beta_(p.beta()),
      step_(p.classes, p.beta(), p.own_target > 0, p.capped),
      h_(n_),
      D_(n_),
      change_(n_),
      f_(kGroup, std::vector<double>(n_)),
      old_(kGroup, std::vector<double>(n_)) {}

template <class T>
void LocalMargins<T>::resize(Index examples) {
  m = examples;
  ld = (m + kLanes - 1) / kLanes * kLanes;
  K.resize(m * ld);
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

// The example with the largest violation^2 / curvature; beside a partner, the curvature is what the partner leaves of it.
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

template <class T>
double LocalMargins<T>::reference(const double* f, Index y) const {
  if (p_.reference == Reference::own) return f[y];
  return p_.reference == Reference::none ? 0 : std::accumulate(f, f + n_, 0.0) / double(n_);
}

// The exact step of example i at the scores f; b_i in, b_i out.
template <class T>
void LocalMargins<T>::example(Index i, const double* f, double* bi) {
  const double k = K[i * ld + i], ref = reference(f, label[i]), z = beta_ * std::accumulate(bi, bi + n_, 0.0);
  for (Index c = 0; c < n_; ++c) h_[c] = p_.target(c, label[i]) - (f[c] - ref) + k * (bi[c] + z);
  step_.solve(h_.data(), label[i], k, ridge[i], u[i], bi);
}

template <class T>
void LocalMargins<T>::scores_of(Index i, std::vector<double>& f) const {
  for (Index c = 0; c < n_; ++c) f[c] = F[c * ld + i];
}

// D of a change of an example of class y, and the classes where it is not zero: seldom more than three.
template <class T>
double LocalMargins<T>::list_moved(const double* change, Index y) {
  double sum = 0;
  moved_.clear();
  for (Index c = 0; c < n_; ++c) D_[c] = change[c], sum += change[c];
  if (p_.reference == Reference::own) D_[y] -= sum;
  for (Index c = 0; c < n_; ++c)
    if (D_[c] != 0) moved_.push_back(c);
  return sum;
}

// Adds a change of example i to b and to all scores.
template <class T>
void LocalMargins<T>::apply(Index i, const double* change) {
  const Steps<T>& pass = steps<T>();
  const double sum = list_moved(change, label[i]);
  const T* row = K.data() + i * ld;
  for (Index c : moved_) pass.update(F.data() + c * ld, row, row, T(D_[c]), T(0), ld);
  if (p_.reference == Reference::mean) {
    pass.update(ref_.data(), row, row, T(sum / double(n_)), T(0), ld);
  } else if (p_.reference == Reference::own) {
    for (Index c : moved_)
      pass.own_scores(F.data() + c * ld + first_[c], label_.data() + first_[c], T(c), last_[c] - first_[c],
                      ref_.data() + first_[c]);
  }
  set(i);
}

// A few examples solved together, by exact steps on one after the other; only their own scores are followed meanwhile.
template <class T>
void LocalMargins<T>::together() {
  const Index g = static_cast<Index>(group_.size());
  for (Index t = 0; t < g; ++t) {
    scores_of(group_[t], f_[t]);
    std::copy_n(b.data() + group_[t] * n_, n_, old_[t].begin());
  }
  double first = 0;
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    double moved = 0;
    for (Index t = g - 1; t >= 0; --t) {  // the newest has most to gain
      const Index i = group_[t];
      double* bi = b.data() + i * n_;
      std::copy_n(bi, n_, change_.begin());
      example(i, f_[t].data(), bi);
      double size = 0;
      for (Index c = 0; c < n_; ++c) change_[c] = bi[c] - change_[c], size += std::abs(change_[c]);
      moved += size;
      if (size == 0) continue;
      list_moved(change_.data(), label[i]);
      for (Index s = 0; s < g; ++s) {
        const double k = K[i * ld + group_[s]];
        for (Index c : moved_) f_[s][c] += k * D_[c];
      }
    }
    if (sweep == 0) first = moved;
    if (g == 1 || moved <= 0.02 * first) break;
  }
  for (Index t = 0; t < g; ++t) {
    const double* bi = b.data() + group_[t] * n_;
    bool same = true;
    for (Index c = 0; c < n_; ++c) change_[c] = bi[c] - old_[t][c], same &= change_[c] == 0;
    if (!same) apply(group_[t], change_.data());
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
    group_.push_back(next.at);
    together();
  }
}

template class LocalMargins<float>;
template class LocalMargins<double>;

}  // namespace polymargin
