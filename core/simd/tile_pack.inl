// Rows to the type of the arithmetic and to panels: part of tile.inl.
#include "simd/tile.hpp"
#include "simd/vector.inl"

namespace polymargin {
namespace POLYMARGIN_ISA {
namespace {

constexpr int kPairs = 2;  // vectors in a row of a panel
template <class T>
constexpr int kLanes = kPairs * W<T>;

// Subtract in the wider of the two types: float64 rows far from the origin keep their digits when T is float.
template <class T, class S>
INLINE T converted(S x, const S* mean, const T* scale, Index k) {
  using Wide = decltype(S() + T());
  T y = mean ? static_cast<T>(static_cast<Wide>(x) - static_cast<Wide>(mean[k])) : static_cast<T>(x);
  return scale ? y * scale[k] : y;
}

// W values at x less the mean, as W values of T.
template <class T, class S>
INLINE V<T> centered(const S* x, const S* mean) {
  if constexpr (sizeof(S) == sizeof(T))
    return mean ? load(x) - load(mean) : load(x);
  else
    return mean ? widened<W<T>>(x) - widened<W<T>>(mean) : widened<W<T>>(x);
}
template <int... I>
INLINE V<float> narrowed(const double* x, const double* mean, Numbers<I...>) {
  typedef typename Pack<float, W<double>>::V Half;
  constexpr int H = W<double>;
  const Half low = __builtin_convertvector(centered<double>(x, mean), Half);
  const Half high = __builtin_convertvector(centered<double>(x + H, mean ? mean + H : nullptr), Half);
  return __builtin_shufflevector(low, high, I...);
}

template <class T, class S>
INLINE V<T> converted_vector(const S* x, const S* mean, const T* scale) {
  V<T> v;
  if constexpr (sizeof(S) > sizeof(T))
    v = narrowed(x, mean, typename Count<W<T>>::type());
  else
    v = centered<T>(x, mean);
  return scale ? v * load(scale) : v;
}

template <class T, class S>
void convert_row(const S* x, Index d, const S* mean, const T* scale, T* out) {
  Index k = 0;
  for (; k + W<T> <= d; k += W<T>)
    store<T>(out + k, converted_vector<T, S>(x + k, mean ? mean + k : nullptr, scale ? scale + k : nullptr));
  for (; k < d; ++k) out[k] = converted<T, S>(x[k], mean, scale, k);
}

template <class T>
void convert(bool wide, const void* x, Index d, const void* mean, const T* scale, T* out) {
  if (wide)
    return convert_row<T, double>(static_cast<const double*>(x), d, static_cast<const double*>(mean), scale, out);
  convert_row<T, float>(static_cast<const float*>(x), d, static_cast<const float*>(mean), scale, out);
}

// What `few` does for a whole vector: appends the numbers and values of the lanes that are not 0, without a branch.
#if defined(__AVX512F__)
INLINE Index append(V<float> x, Index k, std::int32_t* feature, float* value) {
  const __mmask16 some = _mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_NEQ_UQ);
  const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  _mm512_storeu_ps(value, _mm512_maskz_compress_ps(some, x));
  _mm512_storeu_si512(feature, _mm512_maskz_compress_epi32(
                                   some, _mm512_add_epi32(lane, _mm512_set1_epi32(static_cast<std::int32_t>(k)))));
  return __builtin_popcount(some);
}
INLINE Index append(V<double> x, Index k, std::int32_t* feature, double* value) {
  const __mmask8 some = _mm512_cmp_pd_mask(x, _mm512_setzero_pd(), _CMP_NEQ_UQ);
  const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  _mm512_storeu_pd(value, _mm512_maskz_compress_pd(some, x));
  _mm256_storeu_si256(
      reinterpret_cast<__m256i*>(feature),
      _mm256_maskz_compress_epi32(some, _mm256_add_epi32(lane, _mm256_set1_epi32(static_cast<std::int32_t>(k)))));
  return __builtin_popcount(some);
}
#elif VECTOR_BYTES == 32
struct Chosen {  // lanes[bits]: the numbers of the bits that are set, first of all
  std::uint8_t lanes[256][8] = {};
  constexpr Chosen() {
    for (int bits = 0; bits < 256; ++bits)
      for (int l = 0, n = 0; l < 8; ++l)
        if (bits >> l & 1) lanes[bits][n++] = static_cast<std::uint8_t>(l);
  }
};
constexpr Chosen chosen;
INLINE __m256i chosen_lanes(int bits) {
  return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(chosen.lanes[bits])));
}
INLINE Index append(V<float> x, Index k, std::int32_t* feature, float* value) {
  const int bits = _mm256_movemask_ps(_mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_NEQ_UQ));
  const __m256i lane = chosen_lanes(bits);
  _mm256_storeu_ps(value, _mm256_permutevar8x32_ps(x, lane));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(feature),
                      _mm256_add_epi32(lane, _mm256_set1_epi32(static_cast<std::int32_t>(k))));
  return __builtin_popcount(static_cast<unsigned>(bits));
}
INLINE Index append(V<double> x, Index k, std::int32_t* feature, double* value) {
  const int bits = _mm256_movemask_pd(_mm256_cmp_pd(x, _mm256_setzero_pd(), _CMP_NEQ_UQ));
  const __m256i lane = chosen_lanes(bits);
  // Lane l of four doubles is the lanes 2 l and 2 l + 1 of eight floats.
  const __m256i twice = _mm256_permutevar8x32_epi32(lane, _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3));
  const __m256i half = _mm256_add_epi32(_mm256_add_epi32(twice, twice), _mm256_setr_epi32(0, 1, 0, 1, 0, 1, 0, 1));
  _mm256_storeu_pd(value, _mm256_castps_pd(_mm256_permutevar8x32_ps(_mm256_castpd_ps(x), half)));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(feature),
                   _mm256_castsi256_si128(_mm256_add_epi32(lane, _mm256_set1_epi32(static_cast<std::int32_t>(k)))));
  return __builtin_popcount(static_cast<unsigned>(bits));
}
#else
template <class T>
INLINE Index append(V<T> x, Index k, std::int32_t* feature, T* value) {
  Index n = 0;
  for (int l = 0; l < W<T>; ++l) {
    feature[n] = static_cast<std::int32_t>(k + l);
    value[n] = x[l];
    n += x[l] != T(0);
  }
  return n;
}
#endif

