// The passes over weights, see vector.inl.
#include "simd/steps.hpp"
#include "simd/vector.inl"
#include "simd/weight_steps.hpp"

namespace polymargin {
namespace POLYMARGIN_ISA {

struct All {};  // a dense row: the k-th value belongs to feature k
inline Index feature(const All*, Index k) { return k; }
template <class J>
inline Index feature(const J* at, Index k) {
  return static_cast<Index>(at[k]);
}

// N packs of classes from column `from` on, two sums each where registers allow, so that no addition waits for the
// last.
template <class T, class J, int lanes, int N>
inline void sum_packs(const T* x, const J* at, Index count, const double* W, Index P, double* f) {
  typedef typename Pack<double, lanes>::V V;
  V s[N] = {}, r[N] = {};
  Index k = 0;
  for (; k + 2 <= count; k += 2) {
    const double a = x[k], b = x[k + 1];
    const double *u = W + feature(at, k) * P, *v = W + feature(at, k + 1) * P;
    for (int j = 0; j < N; ++j) s[j] += a * load_pack<lanes>(u + j * lanes);
    for (int j = 0; j < N; ++j) r[j] += b * load_pack<lanes>(v + j * lanes);
  }
  if (k < count) {
    const double a = x[k];
    const double* u = W + feature(at, k) * P;
    for (int j = 0; j < N; ++j) s[j] += a * load_pack<lanes>(u + j * lanes);
  }
  for (int j = 0; j < N; ++j) store_pack<lanes>(f + j * lanes, s[j] + r[j]);
}

template <class T, class J>
void scores(const void* values, const void* features, Index count, const double* W, Index P, double* f) {
  const T* x = static_cast<const T*>(values);
  const J* at = static_cast<const J*>(features);
  if (P == 2) return sum_packs<T, J, 2, 1>(x, at, count, W, P, f);
  if (P == 4) return sum_packs<T, J, 4, 1>(x, at, count, W, P, f);
  Index c = 0;
  for (; c + 24 <= P && P != 32; c += 24) sum_packs<T, J, 8, 3>(x, at, count, W + c, P, f + c);
  for (; c + 16 <= P; c += 16) sum_packs<T, J, 8, 2>(x, at, count, W + c, P, f + c);
  if (c < P) sum_packs<T, J, 8, 1>(x, at, count, W + c, P, f + c);
}

template <class T, class J, int lanes>
inline void add_pack(const T* x, const J* at, Index count, const double* change, double* W, Index P) {
  typedef typename Pack<double, lanes>::V V;
  const V d = load_pack<lanes>(change);
  for (Index k = 0; k < count; ++k) {
    double* w = W + feature(at, k) * P;
    store_pack<lanes>(w, load_pack<lanes>(w) + double(x[k]) * d);
  }
}

// Few classes change in a step: packs without any are passed over.
template <class T, class J>
void add(const void* values, const void* features, Index count, const double* change, double* W, Index P) {
  const T* x = static_cast<const T*>(values);
  const J* at = static_cast<const J*>(features);
  if (P == 2) return add_pack<T, J, 2>(x, at, count, change, W, P);
  if (P == 4) return add_pack<T, J, 4>(x, at, count, change, W, P);
  for (Index c = 0; c < P; c += 8) {
    bool any = false;
    for (Index j = c; j < c + 8; ++j) any |= change[j] != 0;
    if (any) add_pack<T, J, 8>(x, at, count, change + c, W + c, P);
  }
}

template <class J>
void expect(const void* features, Index count, const double* W, Index P) {
  const J* at = static_cast<const J*>(features);
  for (Index k = 0; k < count; ++k) {
    const double* w = W + feature(at, k) * P;
    for (Index c = 0; c < P; c += 8) __builtin_prefetch(w + c, 1);
  }
}
template <>
void expect<All>(const void*, Index, const double*, Index) {}

template <int lanes>
inline Slope slope_packs(const double* f, const double* a, const double* t, double ref, double ridge, double low,
                         Index P) {
  typedef typename Pack<double, lanes>::V V;
  const V never = -kBlocked - V{}, bound = low - V{}, zero = V{};
  V up = never, down = never;
  for (Index c = 0; c < P; c += lanes) {
    const V b = load_pack<lanes>(a + c);
    const V g = load_pack<lanes>(f + c) - ref + load_pack<lanes>(t + c) + ridge * b;
    const V grow = b > bound ? g : never, fall = b < zero ? -g : never;
    up = grow > up ? grow : up;
    down = fall > down ? fall : down;
  }
  Slope s{up[0], down[0]};
  for (int l = 1; l < lanes; ++l) {
    s.up = up[l] > s.up ? up[l] : s.up;
    s.down = down[l] > s.down ? down[l] : s.down;
  }
  return s;
}

Slope slope(const double* f, const double* a, const double* t, double ref, double ridge, double low, Index P) {
  if (P == 2) return slope_packs<2>(f, a, t, ref, ridge, low, P);
  if (P == 4) return slope_packs<4>(f, a, t, ref, ridge, low, P);
  return slope_packs<8>(f, a, t, ref, ridge, low, P);
}

struct Clipped {
  double sum, free;  // of clip(v - theta, 0, u), and how many of them are strictly inside
};
template <int lanes>
inline Clipped clipped(const double* v, double theta, double u, Index P) {
  typedef typename Pack<double, lanes>::V V;
  const V zero = V{}, top = u - V{}, one = 1 - V{};
  V sum = zero, free = zero;
  for (Index c = 0; c < P; c += lanes) {
    const V p = load_pack<lanes>(v + c) - theta;
    const V part = p < top ? p : top;
    sum += p > zero ? part : zero;
    const V inside = p < top ? one : zero;
    free += p > zero ? inside : zero;
  }
  Clipped out{sum[0], free[0]};
  for (int l = 1; l < lanes; ++l) out.sum += sum[l], out.free += free[l];
  return out;
}

// The theta of a step: Newton steps. Without a box the sum is convex in theta, and they rise to the root from 0 on;
// with one they are kept inside a bracket.
template <int lanes>
inline double threshold(const double* v, double rho, double u, bool capped, Index P) {
  double theta = 0;
  if (capped || u > kBlocked) {
    for (int n = 0; n < 100; ++n) {
      const Clipped s = clipped<lanes>(v, theta, kBlocked, P);
      const double free = rho * s.free + 1, total = (rho * s.sum - theta) / free;
      const double cap = capped && s.free > 0 ? (s.sum - u) / s.free : 0;
      const double next = theta + (total > cap ? total : cap);
      if (!(next > theta)) break;
      theta = next;
    }
    return theta;
  }
  double low = 0, high = kBlocked;
  for (int n = 0; n < 100; ++n) {
    const Clipped s = clipped<lanes>(v, theta, u, P);
    const double miss = rho * s.sum - theta;
    if ((miss > 0 ? miss : -miss) <= 1e-15 * theta) break;
    if (miss > 0)
      low = theta;
    else
      high = theta;
    double next = theta + miss / (1 + rho * s.free);
    if (!(next > low && next < high) || n % 8 == 7) next = high < kBlocked ? 0.5 * (low + high) : next;
    if (!(next > low && next < high)) break;
    theta = next;
  }
  return theta;
}

template <int lanes>
inline Step step_packs(const double* f, double* a, const double* t, double ref, double k, double ridge, double u,
                       bool capped, Index P, double* v, double* change) {
  typedef typename Pack<double, lanes>::V V;
  V total = V{};
  for (Index c = 0; c < P; c += lanes) total += load_pack<lanes>(a + c);
  double z = 0, top = 0;
  for (int l = 0; l < lanes; ++l) z += total[l];
  for (Index c = 0; c < P; c += lanes) {
    const V g = load_pack<lanes>(f + c) - ref + load_pack<lanes>(t + c);
    store_pack<lanes>(change + c, g);
    for (int l = 0; l < lanes; ++l) top = g[l] > top ? g[l] : top;
  }
  // A row of zeros has no curvature: enough of it that v stays within a million times u.
  double curvature = k + ridge;
  if (curvature * u < 1e-6 * top) curvature = 1e-6 * top / u;
  const double inverse = 1 / curvature, rho = k * inverse;
  for (Index c = 0; c < P; c += lanes)
    store_pack<lanes>(v + c, (load_pack<lanes>(change + c) - k * (load_pack<lanes>(a + c) + z)) * inverse);
  const double theta = threshold<lanes>(v, rho, u, capped, P);
  const V zero = V{}, most = (u < kBlocked ? u : kBlocked) - V{};
  V size = zero, sum = zero, slope = zero, squares = zero;
  for (Index c = 0; c < P; c += lanes) {
    const V old = load_pack<lanes>(a + c), p = load_pack<lanes>(v + c) - theta;
    const V part = p < most ? p : most, now = p > zero ? -part : zero, d = now - old;
    slope += d * (load_pack<lanes>(change + c) + ridge * old);
    store_pack<lanes>(a + c, now);
    store_pack<lanes>(change + c, d);
    size -= now, sum += d, squares += d * d;
  }
  Step out{0, 0, 0};
  double all = 0;
  for (int l = 0; l < lanes; ++l) out.gain -= slope[l], out.size += size[l], out.sum += sum[l], all += squares[l];
  out.gain -= 0.5 * (k * (all + out.sum * out.sum) + ridge * all);
  return out;
}

Step step(const double* f, double* a, const double* t, double ref, double k, double ridge, double u, bool capped,
          Index P, double* v, double* change) {
  if (P == 2) return step_packs<2>(f, a, t, ref, k, ridge, u, capped, P, v, change);
  if (P == 4) return step_packs<4>(f, a, t, ref, k, ridge, u, capped, P, v, change);
  return step_packs<8>(f, a, t, ref, k, ridge, u, capped, P, v, change);
}

template <class T>
const WeightSteps<T>& weight_steps() {
  static constexpr WeightSteps<T> table = {{
      {scores<T, All>, scores<T, std::int32_t>, scores<T, std::int64_t>},
      {add<T, All>, add<T, std::int32_t>, add<T, std::int64_t>},
      {expect<All>, expect<std::int32_t>, expect<std::int64_t>},
      slope,
      step,
  }};
  return table;
}
template const WeightSteps<float>& weight_steps();
template const WeightSteps<double>& weight_steps();

}  // namespace POLYMARGIN_ISA
}  // namespace polymargin
