// The vector type of all passes: V<T>, as wide as the instruction set allows, and its operations.
//
// Files of passes (*.inl) are compiled once per instruction set (CMakeLists.txt), which VECTOR_BYTES stands for: 16 for
// any processor (SSE2, NEON), 32 for AVX2 with FMA, 64 for AVX-512. Everything here and in those files lies in a
// namespace of the instruction set, and nothing of the STL is used: the linker keeps one copy of an inline function for
// the whole program, which could be the copy made with AVX-512 instructions.
//
// POLYMARGIN_WIDE: vectors of 64 bytes on a processor with AVX2, in halves, so that what depends on lanes can be tested
// there.
#pragma once
#if VECTOR_BYTES == 64
#define POLYMARGIN_ISA avx512
#if defined(POLYMARGIN_WIDE)
#if !defined(__AVX2__) || !defined(__FMA__) || defined(__AVX512F__)
#error "compile passes of 64 bytes with -mavx2 -mfma -DPOLYMARGIN_WIDE"
#endif
#elif !defined(__AVX512F__) || !defined(__AVX512DQ__) || !defined(__AVX512VL__) || !defined(__AVX512BW__)
#error "compile passes of 64 bytes with -mavx512f -mavx512dq -mavx512vl -mavx512bw -mfma"
#endif
#elif VECTOR_BYTES == 32
#define POLYMARGIN_ISA avx2
#if !defined(__AVX2__) || !defined(__FMA__)
#error "compile passes of 32 bytes with -mavx2 -mfma"
#endif
#elif VECTOR_BYTES == 16
#define POLYMARGIN_ISA base
#else
#error "define VECTOR_BYTES as 16, 32 or 64"
#endif

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include <cstdint>

#define INLINE inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 16")

