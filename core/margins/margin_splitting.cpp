#include "margins/margin_splitting.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace polymargin {

namespace {
constexpr double kRelax = 1.8;      // how far x goes, between 0 and 2
constexpr Index kLook = 20;         // steps between two looks at the violation
constexpr Index kTuned = 3;         // looks before rho is thought of again, once
constexpr double kChange = 1.5;     // that is worth a new inverse
constexpr Index kIdle = 25;         // looks without a smaller violation: rounding leaves nothing to gain
constexpr double kRounding = 1e-9;  // of a change of the objective
}  // namespace

template <class T>
bool MarginSplitting<T>::suits(const MarginProblem& problem) {
  return problem.reference == Reference::mean && problem.classes > 2 &&
         std::all_of(problem.ridge.begin(), problem.ridge.end(), [](double r) { return r == 0; }) &&
         std::all_of(problem.upper.begin(), problem.upper.end(), [](double u) { return std::isfinite(u); });
}

// The class means of `from` and, in T, what is left of it.
template <class T>
void MarginSplitting<T>::centered(const std::vector<double>& from) {
  mean_.assign(m_, 0.0), narrow_.resize(from.size());
  for (Index c = 0; c < T_; ++c)
    for (Index r = 0; r < m_; ++r) mean_[r] += from[c * m_ + r];
  for (double& x : mean_) x /= double(T_);
  for (Index c = 0; c < T_; ++c)
    for (Index r = 0; r < m_; ++r) narrow_[c * m_ + r] = T(from[c * m_ + r] - mean_[r]);
}

template <class T>
void MarginSplitting<T>::begin(const std::vector<double>& F, const std::vector<double>& b) {
  gradient_.resize(b.size()), x_.resize(b.size()), z_.resize(b.size()), r_.resize(b.size());
  std::vector<double> ref(m_);
  references(p_.reference, T_, F.data(), m_, m_, [&](Index r) { return label_[r]; }, ref.data());
  for (Index c = 0; c < T_; ++c)
    for (Index r = 0; r < m_; ++r) gradient_[c * m_ + r] = F[c * m_ + r] - ref[r] - p_.target(c, label_[r]);
  seen_ = b;
  for (std::size_t k = 0; k < x_.size(); ++k) x_[k] = b[k] - gradient_[k] / rho_;
}

// z from x. With a cap, sizes above zero fall by a common amount until their sum is the cap.
template <class T>
void MarginSplitting<T>::nearest() {
  for (Index c = 0; c < T_; ++c)
    for (Index r = 0; r < m_; ++r) z_[c * m_ + r] = std::max(sign(c, r) * x_[c * m_ + r], 0.0);
  for (Index r = 0; r < m_ && p_.own_target <= 0; ++r) z_[label_[r] * m_ + r] = 0;
  for (Index r = 0; r < m_ && p_.capped; ++r) {
    double* z = z_.data() + r;
    for (bool falls_short = true; falls_short;) {
      double total = 0, n = 0;
      for (Index c = 0; c < T_; ++c) total += z[c * m_], n += z[c * m_] > 0;
      const double shift = (total - u_[r]) / std::max(n, 1.0);
      falls_short = false;
      for (Index c = 0; c < T_ && shift > kRounding * kRounding * u_[r]; ++c) {
        falls_short |= z[c * m_] > 0 && z[c * m_] < shift;
        z[c * m_] = std::max(z[c * m_] - shift, 0.0);
      }
    }
  }
  for (Index c = 0; c < T_; ++c)
    for (Index r = 0; r < m_; ++r) z_[c * m_ + r] = sign(c, r) * std::min(z_[c * m_ + r], u_[r]);
}

// Both parts of the problem should come to agree at the same pace: c and z, relative to z, and z with itself from step
// to step, relative to what holds it at its bounds.
template <class T>
void MarginSplitting<T>::step(bool measured) {
  for (std::size_t k = 0; k < r_.size(); ++k) r_[k] = rho_ * (2 * z_[k] - x_[k] - seen_[k]) - gradient_[k];
  centered(r_);
  const Index ld = inverse_.stride();
  product_.resize(static_cast<std::size_t>(T_ * ld));
  inverse_.product(narrow_.data(), T_, product_.data(), team_);
  double apart = 0, size = 0, held = 0, moved = 0;
  for (Index c = 0; c < T_; ++c)
    for (Index r = 0; r < m_; ++r) {
      const Index at = c * m_ + r;
      const double gap = seen_[at] + mean_[r] / rho_ + double(product_[c * ld + r]) - z_[at];
      apart += gap * gap, size += z_[at] * z_[at], held += (x_[at] - z_[at]) * (x_[at] - z_[at]);
      x_[at] += kRelax * gap;
    }
  if (!measured) return nearest();
  r_ = z_;
  nearest();
  for (std::size_t k = 0; k < r_.size(); ++k) moved += (z_[k] - r_[k]) * (z_[k] - r_[k]);
  pace_ = apart * held > 0 && size * moved > 0 ? std::sqrt(std::sqrt(apart * held / (size * moved))) : 1;
}

