#include "landmarks/landmark_pass.hpp"

#include <algorithm>
#include <cmath>

#include "base/pages.hpp"

namespace polymargin {
namespace {

constexpr Index kGroups = 16;              // parts of a pass with sums of their own, whatever the number of threads ...
constexpr double kGroupNumbers = 1 << 24;  // ... if these have no more numbers than this
constexpr Index kFew = 16;                 // features

// Of all tiles, where `fit` of them fit into memory. A callable is asked once where that is possible; a given matrix is
// there already. Values of few features are made sooner than new memory is first written to.
std::size_t tiles_to_keep(const Data& Z, const Data& X, const Kernel& k, Index tiles, double fit) {
  const bool few = !X.sparse() && !Z.sparse() && X.d <= kFew && k.kind != KernelKind::callable;
  if (few || k.kind == KernelKind::precomputed) return 0;
  return static_cast<std::size_t>(std::min(fit, static_cast<double>(tiles)));
}

}  // namespace

// What one thread works with: a tile of kernel values, its rows, and a line of kTile numbers per class.
template <class T>
struct LandmarkPass<T>::Bench {
  Bench(Index classes, Index m) : label(kTile), strength(kTile), curvature(kTile), f(classes * kTile), g(classes) {
    tile = room.at_least(m * kTile);
    std::fill(tile, tile + m * kTile, T(0));
    D = slopes.at_least(classes * kTile);
  }
  // The k-th row of the tile, of all n; rows that fill up have no strength.
  template <class Example>
  void set_rows(Index n, const Example& example, const LandmarkProblem& p) {
    size = n;
    padded = (n + kRowsAtOnce - 1) / kRowsAtOnce * kRowsAtOnce;
    for (Index k = 0; k < padded; ++k) {
      label[k] = k < n ? static_cast<double>(p.label[example(k)]) : 0;
      strength[k] = k < n ? p.strength[example(k)] : 0;
    }
  }
  Index size = 0, padded = 0;
  std::vector<double> label, strength;
  std::vector<float> curvature;
  std::vector<double> f, g;  // scores, then variables; sums of slopes
  Room<T> room, slopes;
  T *tile, *D;
};

template <class T>
LandmarkPass<T>::LandmarkPass(const LandmarkProblem& problem, const Data& Z, const Data& X, const Kernel& kernel,
                              Span<const Index> landmarks, double memory)
    : p_(problem),
      blocks_(Z, X, kernel),
      steps_(landmark_steps<T>()),
      landmarks_(landmarks),
      m_(landmarks.size),
      U_(problem.loss.classes * landmarks.size),
      filled_(tiles_to_keep(Z, X, kernel, (problem.rows.size + kTile - 1) / kTile,
                            memory / (double(sizeof(T)) * double(kTile) * double(landmarks.size)))),
      kept_(pages<T>(filled_.size() * static_cast<std::size_t>(m_ * kTile), true)) {}

template <class T>
void LandmarkPass<T>::set_weights(const double* U) {
  for (Index k = 0; k < p_.loss.classes * m_; ++k) U_[k] = static_cast<T>(U[k]);
}

template <class T>
void LandmarkPass<T>::fill(Span<const Index> columns, T* tile) const {
  blocks_.block(landmarks_, columns, tile, kTile);
}

template <class T>
const T* LandmarkPass<T>::tile(Index from, Index to, Bench& at) {
  const std::size_t k = static_cast<std::size_t>(from / kTile);
  if (k >= filled_.size()) {
    fill(p_.rows.sub(from, to), at.tile);
    return at.tile;
  }
  T* kept = kept_.get() + from * m_;
  if (!filled_[k]) {
    if (to - from < kTile) std::fill(kept, kept + m_ * kTile, T(0));
    fill(p_.rows.sub(from, to), kept);
    filled_[k] = 1;
  }
  return kept;
}

// Scores of the rows of a tile, then their variables in at.f, slopes in at.D, added to at.g, and curvatures.
template <class T>
LossSums LandmarkPass<T>::slopes(const T* tile, const double* b, double s, Bench& at) const {
  for (Index c = 0; c < p_.loss.classes; ++c)
    std::fill(at.f.begin() + c * kTile, at.f.begin() + c * kTile + at.padded, b[c]);
  tile_ops<T>().scores({tile, kTile, m_, at.padded}, U_.data(), p_.loss.classes, at.f.data(), kTile);
  const TileRows rows{at.label.data(), at.strength.data(), at.padded, s};
  return steps_.slopes(p_.loss, rows, at.f.data(), kTile, at.D, at.g.data(), at.curvature.data());
}

template <class T>
LandmarkSums LandmarkPass<T>::sums(Index from, Index to, const double* U, const double* b, double s, float* curvature,
                                   Team& team) {
  set_weights(U);
  const Index tiles = (to - from + kTile - 1) / kTile, classes = p_.loss.classes;
  const double numbers = static_cast<double>(classes) * static_cast<double>(m_ + 1);
  const Index most = std::clamp<Index>(static_cast<Index>(kGroupNumbers / numbers), 2, kGroups);
  const Index groups = std::min(tiles, most);
  auto empty = [&] { return LandmarkSums{{}, std::vector<double>(classes * m_), std::vector<double>(classes)}; };
  auto add = [](LossSums& a, const LossSums& b) { a.loss += b.loss, a.smooth += b.smooth, a.linear += b.linear; };
  std::vector<LandmarkSums> parts(groups);
  const auto add_group = [&](Index group) {
    LandmarkSums& out = parts[group] = empty();
    Bench at(classes, m_);
    for (Index k = tiles * group / groups; k < tiles * (group + 1) / groups; ++k) {
      const Index first = from + k * kTile, last = std::min(first + kTile, to);
      at.set_rows(last - first, [&](Index i) { return first + i; }, p_);
      const T* values = tile(first, last, at);
      add(out.losses, slopes(values, b, s, at));
      std::copy(at.curvature.begin(), at.curvature.begin() + at.size, curvature + (first - from));
      steps_.project({values, kTile, m_, at.padded}, at.D, kTile, classes, out.G.data());
    }
    out.g = at.g;
  };
  team.run(groups, add_group, blocks_.serial());
  LandmarkSums all = empty();
  for (const LandmarkSums& part : parts) {
    add(all.losses, part.losses);
    std::transform(part.G.begin(), part.G.end(), all.G.begin(), all.G.begin(), std::plus<double>());
    std::transform(part.g.begin(), part.g.end(), all.g.begin(), all.g.begin(), std::plus<double>());
  }
  return all;
}

template <class T>
void LandmarkPass<T>::some(Span<const Index> which, const double* U, const double* b, double s, T* K, double* a,
                           Team& team) {
  const Index classes = p_.loss.classes;
  std::vector<Index> columns(which.size);
  for (Index k = 0; k < which.size; ++k) columns[k] = p_.rows[which[k]];
  set_weights(U);
  const auto one = [&](Index first, Index last) {
    Bench at(classes, m_);
    at.set_rows(last - first, [&](Index i) { return which[first + i]; }, p_);
    fill({columns.data() + first, last - first}, at.tile);
    slopes(at.tile, b, s, at);
    for (Index k = first; k < last; ++k)
      for (Index c = 0; c < classes; ++c) a[k * classes + c] = at.f[c * kTile + k - first];
    for (Index l = 0; l < m_; ++l)
      std::copy(at.tile + l * kTile, at.tile + l * kTile + last - first, K + l * which.size + first);
  };
  team.parts(which.size, kTile, one, blocks_.serial());
}

template class LandmarkPass<float>;
template class LandmarkPass<double>;

}  // namespace polymargin
