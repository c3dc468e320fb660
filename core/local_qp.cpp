#include "local_qp.hpp"

#include <algorithm>
#include <cmath>

namespace polymargin {

namespace {

constexpr Index kStopEvery = 4096;  // steps between two looks at the clock
constexpr double kTiny = 1e-12;     // curvature of a flat or indefinite direction

double clip(double x, double low, double high) { return std::min(std::max(x, low), high); }

// min  g1 x + g2 z + 1/2 (q11 x^2 + 2 q12 x z + q22 z^2)  over a rectangle: the interior point if it lies inside, else the
// best edge. Two equal rows make the determinant vanish; an edge through the one-variable optimum then serves as well.
struct Pair {
  double g1, g2, q11, q22, q12, low1, high1, low2, high2;
  double x = 0, z = 0, best = 0;

  void offer(double x_, double z_) {
    double value = g1 * x_ + g2 * z_ + 0.5 * (q11 * x_ * x_ + q22 * z_ * z_) + q12 * x_ * z_;
    if (value < best) best = value, x = x_, z = z_;
  }
  void first_at(double x_) { offer(x_, clip(-(g2 + q12 * x_) / q22, low2, high2)); }
  void second_at(double z_) { offer(clip(-(g1 + q12 * z_) / q11, low1, high1), z_); }
  void solve() {
    double det = q11 * q22 - q12 * q12;
    if (det > kTiny * q11 * q22) {
      double x_ = (g2 * q12 - g1 * q22) / det, z_ = (g1 * q12 - g2 * q11) / det;
      if (x_ >= low1 && x_ <= high1 && z_ >= low2 && z_ <= high2) {
        x = x_, z = z_;
        return;
      }
    }
    first_at(clip(-g1 / q11, low1, high1));
    second_at(clip(-g2 / q22, low2, high2));
    first_at(low1);
    second_at(low2);
    if (std::isfinite(high1)) first_at(high1);
    if (std::isfinite(high2)) second_at(high2);
  }
};

// No sum constraint: the variable with the largest gain, and the best partner given its step.
template <class T>
Index box_steps(LocalQp<T>& qp, double eps, Index max_steps, const std::function<bool()>& stop) {
  const Steps<T>& pass = steps<T>();
  Index n_steps = 0;
  Pick first = pass.box_first(qp.G.data(), qp.row(0), qp.row(0), T(0), T(0), qp.up.data(), qp.down.data(),
                              qp.inverse.data(), qp.ld);
  while (first.violation > eps && first.at >= 0 && n_steps < max_steps) {
    Index i = first.at, j = i;
    double low = -qp.a[i], high = qp.u[i] - qp.a[i], q = std::max<double>(qp.diagonal[i], kTiny);
    double si = clip(-qp.G[i] / q, low, high), sj = 0;
    bool inside = si > low && si < high;
    T up = qp.up[i], down = qp.down[i];
    qp.up[i] = qp.down[i] = T(kBlocked);
    Pick second = pass.box_second(qp.G.data(), qp.row(i), T(si), inside ? T(1 / q) : T(0), qp.up.data(), qp.down.data(),
                                  qp.diagonal.data(), qp.ld);
    qp.up[i] = up, qp.down[i] = down;
    if (second.at >= 0) {
      j = second.at;
      Pair pair{double(qp.G[i]),
                double(qp.G[j]),
                q,
                std::max<double>(qp.diagonal[j], kTiny),
                double(qp.row(i)[j]),
                low,
                high,
                -qp.a[j],
                qp.u[j] - qp.a[j]};
      pair.solve();
      si = pair.x, sj = pair.z;
    }
    // A step to a bound lands on it exactly: a + (u - a) may differ from u by a rounding error.
    qp.set(i, si >= high ? qp.u[i] : si <= low ? 0 : qp.a[i] + si);
    if (j != i) qp.set(j, sj >= qp.u[j] - qp.a[j] ? qp.u[j] : sj <= -qp.a[j] ? 0 : qp.a[j] + sj);
    if (si == 0 && sj == 0) break;
    first = pass.box_first(qp.G.data(), qp.row(i), qp.row(j), T(si), T(sj), qp.up.data(), qp.down.data(),
                           qp.inverse.data(), qp.ld);
    if (++n_steps % kStopEvery == 0 && stop()) break;
  }
  return n_steps;
}

// Sum constraints: the most violating group, its lowest gradient i that may grow, and the best partner j that may fall.
template <class T>
Index group_steps(LocalQp<T>& qp, double eps, Index max_steps, const std::function<bool()>& stop) {
  const Steps<T>& pass = steps<T>();
  Index n_steps = 0;
  while (n_steps < max_steps) {
    Range worst;
    Index begin = 0, end = 0;
    for (std::size_t g = 0; g + 1 < qp.groups.size(); ++g) {
      Range range = pass.group_first(qp.G.data(), qp.up.data(), qp.down.data(), qp.groups[g], qp.groups[g + 1]);
      if (range.high - range.low > worst.high - worst.low) worst = range, begin = qp.groups[g], end = qp.groups[g + 1];
    }
    if (worst.lowest < 0 || worst.high - worst.low <= eps) break;
    Index i = worst.lowest;
    Pick second = pass.group_second(qp.G.data(), qp.row(i), qp.G[i], qp.diagonal[i], qp.down.data(), qp.diagonal.data(),
                                    begin, end);
    Index j = second.at;
    if (j < 0) break;
    double quad = std::max<double>(double(qp.diagonal[i]) + qp.diagonal[j] - 2 * double(qp.row(i)[j]), kTiny);
    double room = std::min(qp.u[i] - qp.a[i], qp.a[j]);
    double s = std::min((double(qp.G[j]) - qp.G[i]) / quad, room);
    if (!(s > 0)) break;
    bool full = s >= qp.u[i] - qp.a[i], empty = s >= qp.a[j];
    qp.set(i, full ? qp.u[i] : qp.a[i] + s);
    qp.set(j, empty ? 0 : qp.a[j] - s);
    pass.update(qp.G.data(), qp.row(i), qp.row(j), T(s), T(-s), qp.ld);
    if (++n_steps % kStopEvery == 0 && stop()) break;
  }
  return n_steps;
}

double sigmoid(double t) { return t >= 0 ? 1 / (1 + std::exp(-t)) : std::exp(t) / (1 + std::exp(t)); }
double log_add(double x, double y) { return std::max(x, y) + std::log1p(std::exp(-std::abs(x - y))); }

// The root of an increasing function of t by Newton's method inside a bracket.
template <class F>
double increasing_root(double low, double high, double t, const F& f) {
  t = clip(t, low, high);
  for (int k = 0; k < 200; ++k) {
    auto [value, slope] = f(t);
    if (value == 0) return t;
    (value > 0 ? high : low) = t;
    double next = t - value / slope;
    if (!(next > low && next < high)) next = 0.5 * (low + high);
    if (std::abs(next - t) <= 1e-15 * (1 + std::abs(t))) return next;
    t = next;
  }
  return t;
}

template <class T>
void set_entropy(LocalQp<T>& qp, Index i, double t) {
  qp.t[i] = t;
  qp.a[i] = qp.u[i] * sigmoid(t);
}

// q (u sigmoid(t) - a) + G + t = 0
template <class T>
double newton_one(const LocalQp<T>& qp, Index i) {
  double q = std::max<double>(qp.diagonal[i], 0), G = qp.G[i], a = qp.a[i], u = qp.u[i];
  return increasing_root(-G - q * (u - a) - 1, -G + q * a + 1, qp.t[i], [&](double t) {
    double p = sigmoid(t);
    return std::pair{q * (u * p - a) + G + t, q * u * p * sigmoid(-t) + 1};
  });
}

// The same along a_v + a_w = const, in the logit t of v. With c = u - a computed from the logit as well, a step keeps its digits
// near either bound; the variable that ends closer to one is the one to be solved for.
template <class T>
void newton_two(LocalQp<T>& qp, Index v, Index w, double quad) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    const double uv = qp.u[v], av = uv * sigmoid(qp.t[v]), cv = uv * sigmoid(-qp.t[v]);
    const double uw = qp.u[w], aw = uw * sigmoid(qp.t[w]), cw = uw * sigmoid(-qp.t[w]);
    const double G = double(qp.G[v]) - qp.G[w];
    auto step = [&](double t) { return t < 0 ? uv * sigmoid(t) - av : cv - uv * sigmoid(-t); };
    const double reach = 100 + std::abs(G) + quad * std::min(uv, uw) + std::abs(qp.t[v]) + std::abs(qp.t[w]);
    double t = 0, tw = 0;
    if (std::max(av, aw) < 1e-280) {  // both vanish: only the logarithm of their sum is left to be kept
      const double log_sum = log_add(std::log(uv) + qp.t[v], std::log(uw) + qp.t[w]);
      tw = log_sum - log_add(std::log(uv) - G, std::log(uw));
      t = tw - G;
    } else if (std::max(cv, cw) < 1e-280) {
      const double log_sum = log_add(std::log(uv) - qp.t[v], std::log(uw) - qp.t[w]);
      tw = log_add(std::log(uv) + G, std::log(uw)) - log_sum;
      t = tw - G;
    } else {
      t = increasing_root(-reach, reach, qp.t[v], [&](double x) {
        const double s = step(x), a = aw - s, c = cw + s;
        if (a <= 0) return std::pair{1e300, 1.0};
        if (c <= 0) return std::pair{-1e300, 1.0};
        const double slope = uv * sigmoid(x) * sigmoid(-x);
        return std::pair{G + quad * s + x - std::log(a / c), 1 + slope * (quad + 1 / a + 1 / c)};
      });
      const double s = step(t), a = aw - s, c = cw + s;
      const bool w_is_closer = std::min(a, c) < std::min(uv * sigmoid(t), uv * sigmoid(-t));
      if (attempt == 0 && w_is_closer) {
        std::swap(v, w);
        continue;
      }
      if (!(a > 0 && c > 0)) return;
      tw = std::log(a / c);
    }
    set_entropy(qp, v, t);
    set_entropy(qp, w, tw);
    return;
  }
}

