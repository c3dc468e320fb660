// The passes over margins, a score per example and class, see vector.inl; and the best of a vector's lanes, for all.
#pragma once
#include "simd/steps.hpp"
#include "simd/vector.inl"

namespace polymargin {
namespace POLYMARGIN_ISA {

// The best of candidates that come in vectors, with their numbers.
template <class T>
struct Best {
  V<T> key = V<T>{};
  I<T> at = I<T>{}, now = iota<T>();
  INLINE void see(V<T> candidates) {
    const auto better = candidates > key;
    key = better ? candidates : key;
    at = better ? now : at;
    now += static_cast<typename Lanes<T>::Int>(W<T>);
  }
  // The smaller number wins a tie, so that the choice does not depend on the vector width.
  Pick pick() const {
    Pick pick;
    for (int l = 0; l < W<T>; ++l)
      if (key[l] > pick.key || (key[l] == pick.key && key[l] > 0 && at[l] < pick.at))
        pick.key = key[l], pick.at = at[l];
    return pick;
  }
};
template <class T>
inline T top_lane(V<T> v) {
  T m = v[0];
  for (int l = 1; l < W<T>; ++l) m = v[l] > m ? v[l] : m;
  return m;
}

template <class T>
void margins(const T* F, const T* A, Index ld, Index classes, const T* ref, const T* ridge, const T* low,
             const T* label, Index n, T* up, T* down) {
  Index k = 0;
  const V<T> never = all<T>(T(-kBlocked)), zero = V<T>{};
  for (; k + W<T> <= n; k += W<T>) {
    const V<T> r = load(ref + k) - T(1), q = load(ridge + k), bound = load(low + k), own = load(label + k);
    V<T> most_up = never, most_down = never;
    for (Index c = 0; c < classes; ++c) {
      V<T> a = load(A + c * ld + k), g = load(F + c * ld + k) - r + q * a;
      auto other = own != all<T>(T(c));
      V<T> grow = a > bound ? g : never, fall = a < zero ? -g : never;
      grow = other ? grow : never;
      fall = other ? fall : never;
      most_up = vmax<T>(most_up, grow);
      most_down = vmax<T>(most_down, fall);
    }
    store(up + k, most_up);
    store(down + k, most_down);
  }
  for (; k < n; ++k) {
    up[k] = down[k] = T(-kBlocked);
    for (Index c = 0; c < classes; ++c) {
      const T a = A[c * ld + k], g = F[c * ld + k] - ref[k] + T(1) + ridge[k] * a;
      if (label[k] == T(c)) continue;
      if (a > low[k] && g > up[k]) up[k] = g;
      if (a < 0 && -g > down[k]) down[k] = -g;
    }
  }
}

template <class T>
Pick worst_example(const T* up, const T* down, const T* at_cap, const T* diagonal, const T* row, T c, T most,
                   Index skip, Index n) {
  V<T> worst = V<T>{};
  Best<T> best;
  const I<T> left_out = I<T>{} + static_cast<typename Lanes<T>::Int>(skip);
  for (Index k = 0; k < n; k += W<T>) {
    const V<T> u = load(up + k), d = load(down + k), q = load(row + k), h = load(diagonal + k);
    V<T> v = load(at_cap + k) > V<T>{} ? vmax<T>(u, V<T>{}) + d : vmax<T>(u, d);
    v = vmax<T>(v, V<T>{});
    worst = vmax<T>(worst, v);
    const V<T> key = v * v / (h - vmin<T>(c * q * q, most * h));
    best.see(best.now != left_out ? key : V<T>{});
  }
  Pick pick = best.pick();
  pick.violation = top_lane<T>(worst);
  return pick;
}

template <class T>
void own_scores(const T* F, const T* label, T c, Index n, T* own) {
  for (Index k = 0; k < n; k += W<T>) store(own + k, load(label + k) == all<T>(c) ? load(F + k) : load(own + k));
}

// For a given z = sum b, b_c = clip((h_c - k z) / (k + r)): sum b(z) - z falls, linear in pieces. All (h_c - k z) move
// alike, so as many inside and as many at -u as before is the same piece, whose root the last step has found.
template <class T>
T row_step(const T* f, Index n, Index y, T k, T ridge, T u, bool capped, T* b, T* D) {
  constexpr int kSteps = 12;
  const V<T> zero = V<T>{}, one = all<T>(T(1)), many = all<T>(T(n + 1)), low = all<T>(-u);
  const T inverse = T(1) / (k + ridge > T(1e-12) ? k + ridge : T(1e-12)), pull = k * inverse, ref = f[y] - T(1);
  V<T> total = zero;
  for (Index c = 0; c < n; c += W<T>) total += load(b + c);
  T z = lane_sum<T>(total), last = -1;
  for (Index c = 0; c < n; c += W<T>) store(D + c, (ref - load(f + c) + k * (load(b + c) + z)) * inverse);
  D[y] = T(kBlocked);
  for (int step = 0; step < kSteps; ++step) {
    V<T> sum = zero, count = zero;  // of those inside, and n + 1 times those at -u
    for (Index c = 0; c < n; c += W<T>) {
      const V<T> x = load(D + c) - pull * z;
      sum += vmax<T>(vmin<T>(x, zero), low);
      count += x < zero ? (x > low ? one : many) : zero;
    }
    const T piece = lane_sum<T>(count), miss = lane_sum<T>(sum) - z;
    if (piece == last || miss == T(0)) {
      if (capped && -z > u) return T(-1);
      V<T> size = zero, change = zero;
      for (Index c = 0; c < n; c += W<T>) {
        const V<T> x = vmax<T>(vmin<T>(load(D + c) - pull * z, zero), low), d = x - load(b + c);
        store(b + c, x), store(D + c, d);
        change += d, size += vmax<T>(d, -d);
      }
      D[y] -= lane_sum<T>(change);
      return lane_sum<T>(size);
    }
    last = piece;
    const T inside = piece > T(n) ? T(Index(piece) % (n + 1)) : piece;
    z += miss / (T(1) + pull * inside);
  }
  return T(-1);
}

template <class T>
void add_outer(const T* k, Index rows, const T* D, Index n, T* f) {
  for (Index c = 0; c < n; c += W<T>) {
    const V<T> d = load(D + c);
    for (Index s = 0; s < rows; ++s) store(f + s * n + c, load(f + s * n + c) + k[s] * d);
  }
}

}  // namespace POLYMARGIN_ISA
}  // namespace polymargin
