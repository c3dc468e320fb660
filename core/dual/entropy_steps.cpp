#include "dual/entropy_steps.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace polymargin {

namespace {

constexpr Index kStopEvery = 4096;  // steps between two looks at the clock
constexpr double kRoot = 1e-9;      // a value far from that of a root
constexpr double kVanishes = 1e-280;

double sigmoid(double t) { return t >= 0 ? 1 / (1 + std::exp(-t)) : std::exp(t) / (1 + std::exp(t)); }
// log(a / c), where a quotient of tiny numbers may be 0 or infinite.
double log_ratio(double a, double c) {
  const double r = a / c;
  return r > 0 && r <= std::numeric_limits<double>::max() ? std::log(r) : std::log(a) - std::log(c);
}
double log_add(double x, double y) { return std::max(x, y) + std::log1p(std::exp(-std::abs(x - y))); }

// The root of an increasing function of t by Newton's method inside a bracket. Beside a pole Newton's steps are short
// far from the root as well: there the bracket is halved.
template <class F>
double increasing_root(double low, double high, double t, const F& f) {
  t = std::min(std::max(t, low), high);
  for (int k = 0; k < 200; ++k) {
    auto [value, slope] = f(t);
    if (value == 0) return t;
    (value > 0 ? high : low) = t;
    double next = t - value / slope;
    const double least = 1e-15 * (1 + std::abs(t));
    if (!(next > low && next < high) || (std::abs(next - t) <= least && std::abs(value) > kRoot))
      next = 0.5 * (low + high);
    if (std::abs(next - t) <= least) return next;
    t = next;
  }
  return t;
}

// t, or if it is outside the last point inside on the way to it.
template <class F>
double last_inside(double from, double t, const F& inside) {
  while (!inside(t)) {
    const double middle = 0.5 * (from + t);
    if (!(std::min(from, t) < middle && middle < std::max(from, t))) return from;
    (inside(middle) ? from : t) = middle;
  }
  return t;
}

template <class T>
void set_entropy(EntropyQp<T>& qp, Index i, double t) {
  qp.t[i] = t;
  qp.a[i] = qp.u[i] * sigmoid(t);
}

// q (u sigmoid(t) - a) + G + t = 0
template <class T>
double newton_one(const EntropyQp<T>& qp, Index i) {
  double q = std::max<double>(qp.diagonal[i], 0), G = qp.G[i], a = qp.a[i], u = qp.u[i];
  return increasing_root(-G - q * (u - a) - 1, -G + q * a + 1, qp.t[i], [&](double t) {
    double p = sigmoid(t);
    return std::pair{q * (u * p - a) + G + t, q * u * p * sigmoid(-t) + 1};
  });
}

// log x and log y of the numbers whose difference is that of exp(a) and exp(b), and whose product is exp(product). The
// smaller one solves a quadratic equation in which nothing cancels.
std::pair<double, double> with_product(double a, double b, double product) {
  const double difference = std::max(a, b) + std::log1p(-std::exp(-std::abs(a - b)));
  const double root = 0.5 * log_add(2 * difference, product + std::log(4.0));
  const double smaller = product + std::log(2.0) - log_add(difference, root);
  return a < b ? std::pair{smaller, product - smaller} : std::pair{product - smaller, smaller};
}

// The same along a_v + a_w = const, in the logit t of v. With c = u - a computed from the logit as well, a step keeps
// its digits near either bound; the variable that ends closer to one is solved for. Returns whether they have moved.
template <class T>
bool newton_two(EntropyQp<T>& qp, Index v, Index w, double quad) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    const double uv = qp.u[v], av = uv * sigmoid(qp.t[v]), cv = uv * sigmoid(-qp.t[v]);
    const double uw = qp.u[w], aw = uw * sigmoid(qp.t[w]), cw = uw * sigmoid(-qp.t[w]);
    const double G = double(qp.G[v]) - qp.G[w];
    auto step = [&](double t) { return t < 0 ? uv * sigmoid(t) - av : cv - uv * sigmoid(-t); };
    const double reach = 100 + std::abs(G) + quad * std::min(uv, uw) + std::abs(qp.t[v]) + std::abs(qp.t[w]);
    double t = 0, tw = 0;
    bool emptied = false;
    if (std::max(av, cw) < kVanishes) {  // v is empty and w is full: a_v - c_w is kept, and G + t_v = t_w
      const auto [a, c] = with_product(std::log(uv) + qp.t[v], std::log(uw) - qp.t[w], std::log(uv) + std::log(uw) - G);
      t = a - std::log(uv), tw = std::log(uw) - c;
      emptied = std::max(a, c) < std::log(kVanishes);  // else the step is one that numbers can hold
    }
    if (!emptied && std::max(av, aw) < kVanishes) {  // both vanish: only the logarithm of their sum is left to be kept
      const double log_sum = log_add(std::log(uv) + qp.t[v], std::log(uw) + qp.t[w]);
      tw = log_sum - log_add(std::log(uv) - G, std::log(uw));
      t = tw - G;
    } else if (!emptied && std::max(cv, cw) < kVanishes) {
      const double log_sum = log_add(std::log(uv) - qp.t[v], std::log(uw) - qp.t[w]);
      tw = log_add(std::log(uv) + G, std::log(uw)) - log_sum;
      t = tw - G;
    } else if (!emptied) {
      t = increasing_root(-reach, reach, qp.t[v], [&](double x) {
        const double s = step(x), a = aw - s, c = cw + s;
        if (a <= 0) return std::pair{1e300, 1.0};
        if (c <= 0) return std::pair{-1e300, 1.0};
        const double slope = uv * sigmoid(x) * sigmoid(-x);
        return std::pair{G + quad * s + x - log_ratio(a, c), 1 + slope * (quad + 1 / a + 1 / c)};
      });
      // Where v and w reach their bounds together, rounding may put the root beyond.
      t = last_inside(qp.t[v], t, [&](double x) { return aw - step(x) > 0 && cw + step(x) > 0; });
      const double s = step(t), a = aw - s, c = cw + s;
      const bool w_is_closer = std::min(a, c) < std::min(uv * sigmoid(t), uv * sigmoid(-t));
      if (attempt == 0 && w_is_closer) {
        std::swap(v, w);
        continue;
      }
      if (!(a > 0 && c > 0)) return false;
      tw = log_ratio(a, c);
    }
    const bool moved = t != qp.t[v] || tw != qp.t[w];
    set_entropy(qp, v, t);
    set_entropy(qp, w, tw);
    return moved;
  }
  return false;
}