// z is the point seen now; returns by how much its objective is higher than that of the one before.
template <class T>
double MarginSplitting<T>::look(const Set& set) {
  for (std::size_t k = 0; k < r_.size(); ++k) r_[k] = z_[k] - seen_[k];
  centered(r_);
  product_.resize(r_.size());
  rows_by_rows<T>({set.K, m_, set.ld}, {narrow_.data(), T_, m_}, m_, product_.data(), T_, team_);
  double higher = 0;
  for (Index c = 0; c < T_; ++c)
    for (Index r = 0; r < m_; ++r) {
      const Index at = c * m_ + r;
      const double change = double(product_[r * T_ + c]);
      higher += r_[at] * (gradient_[at] + 0.5 * change);
      gradient_[at] += change;
    }
  seen_ = z_;
  return higher;
}

template <class T>
double MarginSplitting<T>::violation() const {
  double worst = 0;
  for (Index r = 0; r < m_; ++r) {
    double up = -std::numeric_limits<double>::infinity(), down = up, total = 0;
    for (Index c = 0; c < T_; ++c) total += std::abs(z_[c * m_ + r]);
    const bool at_cap = p_.capped && total >= kAtCap * u_[r];
    for (Index c = 0; c < T_; ++c) {
      const double size = std::abs(z_[c * m_ + r]), high = highest(c, r), g = sign(c, r) * gradient_[c * m_ + r];
      if (size < high) up = std::max(up, -g);
      if (size > 0) down = std::max(down, g);
    }
    worst = std::max(worst, example_violation(at_cap, up, down));
  }
  return worst;
}

// The multipliers rho (x - z) stay as they are.
template <class T>
bool MarginSplitting<T>::change_rho(const Set& set, double factor, const std::function<bool()>& stop) {
  rho_ *= factor, share_ *= factor;
  for (std::size_t k = 0; k < x_.size(); ++k) x_[k] = z_[k] + (x_[k] - z_[k]) / factor;
  return inverse_.set(set.K, set.ld, m_, rho_, team_, stop);
}

template <class T>
bool MarginSplitting<T>::solve(const Set& set, std::vector<double>& b, const Goal& goal,
                               const std::function<bool()>& stop) {
  m_ = static_cast<Index>(set.example.size()), n_steps_ = 0;
  label_.clear(), u_.clear();
  double diagonal = 0;
  for (Index r = 0; r < m_; ++r) {
    label_.push_back(p_.label[set.example[r]]), u_.push_back(p_.upper[set.example[r]]);
    diagonal += double(set.K[r * set.ld + r]) / double(m_);
  }
  rho_ = share_ * diagonal;
  if (!(rho_ > 0) || !inverse_.set(set.K, set.ld, m_, rho_, team_, stop)) return false;
  begin(set.F, b);
  nearest();
  double least = std::numeric_limits<double>::infinity(), lowest = 0, higher = 0, enough = goal.tol;
  std::vector<double> best = b;
  for (Index looks = 1, idle = 0; n_steps_ < goal.most && idle < kIdle && !stop(); ++looks) {
    for (Index k = 1; k <= kLook; ++k, ++n_steps_) step(k == kLook);
    higher += look(set);
    const double now = violation();
    idle = now < 0.95 * least ? 0 : idle + 1;
    least = std::min(least, now);
    if (looks == 1) enough = std::max(goal.tol, goal.share * now);
    if (higher <= lowest + kRounding * std::abs(lowest)) lowest = std::min(lowest, higher), best = z_;
    if (now <= enough) {
      b = best;
      return true;
    }
    const bool off = pace_ > kChange || pace_ < 1 / kChange;
    if (looks == kTuned && off && !change_rho(set, pace_, stop)) break;
  }
  b = best;
  return false;
}

template class MarginSplitting<float>;
template class MarginSplitting<double>;

}  // namespace polymargin
