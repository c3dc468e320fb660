#include "margins/margin_qp.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace polymargin {

namespace {
constexpr double kNoCap = 1e300;
}

template <class T>
void MarginQp<T>::load(const std::vector<Index>& example, std::vector<const T*> K, const std::vector<double>& F,
                       const std::vector<double>& b) {
  example_ = example, K_ = std::move(K);
  m_ = static_cast<Index>(example_.size());
  shared_ = p_.reference == Reference::mean ? 1 / double(T_) : 0;
  const std::size_t size = static_cast<std::size_t>(m_ * (T_ + 1));
  for (auto* v : {&low, &high, &z, &gradient}) v->assign(size, 0.0);
  tie_of.resize(size), axis_.resize(size), along_.assign(size, -1.0), base.resize(m_), label_.resize(m_);
  for (Index r = 0; r < m_; ++r) {
    const Index i = example_[r], y = label_[r] = p_.label[i];
    const double u = p_.upper[i], ref = p_.ref(F.data() + r, m_, y);
    double total = 0;
    for (Index c = 0; c < T_; ++c) {
      const Index at = c * m_ + r;
      tie_of[at] = r, axis_[at] = c;
      if (p_.reference != Reference::own) along_[at] = sign(c, r);
      if (c == y && p_.own_target <= 0) continue;
      z[at] = std::abs(b[at]), high[at] = p_.capped ? std::numeric_limits<double>::infinity() : u;
      gradient[at] = sign(c, r) * (F[at] - ref - p_.target(c, y) + p_.ridge[i] * b[at]);
      total += z[at];
    }
    const Index slack = T_ * m_ + r;
    tie_of[slack] = r, axis_[slack] = y, high[slack] = std::numeric_limits<double>::infinity();
    z[slack] = !p_.capped ? kNoCap : total < kAtCap * u ? u - total : 0;
    if (p_.reference != Reference::own) along_[slack] = 0;
    base[r] = slack;
    for (Index c = 0; c < T_ && p_.capped; ++c)
      if (z[c * m_ + r] > z[base[r]]) base[r] = c * m_ + r;
  }
  bound_ = high;
}

template <class T>
void MarginQp<T>::confine(Index c) {
  for (Index i = 0; i < T_ * m_; ++i) {
    const bool moves = axis_[i] == c;
    low[i] = moves ? 0 : z[i], high[i] = moves ? bound_[i] : z[i];
  }
}

// No more than the cap, whatever rounding says.
template <class T>
double MarginQp<T>::b(Index r, Index c) const {
  double size = z[c * m_ + r];
  if (p_.capped && base[r] == c * m_ + r) {
    size = p_.upper[example_[r]];
    for (Index d = 0; d <= T_; ++d)
      if (d != c) size -= z[d * m_ + r];
    size = std::max(size, 0.0);
  }
  return sign(c, r) * size;
}

template <class T>
double MarginQp<T>::values(Index i, const std::vector<Index>& list, double* out) const {
  const Index r = tie_of[i], slacks = T_ * m_;
  const double ridge = p_.ridge[example_[r]], has_base = base[r] < slacks;  // that counts as well
  std::vector<double> to(T_, -shared_ * (along_[i] - along_[base[r]]));     // <what i and its base change, e_c>
  to[axis_[i]] += along_[i], to[axis_[base[r]]] -= along_[base[r]];
  const T* K = K_[r];
  auto with = [&](Index j, Index other) { return along_[j] * to[axis_[j]] - along_[other] * to[axis_[other]]; };
  for (Index j : list) {
    const Index s = tie_of[j];
    *out++ = with(j, base[s]) * double(K[s]) + (s == r ? ridge * has_base : 0);
  }
  return with(i, base[r]) * double(K[r]) + ridge * (has_base + (i < slacks));
}

template <class T>
void MarginQp<T>::add_change(const std::vector<double>& old, std::vector<double>& g) const {
  ScoreChange change(T_);
  std::vector<const T*> rows;
  std::vector<double> now(T_), before(T_);
  for (Index r = 0; r < m_; ++r) {
    bool moves = false;
    for (Index c = 0; c < T_; ++c) {
      const Index at = c * m_ + r;
      now[c] = sign(c, r) * z[at], before[c] = sign(c, r) * old[at];
      moves |= z[at] != old[at];
    }
    if (!moves) continue;
    M_.add(change, example_[r], now.data(), before.data(), 1);
    rows.push_back(K_[r]);
  }
  std::vector<double> F(static_cast<std::size_t>(m_ * T_), 0.0);
  M_.add_rows(rows, change, m_, F.data());
  for (Index r = 0; r < m_; ++r) {
    const double ref = p_.ref(F.data() + r, m_, label_[r]), ridge = p_.ridge[example_[r]];
    for (Index c = 0; c < T_; ++c) {
      const Index at = c * m_ + r;
      g[at] += sign(c, r) * (F[at] - ref) + ridge * (z[at] - old[at]);
    }
  }
}

template <class T>
double MarginQp<T>::jitter() const {
  double largest = std::numeric_limits<double>::min();
  for (Index r = 0; r < m_; ++r) largest = std::max(largest, 2 * double(K_[r][r]));
  return (sizeof(T) == 8 ? 1e-13 : 2e-6) * largest;
}

template class MarginQp<float>;
template class MarginQp<double>;

}  // namespace polymargin