// The least curvature of phi that a variable meets on its way up or down. At its current value it may be huge where the
// way leads off a bound, and a choice by that would leave such a variable there forever.
double way_up(double t, double u) { return t < 0 ? 4 / u : 1 / (u * sigmoid(t) * sigmoid(-t)); }
double way_down(double t, double u) { return way_up(-t, u); }

}  // namespace

// The logistic loss: every variable is interior and the gradient is G + t. The variable with the largest gain goes,
// together with the best partner in its group under a sum constraint.
template <class T>
Index entropy_steps(EntropyQp<T>& qp, double eps, Index max_steps, const std::function<bool()>& stop) {
  const Steps<T>& pass = steps<T>();
  std::vector<double> up(qp.m), down(qp.m), h(qp.m);
  auto note = [&](Index k) { up[k] = way_up(qp.t[k], qp.u[k]), down[k] = way_down(qp.t[k], qp.u[k]); };
  for (Index k = 0; k < qp.m; ++k) note(k);
  Index n_steps = 0;
  for (; n_steps < max_steps; ++n_steps) {
    if (n_steps % kStopEvery == kStopEvery - 1 && stop()) break;
    for (Index k = 0; k < qp.m; ++k) h[k] = qp.G[k] + qp.t[k];
    Index i = -1, j = -1;
    Index lowest = -1, highest = -1;
    double best = 0, quad = 0;
    const auto curvature = [&](Index v, Index w) {
      return std::max<double>(double(qp.diagonal[v]) + qp.diagonal[w] - 2 * double(qp.row(v)[w]), 0);
    };
    if (qp.groups.empty()) {
      for (Index k = 0; k < qp.m; ++k) {
        if (std::abs(h[k]) <= eps || (h[k] < 0 ? qp.t[k] >= kFull : qp.t[k] <= -kFull)) continue;
        double key = h[k] * h[k] / (qp.diagonal[k] + (h[k] < 0 ? up[k] : down[k]));
        if (key > best) best = key, i = j = k;
      }
    } else {
      double worst = eps;
      Index begin = 0, end = 0;
      for (std::size_t g = 0; g + 1 < qp.groups.size(); ++g) {
        double low = kBlocked, high = -kBlocked;
        Index at_low = -1, at_high = -1;
        for (Index k = qp.groups[g]; k < qp.groups[g + 1]; ++k) {
          if (qp.t[k] < kFull && h[k] < low) low = h[k], at_low = k;
          if (qp.t[k] > -kFull && h[k] > high) high = h[k], at_high = k;
        }
        if (high - low <= worst) continue;
        lowest = at_low, highest = at_high;
        worst = high - low, begin = qp.groups[g], end = qp.groups[g + 1];
      }
      // A logit beyond the limit is back at it after a move that no number shows. What is left of the gradient then is
      // what a step would gain by; pairs that differ in such logits only come last, or they would trade the same tiny
      // amount forever.
      for (const double limit : {kFull, kBlocked}) {
        const auto rising = [&](Index k) { return qp.G[k] + std::max(qp.t[k], -limit); };
        const auto falling = [&](Index k) { return qp.G[k] + std::min(qp.t[k], limit); };
        i = j = -1;
        double high = -kBlocked;
        for (Index k = begin; k < end; ++k)
          if (qp.t[k] > -kFull) high = std::max(high, falling(k));
        best = 0;
        for (Index k = begin; k < end; ++k) {
          double gap = high - rising(k), key = gap * gap / (qp.diagonal[k] + up[k]);
          if (gap > eps && qp.t[k] < kFull && key > best) best = key, i = k;
        }
        best = 0;
        for (Index k = begin; i >= 0 && k < end; ++k) {
          double gap = falling(k) - rising(i), q = curvature(i, k);
          double key = gap * gap / (q + up[i] + down[k]);
          if (gap > 0 && qp.t[k] > -kFull && key > best) best = key, j = k, quad = q;
        }
        if (j >= 0) break;
      }
    }
    if (i < 0 || j < 0) break;
    double ai = qp.a[i], aj = qp.a[j];
    if (i == j) {
      set_entropy(qp, i, newton_one(qp, i));
    } else if (!newton_two(qp, i, j, quad)) {  // equal except for rounding: then the two that are furthest apart
      i = lowest, j = highest, ai = qp.a[i], aj = qp.a[j];
      if (!newton_two(qp, i, j, curvature(i, j))) break;
    }
    note(i), note(j);
    pass.update(qp.G.data(), qp.row(i), qp.row(j), T(qp.a[i] - ai), i == j ? T(0) : T(qp.a[j] - aj), qp.m);
  }
  return n_steps;
}

template Index entropy_steps(EntropyQp<float>&, double, Index, const std::function<bool()>&);
template Index entropy_steps(EntropyQp<double>&, double, Index, const std::function<bool()>&);

}  // namespace polymargin
