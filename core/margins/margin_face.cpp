#include "margins/margin_face.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace polymargin {

namespace {
constexpr double kPast = 1 + 1e-10;  // a bound that a step misses by less is reached
constexpr double kFlat = 1e-14;      // curvature over the length of a direction, squared, that is rounding alone
double dot(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}
}  // namespace

template <class T>
bool MarginFace<T>::is_free(Index k, Index c) const {
  const double size = std::abs(b_[c * m_ + k]);
  return size > 0 && size < p_.upper[(*example_)[k]];
}

// The face of b_: its free variables, and the examples whose sum of sizes is held. |b_c| = s_c b_c, s_c = 1 for the own class and
// -1 for others.
template <class T>
void MarginFace<T>::find() {
  std::fill(n_free_.begin(), n_free_.end(), 0.0);
  std::vector<double> total(m_, 0.0);
  for (Index c = 0; c < T_; ++c)
    for (Index k = 0; k < m_; ++k) {
      free_[c * m_ + k] = is_free(k, c);
      n_free_[k] += free_[c * m_ + k];
      total[k] += std::abs(b_[c * m_ + k]);
    }
  for (Index k = 0; k < m_; ++k) at_cap_[k] = p_.capped && total[k] >= kAtCap * p_.upper[(*example_)[k]];
}

// The part of v along the face; returns its largest entry.
template <class T>
double MarginFace<T>::project(std::vector<double>& v) const {
  for (std::size_t j = 0; j < v.size(); ++j) v[j] = free_[j] ? v[j] : 0;
  if (p_.capped) {
    for (Index k = 0; k < m_; ++k) {
      if (!at_cap_[k]) continue;
      const Index y = p_.label[(*example_)[k]];
      double sum = 0;
      for (Index c = 0; c < T_; ++c) sum += (c == y ? 1 : -1) * v[c * m_ + k];
      for (Index c = 0; c < T_; ++c)
        if (free_[c * m_ + k]) v[c * m_ + k] -= (c == y ? 1 : -1) * sum / n_free_[k];
    }
  }
  double largest = 0;
  for (double x : v) largest = std::max(largest, std::abs(x));
  return largest;
}

// Hd: the change of the gradient with b along d.
template <class T>
void MarginFace<T>::product(const std::vector<double>& d, std::vector<double>& Hd) {
  ScoreChange change(T_);
  for (Index k = 0; k < m_; ++k) M_.add(change, (*example_)[k], d.data() + k, zero_.data() + k, m_);
  std::fill(Hd.begin(), Hd.end(), 0.0);
  M_.add_rows(*K_, change, m_, Hd.data());
  for (Index k = 0; k < m_; ++k) {
    const Index i = (*example_)[k];
    double ref = 0;
    if (p_.reference == Reference::own) ref = Hd[p_.label[i] * m_ + k];
    if (p_.reference == Reference::mean)
      for (Index c = 0; c < T_; ++c) ref += Hd[c * m_ + k] / double(T_);
    for (Index c = 0; c < T_; ++c) Hd[c * m_ + k] += p_.ridge[i] * d[c * m_ + k] - ref;
  }
}

// How far b may go along d.
template <class T>
double MarginFace<T>::first_bound(const std::vector<double>& d) const {
  double step = std::numeric_limits<double>::infinity();
  for (Index k = 0; k < m_; ++k) {
    const Index i = (*example_)[k], y = p_.label[i];
    const double u = p_.upper[i];
    double total = 0, growth = 0;
    for (Index c = 0; c < T_; ++c) {
      const double s = c == y ? 1 : -1, size = s * b_[c * m_ + k], rate = s * d[c * m_ + k];
      total += size, growth += rate;
      if (rate < 0) step = std::min(step, -size / rate);
      if (rate > 0 && !p_.capped) step = std::min(step, (u - size) / rate);
    }
    if (p_.capped && !at_cap_[k] && growth > 0) step = std::min(step, std::max(u - total, 0.0) / growth);
  }
  return step;
}

