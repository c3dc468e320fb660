// Compiled once per instruction set; only plain functions in a namespace of its own, no STL, so that no inline function of
// another file is ever taken from here. Vectors wider than the processor's are split by the compiler.
#include "steps.hpp"
#include "weight_steps.hpp"

namespace polymargin {
namespace POLYMARGIN_ISA {

template <int lanes>
struct Pack;
template <>
struct Pack<2> {
  typedef double V __attribute__((vector_size(16), aligned(8), may_alias));
};
template <>
struct Pack<4> {
  typedef double V __attribute__((vector_size(32), aligned(8), may_alias));
};
template <>
struct Pack<8> {
  typedef double V __attribute__((vector_size(64), aligned(8), may_alias));
};
struct All {};  // a dense row: the k-th value belongs to feature k
inline Index feature(const All*, Index k) { return k; }
template <class J>
inline Index feature(const J* at, Index k) {
  return static_cast<Index>(at[k]);
}

// N packs of classes from column `from` on, two sums each where registers allow, so that one addition need not wait for the last.
template <class T, class J, int lanes, int N>
inline void sum_packs(const T* x, const J* at, Index count, const double* W, Index P, double* f) {
  typedef typename Pack<lanes>::V V;
  V s[N] = {}, r[N] = {};
  Index k = 0;
  for (; k + 2 <= count; k += 2) {
    const double a = x[k], b = x[k + 1];
    const double *u = W + feature(at, k) * P, *v = W + feature(at, k + 1) * P;
    for (int j = 0; j < N; ++j) s[j] += a * *reinterpret_cast<const V*>(u + j * lanes);
    for (int j = 0; j < N; ++j) r[j] += b * *reinterpret_cast<const V*>(v + j * lanes);
  }
  if (k < count) {
    const double a = x[k];
    const double* u = W + feature(at, k) * P;
    for (int j = 0; j < N; ++j) s[j] += a * *reinterpret_cast<const V*>(u + j * lanes);
  }
  for (int j = 0; j < N; ++j) *reinterpret_cast<V*>(f + j * lanes) = s[j] + r[j];
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
  typedef typename Pack<lanes>::V V;
  const V d = *reinterpret_cast<const V*>(change);
  for (Index k = 0; k < count; ++k) {
    V* w = reinterpret_cast<V*>(W + feature(at, k) * P);
    *w += double(x[k]) * d;
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
  typedef typename Pack<lanes>::V V;
  const V never = -kBlocked - V{}, bound = low - V{}, zero = V{};
  V up = never, down = never;
  for (Index c = 0; c < P; c += lanes) {
    const V b = *reinterpret_cast<const V*>(a + c);
    const V g = *reinterpret_cast<const V*>(f + c) - ref + *reinterpret_cast<const V*>(t + c) + ridge * b;
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

template <class T>
Slope slope(const double* f, const double* a, const double* t, double ref, double ridge, double low, Index P) {
  if (P == 2) return slope_packs<2>(f, a, t, ref, ridge, low, P);
  if (P == 4) return slope_packs<4>(f, a, t, ref, ridge, low, P);
  return slope_packs<8>(f, a, t, ref, ridge, low, P);
}

template <class T>
constexpr WeightSteps<T> weight_table = {
    {scores<T, All>, scores<T, std::int32_t>, scores<T, std::int64_t>},
    {add<T, All>, add<T, std::int32_t>, add<T, std::int64_t>},
    {expect<All>, expect<std::int32_t>, expect<std::int64_t>},
    slope<T>,
};
extern const WeightSteps<float> weight_steps_float;
extern const WeightSteps<double> weight_steps_double;
const WeightSteps<float> weight_steps_float = weight_table<float>;
const WeightSteps<double> weight_steps_double = weight_table<double>;

}  // namespace POLYMARGIN_ISA
}  // namespace polymargin
