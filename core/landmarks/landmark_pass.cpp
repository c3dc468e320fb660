#include "landmarks/landmark_pass.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/kernel_scratch.hpp"

namespace polymargin {
namespace {

constexpr Index kGroups = 16;              // parts of a pass with sums of their own, whatever the number of threads ...
constexpr double kNever = 1e300;           // short of a margin that a machine does not ask for
constexpr double kGroupNumbers = 1 << 24;  // ... if these have no more numbers than this

}  // namespace

// What one thread works with.
template <class T>
struct LandmarkPass<T>::Bench {
  Bench(const LandmarkProblem& p, Index m, Index lanes)
      : f(p.classes * kTile),
        q(p.classes),
        a(p.classes),
        d(p.classes),
        panels((p.classes + lanes - 1) / lanes),
        ld(panels * lanes) {
    tile = room.get(m * kTile);
    std::fill(tile, tile + m * kTile, T(0));
    D = packed.get(ld * kTile);
    std::fill(D, D + ld * kTile, T(0));
    products = made.get(lanes * ld);
  }
  std::vector<double> f;        // scores: class by class, kTile each
  std::vector<double> q, a, d;  // of one row: how short its margins are; d = V'a
  Index panels, ld;
  Buffer<T> room, packed, made;
  T *tile, *D, *products;  // D: d of all rows, in panels of classes
};

template <class T>
LandmarkPass<T>::LandmarkPass(const LandmarkProblem& problem, const Data& Z, const Data& X, const Kernel& kernel,
                              Span<const Index> landmarks, T* held, Index held_rows)
    : p_(problem),
      blocks_(Z, X, kernel),
      ops_(tile_ops<T>()),
      landmarks_(landmarks),
      m_(landmarks.size),
      U_(problem.classes * landmarks.size),
      held_(held),
      held_rows_(held_rows / kTile * kTile),
      filled_(held_rows / kTile, 0) {}

template <class T>
void LandmarkPass<T>::set_weights(const double* U) {
  for (Index k = 0; k < p_.classes * m_; ++k) U_[k] = static_cast<T>(U[k]);
}

template <class T>
void LandmarkPass<T>::fill(Span<const Index> columns, T* tile) const {
  blocks_.block(landmarks_, columns, tile, kTile);
}

template <class T>
const T* LandmarkPass<T>::tile(Index from, Index to, Bench& at) {
  const Index k = from / kTile;
  if (from + kTile > held_rows_) {
    fill(p_.rows.sub(from, to), at.tile);
    return at.tile;
  }
  T* kept = held_ + k * m_ * kTile;
  if (!filled_[k]) {
    if (to - from < kTile) std::fill(kept, kept + m_ * kTile, T(0));
    fill(p_.rows.sub(from, to), kept);
    filled_[k] = 1;
  }
  return kept;
}

// f of n rows.
template <class T>
void LandmarkPass<T>::score(const T* tile, Index n, const double* b, Bench& at) const {
  const Index lanes = (n + ops_.lanes - 1) / ops_.lanes * ops_.lanes;
  for (Index c = 0; c < p_.classes; ++c) {
    double* f = at.f.data() + c * kTile;
    std::fill(f, f + lanes, b[c]);
    ops_.accumulate(tile, kTile, m_, lanes, U_.data() + c * m_, f);
  }
}

// Example i, whose scores are in a lane of at.f: its variables at.a and losses, and V'a into at.d and at.D.
template <class T>
auto LandmarkPass<T>::slope(Index i, Index lane, double s, Bench& at) const -> Slope {
  const Index classes = p_.classes, y = p_.label[i];
  const double u = p_.strength[i];
  const double* f = at.f.data() + lane;
  double ref = 0;
  if (p_.reference == Reference::own) ref = f[y * kTile];
  if (p_.reference == Reference::mean) {
    for (Index c = 0; c < classes; ++c) ref += f[c * kTile];
    ref /= static_cast<double>(classes);
  }
  Slope out{0, 0, 0, 0};
  double most = 0;
  for (Index c = 0; c < classes; ++c) {
    const bool own = c == y, counts = own ? p_.own_target > 0 : p_.others;
    const double v = f[c * kTile] - ref;
    at.q[c] = counts ? (own ? p_.own_target - v : 1 + v) : -kNever;
    const double slack = std::max(at.q[c], 0.0);
    most = std::max(most, slack);
    out.loss += p_.square > 0 ? p_.square * u * slack * slack : u * slack;
  }
  if (p_.capped) out.loss = u * most;
  if (p_.square > 0)
    squared(u, at, out);
  else
    p_.capped ? largest(u, s, most, at, out) : each(u, s, at, out);
  double sum = 0;
  for (Index c = 0; c < classes; ++c) {
    out.linear += (c == y ? p_.own_target : 1) * at.a[c];
    if (c != y) at.a[c] = -at.a[c];
    sum += at.a[c];
  }
  const double mean = p_.reference == Reference::mean ? sum / static_cast<double>(classes) : 0;
  const Index lanes = ops_.lanes;
  for (Index c = 0; c < classes; ++c) {
    at.d[c] = at.a[c] - (c == y && p_.reference == Reference::own ? sum : mean);
    at.D[(c / lanes * kTile + lane) * lanes + c % lanes] = static_cast<T>(at.d[c]);
  }
  return out;
}

// |a|, the smooth loss and its curvature: of squares, which need no smoothing ...
template <class T>
void LandmarkPass<T>::squared(double u, Bench& at, Slope& out) const {
  for (Index c = 0; c < p_.classes; ++c) {
    at.a[c] = 2 * p_.square * u * std::max(at.q[c], 0.0);
    out.linear -= at.a[c] * at.a[c] / (4 * p_.square * u);
    out.curvature += at.q[c] > 0 ? 2 * p_.square * u : 0;
  }
  out.smooth = out.loss;
}

// ... of the largest slack or 0: softmax ...
template <class T>
void LandmarkPass<T>::largest(double u, double s, double most, Bench& at, Slope& out) const {
  double total = std::exp(-most / s), squares = 0;
  for (Index c = 0; c < p_.classes; ++c) total += at.a[c] = std::exp((at.q[c] - most) / s);
  for (Index c = 0; c < p_.classes; ++c) {
    const double p = at.a[c] / total;
    squares += p * (1 - p);
    at.a[c] = u * p;
  }
  out.smooth = u * (most + s * std::log(total));
  out.curvature = u / s * squares;
}

// ... of every slack or 0.
template <class T>
void LandmarkPass<T>::each(double u, double s, Bench& at, Slope& out) const {
  for (Index c = 0; c < p_.classes; ++c) {
    const double e = std::exp(-std::abs(at.q[c]) / s), p = (at.q[c] > 0 ? 1 : e) / (1 + e);
    at.a[c] = u * p;
    if (at.q[c] == -kNever) continue;
    out.smooth += u * (std::max(at.q[c], 0.0) + s * std::log1p(e));
    out.curvature += u / s * p * (1 - p);
  }
}

// G += the sum over n rows of k(z_l, x) D.
template <class T>
void LandmarkPass<T>::add(const T* tile, Index n, Bench& at, LandmarkSums& out) const {
  const Index lanes = ops_.lanes;
  for (Index l = 0; l < m_; l += ops_.rows) {
    const int some = static_cast<int>(std::min<Index>(ops_.rows, m_ - l));
    for (Index p = 0; p < at.panels; ++p) {
      ops_.dots(Term::product, tile + l * kTile, kTile, some, at.D + p * kTile * lanes, 1, n, false, at.products,
                lanes);
      for (Index c = p * lanes; c < std::min(p_.classes, (p + 1) * lanes); ++c)
        for (int r = 0; r < some; ++r) out.G[c * m_ + l + r] += static_cast<double>(at.products[r * lanes + c % lanes]);
    }
  }
}

template <class T>
void LandmarkPass<T>::share(Index n, Team& team, const std::function<void(Index)>& task) const {
  if (!blocks_.serial()) return team.run(n, task);
  for (Index k = 0; k < n; ++k) task(k);
}

template <class T>
LandmarkSums LandmarkPass<T>::sums(Index from, Index to, const double* U, const double* b, double s, float* curvature,
                                   Team& team) {
  set_weights(U);
  const Index tiles = (to - from + kTile - 1) / kTile;
  const double numbers = static_cast<double>(p_.classes) * static_cast<double>(m_ + 1);
  const Index most = std::clamp<Index>(static_cast<Index>(kGroupNumbers / numbers), 2, kGroups);
  const Index groups = std::min(tiles, most);
  auto empty = [&] {
    return LandmarkSums{0, 0, 0, std::vector<double>(p_.classes * m_), std::vector<double>(p_.classes)};
  };
  std::vector<LandmarkSums> parts(groups);
  share(groups, team, [&](Index group) {
    LandmarkSums& out = parts[group] = empty();
    Bench at(p_, m_, ops_.lanes);
    for (Index k = tiles * group / groups; k < tiles * (group + 1) / groups; ++k) {
      const Index first = from + k * kTile, last = std::min(first + kTile, to);
      const T* values = tile(first, last, at);
      score(values, last - first, b, at);
      for (Index i = first; i < last; ++i) {
        const Slope one = slope(i, i - first, s, at);
        out.loss += one.loss, out.smooth += one.smooth, out.linear += one.linear;
        curvature[i - from] = static_cast<float>(one.curvature);
        for (Index c = 0; c < p_.classes; ++c) out.g[c] += at.d[c];
      }
      add(values, last - first, at, out);
    }
  });
  LandmarkSums all = empty();
  for (const LandmarkSums& part : parts) {
    all.loss += part.loss, all.smooth += part.smooth, all.linear += part.linear;
    std::transform(part.G.begin(), part.G.end(), all.G.begin(), all.G.begin(), std::plus<double>());
    std::transform(part.g.begin(), part.g.end(), all.g.begin(), all.g.begin(), std::plus<double>());
  }
  return all;
}

template <class T>
void LandmarkPass<T>::some(Span<const Index> which, const double* U, const double* b, double s, T* K, double* a,
                           Team& team) {
  std::vector<Index> columns(which.size);
  for (Index k = 0; k < which.size; ++k) columns[k] = p_.rows[which[k]];
  set_weights(U);
  share((which.size + kTile - 1) / kTile, team, [&](Index task) {
    Bench at(p_, m_, ops_.lanes);
    const Index first = task * kTile, last = std::min(first + kTile, which.size);
    fill({columns.data() + first, last - first}, at.tile);
    score(at.tile, last - first, b, at);
    for (Index k = first; k < last; ++k) {
      slope(which[k], k - first, s, at);
      std::copy(at.a.begin(), at.a.end(), a + k * p_.classes);
    }
    for (Index l = 0; l < m_; ++l)
      std::copy(at.tile + l * kTile, at.tile + l * kTile + last - first, K + l * which.size + first);
  });
}

template class LandmarkPass<float>;
template class LandmarkPass<double>;

}  // namespace polymargin