// Moves v into the bounds, and examples above their cap down to it.
template <class T>
void MarginFace<T>::cut(std::vector<double>& v) const {
  for (Index k = 0; k < m_; ++k) {
    const Index i = (*example_)[k], y = p_.label[i];
    double total = 0;
    for (Index c = 0; c < T_; ++c) {
      double& x = v[c * m_ + k];
      x = c == y ? std::clamp(x, 0.0, p_.upper[i]) : std::clamp(x, -p_.upper[i], 0.0);
      total += std::abs(x);
    }
    if (p_.capped && total > p_.upper[i])
      for (Index c = 0; c < T_; ++c) v[c * m_ + k] *= p_.upper[i] / total;
  }
}

template <class T>
void MarginFace<T>::descend(const std::vector<Index>& example, const std::vector<const T*>& K,
                            const std::vector<double>& F, std::vector<double>& b, double eps, Index most,
                            const std::function<bool()>& stop) {
  example_ = &example, K_ = &K;
  m_ = static_cast<Index>(example.size());
  const std::size_t size = static_cast<std::size_t>(m_ * T_);
  b_ = b;
  zero_.assign(m_ * T_, 0.0), free_.assign(size, 0), at_cap_.assign(m_, 0), n_free_.assign(m_, 0.0);
  std::vector<double> g(size), r(size), d(size), Hd(size), whole(size), HDelta(size);
  for (Index k = 0; k < m_; ++k) {
    const Index i = example[k], y = p_.label[i];
    double ref = p_.reference == Reference::own ? F[y * m_ + k] : 0;
    if (p_.reference == Reference::mean)
      for (Index c = 0; c < T_; ++c) ref += F[c * m_ + k] / double(T_);
    for (Index c = 0; c < T_; ++c) g[c * m_ + k] = F[c * m_ + k] - ref - p_.target(c, y) + p_.ridge[i] * b_[c * m_ + k];
  }
  find();
  double rr = 0;  // 0: begin anew
  for (Index products = 0; products < most && !stop(); ++products) {
    for (std::size_t j = 0; j < size; ++j) r[j] = -g[j];
    if (project(r) <= eps) break;
    const double squares = dot(r, r);
    for (std::size_t j = 0; j < size; ++j) d[j] = r[j] + (rr > 0 ? squares / rr * d[j] : 0);
    rr = squares;
    product(d, Hd);
    const double curvature = dot(d, Hd), slope = dot(g, d), length = dot(d, d);
    const double wanted = curvature > kFlat * length ? -slope / curvature : std::numeric_limits<double>::infinity();
    const double room = first_bound(d), step = std::min(wanted, room);
    if (!(slope < 0) || !std::isfinite(step)) break;
    double fall = step * (slope + 0.5 * step * curvature);
    bool cut_off = false;
    if (wanted > room && std::isfinite(wanted)) {
      for (std::size_t j = 0; j < size; ++j) whole[j] = b_[j] + wanted * d[j];
      cut(whole);
      for (std::size_t j = 0; j < size; ++j) whole[j] -= b_[j];
      product(whole, HDelta);
      ++products;
      cut_off = dot(g, whole) + 0.5 * dot(whole, HDelta) < fall;
    }
    if (cut_off) {
      for (std::size_t j = 0; j < size; ++j) b_[j] += whole[j], g[j] += HDelta[j];
    } else {
      for (std::size_t j = 0; j < size; ++j) {
        // The variable that ends the step is at its bound then, whatever rounding says.
        const double u = p_.upper[example[j % m_]], size_of = std::abs(b_[j]), rate = b_[j] > 0 ? d[j] : -d[j];
        b_[j] += step * d[j], g[j] += step * Hd[j];
        if (size_of + step * rate * kPast <= 0) b_[j] = 0;
        if (free_[j] && size_of + step * rate * kPast >= u) b_[j] = std::copysign(u, b_[j]);
      }
    }
    if (wanted <= room) continue;
    cut(b_);
    find();
    rr = 0;
  }
  b = b_;
}

template class MarginFace<float>;
template class MarginFace<double>;

}  // namespace polymargin