template <class T>
Index few(const T* x, Index d, std::int32_t* feature, T* value) {
  Index n = 0, k = 0;
  for (; k + W<T> <= d; k += W<T>) n += append(load(x + k), k, feature + n, value + n);
  for (; k < d; ++k) {
    feature[n] = static_cast<std::int32_t>(k);
    value[n] = x[k];
    n += x[k] != T(0);
  }
  return n;
}

// One stage of the transposition of a W x W block: the off-diagonal H x H blocks of every 2H x 2H block change places.
template <int H, class T, int... I>
INLINE void swap_blocks(V<T>* r, Numbers<I...>) {
  UNROLL for (int i = 0; i < W<T>; ++i) {
    if (i & H) continue;
    const V<T> a = r[i], b = r[i + H];
    r[i] = __builtin_shufflevector(a, b, (I & H ? I - H + W<T> : I)...);
    r[i + H] = __builtin_shufflevector(a, b, (I & H ? I + W<T> : I + H)...);
  }
}
template <int H, class T>
INLINE void transpose_registers(V<T>* r) {
  swap_blocks<H, T>(r, typename Count<W<T>>::type());
  if constexpr (H > 1) transpose_registers<H / 2, T>(r);
}

template <class T, class S>
void pack_rows(const S* const* x, Index d, const S* mean, const T* scale, T* panel) {
  constexpr int w = W<T>;
  if (d < w) {
    for (Index k = 0; k < d; ++k)
      for (int l = 0; l < kLanes<T>; ++l) panel[k * kLanes<T> + l] = converted<T, S>(x[l][k], mean, scale, k);
    return;
  }
  for (int v = 0; v < kPairs; ++v) {
    for (Index k = 0; k < d; k += w) {
      if (k + w > d) k = d - w;  // the last block overlaps the one before
      V<T> r[w];
      UNROLL for (int i = 0; i < w; ++i) __builtin_prefetch(x[v * w + i] + k + 4 * w);
      UNROLL for (int i = 0; i < w; ++i) r[i] =
          converted_vector<T, S>(x[v * w + i] + k, mean ? mean + k : nullptr, scale ? scale + k : nullptr);
      transpose_registers<w / 2, T>(r);
      UNROLL for (int i = 0; i < w; ++i) store<T>(panel + (k + i) * kLanes<T> + v * w, r[i]);
    }
  }
}

template <class T>
void pack(bool wide, const void* const* x, Index d, const void* mean, const T* scale, T* panel) {
  if (wide)
    return pack_rows<T, double>(reinterpret_cast<const double* const*>(x), d, static_cast<const double*>(mean), scale,
                                panel);
  pack_rows<T, float>(reinterpret_cast<const float* const*>(x), d, static_cast<const float*>(mean), scale, panel);
}

template <class T>
void transpose(const T* tile, Index ldt, Index m, Index n, T* out, Index ldo) {
  constexpr int w = W<T>;
  const Index m0 = m / w * w, n0 = n / w * w;
  for (Index c = 0; c < n0; c += w) {
    for (Index r = 0; r < m0; r += w) {
      V<T> x[w];
      UNROLL for (int i = 0; i < w; ++i) x[i] = load(tile + (r + i) * ldt + c);
      transpose_registers<w / 2, T>(x);
      UNROLL for (int i = 0; i < w; ++i) store<T>(out + (c + i) * ldo + r, x[i]);
    }
  }
  for (Index c = 0; c < n; ++c)
    for (Index r = c < n0 ? m0 : 0; r < m; ++r) out[c * ldo + r] = tile[r * ldt + c];
}

}  // namespace
}  // namespace POLYMARGIN_ISA
}  // namespace polymargin