namespace polymargin {
namespace POLYMARGIN_ISA {

// `lanes` numbers of type T. One that is wider than the processor's vectors is split by the compiler.
template <class T, int lanes>
struct Pack;
#define POLYMARGIN_PACK(T)                                                                                          \
  template <int lanes>                                                                                              \
  struct Pack<T, lanes> {                                                                                           \
    typedef T V __attribute__((vector_size(lanes * sizeof(T))));                                                    \
    typedef T Stored __attribute__((vector_size(lanes * sizeof(T)), aligned(sizeof(T)), may_alias)); /* anywhere */ \
  };
POLYMARGIN_PACK(float)
POLYMARGIN_PACK(double)
POLYMARGIN_PACK(std::int32_t)
POLYMARGIN_PACK(std::int64_t)
#undef POLYMARGIN_PACK

template <class T>
struct Lanes;  // Int: as wide as T
template <>
struct Lanes<float> {
  typedef std::int32_t Int;
};
template <>
struct Lanes<double> {
  typedef std::int64_t Int;
};

template <class T>
constexpr int W = VECTOR_BYTES / sizeof(T);
template <class T>
using V = typename Pack<T, W<T>>::V;
template <class T>
using I = typename Pack<typename Lanes<T>::Int, W<T>>::V;

template <int lanes, class T>
INLINE typename Pack<T, lanes>::V load_pack(const T* p) {
  return *reinterpret_cast<const typename Pack<T, lanes>::Stored*>(p);
}
template <int lanes, class T>
INLINE void store_pack(T* p, typename Pack<T, lanes>::V v) {
  *reinterpret_cast<typename Pack<T, lanes>::Stored*>(p) = v;
}
template <class T>
INLINE V<T> load(const T* p) {
  return load_pack<W<T>>(p);
}
template <class T>
INLINE void store(T* p, V<T> v) {
  store_pack<W<T>>(p, v);
}
template <class T>
INLINE V<T> all(T x) {
  return x - V<T>{};
}
// The numbers 0, 1, ..., N - 1 for __builtin_shufflevector.
template <int... I>
struct Numbers {};
template <int N, int... I>
struct Count : Count<N - 1, N - 1, I...> {};
template <int... I>
struct Count<0, I...> {
  using type = Numbers<I...>;
};
// The sum of all lanes, half by half.
template <int H, class T, int... I>
INLINE V<T> folded(V<T> x, Numbers<I...>) {
  return x + __builtin_shufflevector(x, x, (I ^ H)...);
}
template <class T, int H = W<T> / 2>
INLINE T lane_sum(V<T> x) {
  x = folded<H, T>(x, typename Count<W<T>>::type());
  if constexpr (H > 1) return lane_sum<T, H / 2>(x);
  return x[0];
}

template <class T>
INLINE I<T> iota() {
  I<T> v;
  for (int l = 0; l < W<T>; ++l) v[l] = l;
  return v;
}

// The processor's own instructions, where vector extensions would take several or leave the choice to the compiler.
//
// vmax, vmin: the second of two numbers of which one is NaN. multiply_add: a b + c, rounded once where the processor
// can. Said explicitly: a compiler may fuse one loop and not another, and then the norm of a row is not its dot with
// itself. widened: floats at p as doubles.
#if defined(__AVX512F__)
#define POLYMARGIN_INTRINSIC(name) _mm512_##name
#elif VECTOR_BYTES == 32
#define POLYMARGIN_INTRINSIC(name) _mm256_##name
#elif defined(__x86_64__) && VECTOR_BYTES == 16
#define POLYMARGIN_INTRINSIC(name) _mm_##name
#endif

template <class T>
INLINE V<T> vmax(V<T> a, V<T> b) {
#if defined(POLYMARGIN_INTRINSIC)
  if constexpr (sizeof(T) == 4)
    return POLYMARGIN_INTRINSIC(max_ps)(a, b);
  else
    return POLYMARGIN_INTRINSIC(max_pd)(a, b);
#else
  return a > b ? a : b;
#endif
}
template <class T>
INLINE V<T> vmin(V<T> a, V<T> b) {
#if defined(POLYMARGIN_INTRINSIC)
  if constexpr (sizeof(T) == 4)
    return POLYMARGIN_INTRINSIC(min_ps)(a, b);
  else
    return POLYMARGIN_INTRINSIC(min_pd)(a, b);
#else
  return a < b ? a : b;
#endif
}

#if defined(POLYMARGIN_INTRINSIC) && defined(__FMA__)
INLINE V<float> multiply_add(V<float> a, V<float> b, V<float> c) { return POLYMARGIN_INTRINSIC(fmadd_ps)(a, b, c); }
INLINE V<double> multiply_add(V<double> a, V<double> b, V<double> c) { return POLYMARGIN_INTRINSIC(fmadd_pd)(a, b, c); }
#elif defined(POLYMARGIN_WIDE)
template <class T>
union Halves {
  V<T> whole;
  typename Pack<T, W<T> / 2>::V half[2];
};
INLINE V<float> multiply_add(V<float> a, V<float> b, V<float> c) {
  Halves<float> x{a}, y{b}, z{c};
  for (int h = 0; h < 2; ++h) z.half[h] = _mm256_fmadd_ps(x.half[h], y.half[h], z.half[h]);
  return z.whole;
}
INLINE V<double> multiply_add(V<double> a, V<double> b, V<double> c) {
  Halves<double> x{a}, y{b}, z{c};
  for (int h = 0; h < 2; ++h) z.half[h] = _mm256_fmadd_pd(x.half[h], y.half[h], z.half[h]);
  return z.whole;
}
#elif defined(__aarch64__)
INLINE V<float> multiply_add(V<float> a, V<float> b, V<float> c) { return vfmaq_f32(c, a, b); }
INLINE V<double> multiply_add(V<double> a, V<double> b, V<double> c) { return vfmaq_f64(c, a, b); }
#else
INLINE V<float> multiply_add(V<float> a, V<float> b, V<float> c) { return a * b + c; }
INLINE V<double> multiply_add(V<double> a, V<double> b, V<double> c) { return a * b + c; }
#endif

template <int lanes>
INLINE typename Pack<double, lanes>::V widened(const double* p) {
  return load_pack<lanes>(p);
}
template <int lanes>
INLINE typename Pack<double, lanes>::V widened(const float* p) {
#if defined(__AVX512F__)  // GCC would convert by halves
  if constexpr (lanes == 8) return _mm512_cvtps_pd(_mm256_loadu_ps(p));
#endif
  return __builtin_convertvector(load_pack<lanes>(p), typename Pack<double, lanes>::V);
}
#undef POLYMARGIN_INTRINSIC

}  // namespace POLYMARGIN_ISA
}  // namespace polymargin
