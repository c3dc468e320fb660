#include "landmarks/curvature.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "simd/landmark_steps.hpp"

namespace polymargin {
namespace {

constexpr Index kTile = 256;  // rows whose features are met twice while they are near; a multiple of kRowsAtOnce

// D = V'J V f of some rows, the first of which is `at`; sums[c] += sum_i D[c, i].
template <class T>
void bend(const CurvedRows<T>& p, Index at, Index n, double* f, Index ld, T* D, double* sums) {
  double ref[kTile], along[kTile] = {}, gathered[kTile] = {};
  references(p.reference, p.classes, f, ld, n, [&](Index i) { return p.label[at + i]; }, ref);
  for (Index c = 0; c < p.classes; ++c)
    for (Index i = 0; i < n; ++i) f[c * ld + i] -= ref[i];
  for (Index c = 0; p.second && c < p.classes; ++c)
    for (Index i = 0; i < n; ++i) along[i] += static_cast<double>(p.second[c * p.n + at + i]) * f[c * ld + i];
  for (Index c = 0; c < p.classes; ++c)
    for (Index i = 0; i < n; ++i) {
      const double less = p.second ? static_cast<double>(p.second[c * p.n + at + i]) * along[i] : 0.0;
      const double e = static_cast<double>(p.first[c * p.n + at + i]) * f[c * ld + i] - less;
      f[c * ld + i] = e * static_cast<double>(p.scale[at + i]);
      gathered[i] += f[c * ld + i];
    }
  if (p.reference == Reference::own)
    for (Index i = 0; i < n; ++i) f[p.label[at + i] * ld + i] -= gathered[i];
  const double share = p.reference == Reference::mean ? 1 / static_cast<double>(p.classes) : 0.0;
  for (Index c = 0; c < p.classes; ++c)
    for (Index i = 0; i < n; ++i) {
      const double e = f[c * ld + i] - share * gathered[i];
      D[c * ld + i] = std::abs(e) < static_cast<double>(std::numeric_limits<T>::min()) ? T(0) : static_cast<T>(e);
      sums[c] += e;
    }
}

}  // namespace

template <class T>
std::vector<double> curvature_product(const CurvedRows<T>& p, const double* d) {
  const LandmarkSteps<T>& steps = landmark_steps<T>();
  const Index classes = p.classes, m = p.m;
  std::vector<T> U(classes * m), D(classes * kTile), last;
  std::vector<double> f(classes * kTile), G(classes * m), sums(classes), out(d, d + classes * (m + 1));
  for (Index c = 0; c < classes; ++c)
    for (Index l = 0; l < m; ++l) U[c * m + l] = static_cast<T>(d[c * (m + 1) + l]);
  for (Index at = 0; at < p.n; at += kTile) {
    const Index n = std::min(kTile, p.n - at), padded = (n + kRowsAtOnce - 1) / kRowsAtOnce * kRowsAtOnce;
    KernelTile<T> tile{p.phi + at, p.n, m, n};
    if (padded > n) {  // the last rows, with others that fill up
      last.assign(m * padded, T(0));
      for (Index l = 0; l < m; ++l)
        std::copy(tile.values + l * p.n, tile.values + l * p.n + n, last.data() + l * padded);
      tile = {last.data(), padded, m, padded};
    }
    for (Index c = 0; c < classes; ++c) std::fill_n(f.data() + c * kTile, padded, d[c * (m + 1) + m]);
    tile_ops<T>().scores(tile, U.data(), classes, f.data(), kTile);
    bend(p, at, n, f.data(), kTile, D.data(), sums.data());
    for (Index c = 0; c < classes; ++c) std::fill(D.data() + c * kTile + n, D.data() + c * kTile + padded, T(0));
    steps.project(tile, D.data(), kTile, classes, G.data());
  }
  for (Index c = 0; c < classes; ++c) {
    for (Index l = 0; l < m; ++l) out[c * (m + 1) + l] += G[c * m + l];
    out[c * (m + 1) + m] += sums[c];
  }
  return out;
}

template std::vector<double> curvature_product(const CurvedRows<float>&, const double*);
template std::vector<double> curvature_product(const CurvedRows<double>&, const double*);

}  // namespace polymargin