// The least curvature of phi that a variable meets on its way up or down. At its present place it may be huge where the way leads
// off a bound, and a choice by that would leave such a variable there for ever.
double way_up(double t, double u) { return t < 0 ? 4 / u : 1 / (u * sigmoid(t) * sigmoid(-t)); }
double way_down(double t, double u) { return way_up(-t, u); }

// The logistic loss: every variable is interior and the gradient is G + t. The variable with the largest gain goes, together with
// the best partner in its group under a sum constraint.
template <class T>
Index entropy_steps(LocalQp<T>& qp, double eps, Index max_steps, const std::function<bool()>& stop) {
  const Steps<T>& pass = steps<T>();
  std::vector<double> up(qp.m), down(qp.m), h(qp.m);
  auto note = [&](Index k) { up[k] = way_up(qp.t[k], qp.u[k]), down[k] = way_down(qp.t[k], qp.u[k]); };
  for (Index k = 0; k < qp.m; ++k) note(k);
  Index n_steps = 0;
  for (; n_steps < max_steps; ++n_steps) {
    if (n_steps % kStopEvery == kStopEvery - 1 && stop()) break;
    for (Index k = 0; k < qp.m; ++k) h[k] = qp.G[k] + qp.t[k];
    Index i = -1, j = -1;
    double best = 0, quad = 0;
    if (qp.groups.empty()) {
      for (Index k = 0; k < qp.m; ++k) {
        if (std::abs(h[k]) <= eps || !entropy_moves(qp.t[k], h[k])) continue;
        double key = h[k] * h[k] / (qp.diagonal[k] + (h[k] < 0 ? up[k] : down[k]));
        if (key > best) best = key, i = j = k;
      }
    } else {
      double worst = eps;
      Index begin = 0, end = 0;
      for (std::size_t g = 0; g + 1 < qp.groups.size(); ++g) {
        double low = kBlocked, high = -kBlocked;
        for (Index k = qp.groups[g]; k < qp.groups[g + 1]; ++k) {
          if (qp.t[k] < kFull) low = std::min(low, h[k]);
          if (qp.t[k] > -kFull) high = std::max(high, h[k]);
        }
        if (high - low <= worst) continue;
        worst = high - low, begin = qp.groups[g], end = qp.groups[g + 1], best = 0;
        for (Index k = begin; k < end; ++k) {
          double gap = high - h[k], key = gap * gap / (qp.diagonal[k] + up[k]);
          if (gap > 0 && qp.t[k] < kFull && key > best) best = key, i = k;
        }
      }
      best = 0;
      for (Index k = begin; i >= 0 && k < end; ++k) {
        double gap = h[k] - h[i],
               q = std::max<double>(double(qp.diagonal[i]) + qp.diagonal[k] - 2 * double(qp.row(i)[k]), 0);
        double key = gap * gap / (q + up[i] + down[k]);
        if (gap > 0 && qp.t[k] > -kFull && key > best) best = key, j = k, quad = q;
      }
    }
    if (i < 0 || j < 0) break;
    double ai = qp.a[i], aj = qp.a[j];
    if (i == j)
      set_entropy(qp, i, newton_one(qp, i));
    else
      newton_two(qp, i, j, quad);
    note(i), note(j);
    pass.update(qp.G.data(), qp.row(i), qp.row(j), T(qp.a[i] - ai), i == j ? T(0) : T(qp.a[j] - aj), qp.ld);
  }
  return n_steps;
}

}  // namespace

template <class T>
void LocalQp<T>::resize(Index size) {
  m = size;
  ld = (size + kLanes - 1) / kLanes * kLanes;
  Q.resize(static_cast<std::size_t>(m * ld));
  // The padding never moves: it is blocked both ways.
  G.assign(ld, T(0));
  up.assign(ld, T(kBlocked));
  down.assign(ld, T(kBlocked));
  diagonal.assign(ld, T(1));
  inverse.assign(ld, T(1));
  a.assign(m, 0);
  u.assign(m, 0);
  t.assign(m, 0);
  groups.clear();
}

template <class T>
Index solve_local(LocalQp<T>& qp, double eps, Index max_steps, const std::function<bool()>& stop) {
  if (qp.entropy) return entropy_steps(qp, eps, max_steps, stop);
  return qp.groups.empty() ? box_steps(qp, eps, max_steps, stop) : group_steps(qp, eps, max_steps, stop);
}

template struct LocalQp<float>;
template struct LocalQp<double>;
template Index solve_local(LocalQp<float>&, double, Index, const std::function<bool()>&);
template Index solve_local(LocalQp<double>&, double, Index, const std::function<bool()>&);

}  // namespace polymargin
