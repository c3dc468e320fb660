// The solvers' passes, see vector.inl.
#include "simd/margin_steps.inl"
#include "simd/steps.hpp"
#include "simd/vector.inl"

namespace polymargin {
namespace POLYMARGIN_ISA {

// Beyond the last whole vector the variables are looked at one by one: rows need no padding.

template <class T>
Pick box_first(T* G, const T* Qi, const T* Qj, T di, T dj, const T* up, const T* down, const T* inverse, Index n) {
  V<T> worst = V<T>{};
  Best<T> best;
  Index k = 0;
  for (; k + W<T> <= n; k += W<T>) {
    V<T> g = load(G + k) + di * load(Qi + k) + dj * load(Qj + k);
    store(G + k, g);
    V<T> v = vmax<T>(vmax<T>(-g - load(up + k), g - load(down + k)), V<T>{});
    worst = vmax<T>(worst, v);
    V<T> key = v * v * load(inverse + k);
    best.see(key);
  }
  Pick pick = best.pick();
  pick.violation = top_lane<T>(worst);
  for (; k < n; ++k) {
    const T g = G[k] += di * Qi[k] + dj * Qj[k], grow = -g - up[k], fall = g - down[k], v = grow > fall ? grow : fall;
    if (v > pick.violation) pick.violation = v;
    if (v > 0 && v * v * inverse[k] > pick.key) pick.key = v * v * inverse[k], pick.at = k;
  }
  return pick;
}

template <class T>
Pick box_second(const T* G, const T* Qi, T s, T c, const T* up, const T* down, const T* diagonal, Index n) {
  Best<T> best;
  const T tiny = T(1e-12);
  Index k = 0;
  for (; k + W<T> <= n; k += W<T>) {
    V<T> q = load(Qi + k);
    V<T> h = load(G + k) + s * q;
    V<T> v = vmax<T>(vmax<T>(-h - load(up + k), h - load(down + k)), V<T>{});
    V<T> key = v * v / vmax<T>(load(diagonal + k) - c * q * q, all<T>(tiny));
    best.see(key);
  }
  Pick pick = best.pick();
  for (; k < n; ++k) {
    const T q = Qi[k], h = G[k] + s * q, grow = -h - up[k], fall = h - down[k], v = grow > fall ? grow : fall;
    const T left = diagonal[k] - c * q * q, key = v * v / (left > tiny ? left : tiny);
    if (v > 0 && key > pick.key) pick.key = key, pick.at = k;
  }
  return pick;
}

template <class T>
void update(T* G, const T* Qi, const T* Qj, T di, T dj, Index n) {
  Index k = 0;
  for (; k + W<T> <= n; k += W<T>) store(G + k, load(G + k) + di * load(Qi + k) + dj * load(Qj + k));
  for (; k < n; ++k) G[k] += di * Qi[k] + dj * Qj[k];
}

// 1 / x to about twelve bits where the processor has that, else exactly.
inline V<double> about_inverse(V<double> x) { return 1.0 / x; }
inline V<float> about_inverse(V<float> x) {
#if defined(__AVX512F__)
  return (V<float>)_mm512_rcp14_ps((__m512)x);
#elif VECTOR_BYTES == 32
  return (V<float>)_mm256_rcp_ps((__m256)x);
#else
  return 1.0f / x;
#endif
}

template <class T>
Pick pair_second(const T* G, const T* Ki, T gi, T dii, const T* down, const T* diagonal, Index n) {
  const T tiny = T(1e-12);
  Best<T> best;
  Index k = 0;
  for (; k + W<T> <= n; k += W<T>) {
    const V<T> diff = vmax<T>(load(G + k) - load(down + k) - gi, V<T>{});
    const V<T> quad = vmax<T>(dii + load(diagonal + k) - T(2) * load(Ki + k), all<T>(tiny));
    const V<T> key = diff * diff * about_inverse(quad);
    best.see(key);
  }
  Pick pick = best.pick();
  for (; k < n; ++k) {
    const T diff = G[k] - down[k] - gi, quad = dii + diagonal[k] - T(2) * Ki[k];
    const T key = diff * diff / (quad > tiny ? quad : tiny);
    if (diff > 0 && key > pick.key) pick.key = key, pick.at = k;
  }
  return pick;
}

template <class T>
Range pair_step(T* G, const T* Ki, const T* Kj, T t, const T* up, const T* down, Index n) {
  V<T> low = all<T>(T(kBlocked)), high = all<T>(T(-kBlocked));
  I<T> at = I<T>{}, now = iota<T>();
  const I<T> step = I<T>{} + static_cast<typename Lanes<T>::Int>(W<T>);
  Index k = 0;
  for (; k + W<T> <= n; k += W<T>, now += step) {
    const V<T> g = load(G + k) + t * (load(Ki + k) - load(Kj + k));
    store(G + k, g);
    const V<T> lo = g + load(up + k);
    auto better = lo < low;
    low = better ? lo : low;
    at = better ? now : at;
    high = vmax<T>(high, g - load(down + k));
  }
  Range range;
  for (int l = 0; l < W<T>; ++l)
    if (low[l] < range.low || (low[l] == range.low && at[l] < range.lowest)) {
      range.low = low[l];
      range.lowest = at[l];
    }
  range.high = top_lane<T>(high);
  for (; k < n; ++k) {
    const T g = G[k] += t * (Ki[k] - Kj[k]), lo = g + up[k], hi = g - down[k];
    if (lo < range.low) range.low = lo, range.lowest = k;
    if (hi > range.high) range.high = hi;
  }
  return range;
}

typedef Pack<double, 8>::V D8;
template <class T>
INLINE D8 wide8(const T* p) {
  return widened<8>(p);
}

template <class T>
void add_rows(const T* const* rows, const double* coef, Index n_rows, Index begin, Index end, double* G) {
  Index r = 0;
  for (; r + 8 <= n_rows; r += 8) {
    const T* const* p = rows + r;
    const double* q = coef + r;
    Index k = begin;
    for (; k + 8 <= end; k += 8) {
      D8 g = wide8(G + k), h = D8{};
      for (int j = 0; j < 8; j += 2) g += q[j] * wide8(p[j] + k), h += q[j + 1] * wide8(p[j + 1] + k);
      store_pack<8>(G + k, g + h);
    }
    for (; k < end; ++k)
      for (int j = 0; j < 8; ++j) G[k] += q[j] * p[j][k];
  }
  for (; r + 4 <= n_rows; r += 4) {
    const T *a = rows[r], *b = rows[r + 1], *c = rows[r + 2], *d = rows[r + 3];
    const double ca = coef[r], cb = coef[r + 1], cc = coef[r + 2], cd = coef[r + 3];
    Index k = begin;
    for (; k + 8 <= end; k += 8) {
      D8 g = wide8(G + k) + ca * wide8(a + k) + cb * wide8(b + k) + cc * wide8(c + k) + cd * wide8(d + k);
      store_pack<8>(G + k, g);
    }
    for (; k < end; ++k) G[k] += ca * a[k] + cb * b[k] + cc * c[k] + cd * d[k];
  }
  for (; r < n_rows; ++r)
    for (Index k = begin; k < end; ++k) G[k] += coef[r] * rows[r][k];
}

template <class T>
void add_rows_to_four(const T* const* rows, const double* coef, Index n_rows, Index begin, Index end, double* G,
                      Index ld) {
  constexpr int N = W<double>;
  Index k = begin;
  for (; k + 2 * N <= end; k += 2 * N) {
    V<double> sum[4][2];
    UNROLL for (int v = 0; v < 8; ++v) sum[v / 2][v % 2] = load(G + v / 2 * ld + k + v % 2 * N);
    for (Index r = 0; r < n_rows; ++r) {
      const V<double> x[2] = {widened<N>(rows[r] + k), widened<N>(rows[r] + k + N)};
      UNROLL for (int v = 0; v < 8; ++v) sum[v / 2][v % 2] += coef[v / 2 * n_rows + r] * x[v % 2];
    }
    UNROLL for (int v = 0; v < 8; ++v) store(G + v / 2 * ld + k + v % 2 * N, sum[v / 2][v % 2]);
  }
  for (; k < end; ++k)
    for (int v = 0; v < 4; ++v)
      for (Index r = 0; r < n_rows; ++r) G[v * ld + k] += coef[v * n_rows + r] * rows[r][k];
}

template <class T>
void add_dots(const T* A, Index ld, Index n_rows, Index n_cols, const double* x, double* y) {
  constexpr int R = 4;
  Index r = 0;
  for (; r + R <= n_rows; r += R) {
    const T* p = A + r * ld;
    D8 sum[R] = {};
    Index k = 0;
    for (; k + 8 <= n_cols; k += 8) {
      const D8 v = wide8(x + k);
      UNROLL for (int j = 0; j < R; ++j) sum[j] += wide8(p + j * ld + k) * v;
    }
    for (int j = 0; j < R; ++j) {
      for (int l = 0; l < 8; ++l) y[r + j] += sum[j][l];
      for (Index c = k; c < n_cols; ++c) y[r + j] += p[j * ld + c] * x[c];
    }
  }
  for (; r < n_rows; ++r)
    for (Index k = 0; k < n_cols; ++k) y[r] += A[r * ld + k] * x[k];
}

template <class T>
void both_ways(const T* A, Index ld, Index n_rows, Index n_cols, const T* x_rows, const T* x_cols, double* y_rows,
               T* y_cols) {
  constexpr int R = 4;
  Index r = 0;
  for (; r + R <= n_rows; r += R) {
    const T *p0 = A + r * ld, *p1 = p0 + ld, *p2 = p1 + ld, *p3 = p2 + ld;
    const V<T> q0 = all<T>(x_rows[r]), q1 = all<T>(x_rows[r + 1]), q2 = all<T>(x_rows[r + 2]),
               q3 = all<T>(x_rows[r + 3]);
    V<T> s0 = V<T>{}, s1 = s0, s2 = s0, s3 = s0;
    Index k = 0;
    for (; k + W<T> <= n_cols; k += W<T>) {
      const V<T> x = load(x_cols + k), a0 = load(p0 + k), a1 = load(p1 + k), a2 = load(p2 + k), a3 = load(p3 + k);
      s0 += a0 * x, s1 += a1 * x, s2 += a2 * x, s3 += a3 * x;
      store(y_cols + k, load(y_cols + k) + q0 * a0 + q1 * a1 + q2 * a2 + q3 * a3);
    }
    for (int l = 0; l < W<T>; ++l)
      y_rows[r] += s0[l], y_rows[r + 1] += s1[l], y_rows[r + 2] += s2[l], y_rows[r + 3] += s3[l];
    for (; k < n_cols; ++k)
      for (int j = 0; j < R; ++j) {
        const T a = p0[j * ld + k];
        y_cols[k] += x_rows[r + j] * a, y_rows[r + j] += a * x_cols[k];
      }
  }
  for (; r < n_rows; ++r)
    for (Index k = 0; k < n_cols; ++k) {
      const T a = A[r * ld + k];
      y_cols[k] += x_rows[r] * a, y_rows[r] += a * x_cols[k];
    }
}

template <class T>
T dot(const T* x, const T* y, Index n) {
  V<T> a = V<T>{}, b = V<T>{};
  Index k = 0;
  for (; k + 2 * W<T> <= n; k += 2 * W<T>) a += load(x + k) * load(y + k), b += load(x + k + W<T>) * load(y + k + W<T>);
  T sum = lane_sum<T>(a + b);
  for (; k < n; ++k) sum += x[k] * y[k];
  return sum;
}

template <class T>
void axpy(T c, const T* x, T* y, Index n) {
  Index k = 0;
  for (; k + W<T> <= n; k += W<T>) store(y + k, load(y + k) + c * load(x + k));
  for (; k < n; ++k) y[k] += c * x[k];
}

template <class T>
void rotate(const T* x, T* y, T c, T s, T* out, Index n) {
  Index k = 0;
  for (; k + W<T> <= n; k += W<T>) {
    const V<T> a = load(x + k), b = load(y + k);
    store(out + k, c * a + s * b);
    store(y + k, c * b - s * a);
  }
  for (; k < n; ++k) {
    const T a = x[k], b = y[k];
    out[k] = c * a + s * b;
    y[k] = c * b - s * a;
  }
}

template <class T>
const Steps<T>& steps() {
  static constexpr Steps<T> table = {
      W<T>,        box_first<T>, box_second<T>, update<T>,  pair_second<T>,   pair_step<T>,
      add_rows<T>, add_dots<T>,  both_ways<T>,  margins<T>, worst_example<T>, own_scores<T>,
      row_step<T>, add_outer<T>, dot<T>,        axpy<T>,    rotate<T>,        add_rows_to_four<T>};
  return table;
}
template const Steps<float>& steps();
template const Steps<double>& steps();

}  // namespace POLYMARGIN_ISA
}  // namespace polymargin
