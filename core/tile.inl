// The functions of TileOps, written once with vector extensions and compiled once per instruction set. The including
// file defines POLYMARGIN_ISA (a namespace), VECTOR_BYTES and TILE_ROWS. No STL here: see tile.hpp.
//
// Registers: TILE_ROWS x 2 accumulators, two vectors of the panel and one broadcast value must fit.

namespace polymargin {
namespace POLYMARGIN_ISA {
namespace {

#define INLINE inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 16")

constexpr int kPairs = 2;  // vectors in a row of a panel
constexpr int kSparseVectors = 4;

template <class T>
struct Vec {
  static constexpr int W = VECTOR_BYTES / sizeof(T);
  typedef T V __attribute__((vector_size(VECTOR_BYTES)));
};
template <class T>
using V = typename Vec<T>::V;
template <class T>
constexpr int W = Vec<T>::W;
template <class T>
constexpr int kLanes = kPairs * W<T>;

template <class T>
struct Bits;
template <>
struct Bits<float> {
  typedef std::int32_t I __attribute__((vector_size(VECTOR_BYTES)));
};
template <>
struct Bits<double> {
  typedef std::int64_t I __attribute__((vector_size(VECTOR_BYTES)));
};

template <class T>
INLINE V<T> load(const T* p) {
  V<T> v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
template <class T>
INLINE void store(T* p, V<T> v) {
  __builtin_memcpy(p, &v, sizeof v);
}
template <class T>
INLINE V<T> splat(T x) {
  return x - V<T>{};
}
template <class T>
INLINE V<T> absolute(V<T> x) {
  typename Bits<T>::I bits;
  __builtin_memcpy(&bits, &x, sizeof x);
  bits &= static_cast<decltype(bits[0] + 0)>(sizeof(T) == 4 ? 0x7fffffffLL : 0x7fffffffffffffffLL);
  __builtin_memcpy(&x, &bits, sizeof x);
  return x;
}

// ---- exp and tanh ----

template <class T>
struct ExpTable;
template <>
struct ExpTable<float> {
  static constexpr float lowest = -87.33654f, log2e = 1.44269504f, ln2_high = 0.693359375f, ln2_low = -2.12194440e-4f;
  static constexpr float shift = 12582912.0f + 127.0f;  // 1.5 * 2^23 + bias
  static constexpr int mantissa = 23, degree = 5;
  static constexpr float p[] = {1.98909827e-4f, 1.39336427e-3f, 8.33331093e-3f,
                                4.16664650e-2f, 1.66666667e-1f, 5.00000001e-1f};
};
template <>
struct ExpTable<double> {
  static constexpr double lowest = -708.396418532264, log2e = 1.4426950408889634;
  static constexpr double ln2_high = 6.93147180369123816490e-1, ln2_low = 1.90821492927058770002e-10;
  static constexpr double shift = 6755399441055744.0 + 1023.0;  // 1.5 * 2^52 + bias
  static constexpr int mantissa = 52, degree = 9;
  static constexpr double p[] = {2.51003776196063719e-08, 2.76200782038063943e-07, 2.75572684765536953e-06,
                                 2.48015213174840833e-05, 1.98412698630429628e-04, 1.38888889171998628e-03,
                                 8.33333333333006326e-03, 4.16666666666241567e-02, 1.66666666666666685e-01,
                                 5.00000000000000111e-01};
};

// e^x for x <= 0, below 2 ulp. x = n ln 2 + f with |f| <= ln 2 / 2, e^f = 1 + f + f^2 p(f). Adding `shift` rounds x /
// ln 2 to n and leaves n + bias in the low bits, which become the exponent. Results under the smallest normal number
// are 0, NaN gives 0.
template <class T>
INLINE V<T> exp_negative(V<T> x) {
  using E = ExpTable<T>;
  const V<T> lowest = splat<T>(E::lowest);
  const V<T> c = x > lowest ? x : lowest;
  const V<T> shifted = c * E::log2e + E::shift;
  const V<T> n = shifted - E::shift;
  const V<T> f = (c - n * E::ln2_high) - n * E::ln2_low;
  V<T> p = splat<T>(E::p[0]);
  UNROLL for (int i = 1; i <= E::degree; ++i) p = p * f + E::p[i];
  const V<T> e = (p * (f * f) + f) + T(1);
  typename Bits<T>::I bits;
  __builtin_memcpy(&bits, &shifted, sizeof bits);
  bits <<= E::mantissa;
  V<T> scale;
  __builtin_memcpy(&scale, &bits, sizeof bits);
  return x >= lowest ? e * scale : V<T>{};
}

// tanh: an odd polynomial (float) or rational function (double) near 0, else from e^(-2|x|).
INLINE V<float> tanh_near(V<float> x) {
  const V<float> z = x * x;
  V<float> p = z * -5.70498872745e-3f + 2.06390887954e-2f;
  p = p * z - 5.37397155531e-2f;
  p = p * z + 1.33314422036e-1f;
  p = p * z - 3.33332819422e-1f;
  return p * z * x + x;
}
INLINE V<double> tanh_near(V<double> x) {
  const V<double> z = x * x;
  const V<double> p = (z * -9.64399179425052238628e-1 - 9.92877231001918586564e1) * z - 1.61468768441708447952e3;
  const V<double> q = ((z + 1.12811678491632931402e2) * z + 2.23548839060100448583e3) * z + 4.84406305325125486048e3;
  return x * z * (p / q) + x;
}
template <class T>
INLINE V<T> tanh_of(V<T> x) {
  const V<T> size = absolute<T>(x);
  const V<T> t = exp_negative<T>(size * T(-2));
  const V<T> far = (T(1) - t) / (T(1) + t);
  return size < T(0.625) ? tanh_near(x) : (x < T(0) ? -far : far);
}

// ---- each kernel, once ----

template <class T, KernelKind kind>
INLINE V<T> value(const Formula<T>& f, V<T> dot, T row_norm, V<T> col_norm) {
  if constexpr (kind == KernelKind::rbf) {
    const V<T> s = (row_norm + col_norm) - dot * T(2);  // exactly 0 for a row and itself
    return exp_negative<T>(s < T(0) ? V<T>{} : -s);
  } else if constexpr (kind == KernelKind::sqeuclidean) {
    const V<T> s = (row_norm + col_norm) - dot * T(2);
    return s < T(0) ? V<T>{} : s;
  } else if constexpr (kind == KernelKind::linear) {
    return dot;
  } else if constexpr (kind == KernelKind::poly) {
    const V<T> base = dot * f.gamma + f.coef0;
    V<T> power = splat<T>(1), square = base;
    for (int e = f.degree; e > 0; e >>= 1) {
      if (e & 1) power *= square;
      square *= square;
    }
    return power;
  } else if constexpr (kind == KernelKind::sigmoid) {
    return tanh_of<T>(dot * f.gamma + f.coef0);
  } else if constexpr (kind == KernelKind::cosine) {
    return dot * (row_norm * col_norm);  // the norms are inverse lengths here
  } else {
    return exp_negative<T>(dot * -f.gamma);
  }
}

template <class T, KernelKind kind>
void finish_rows(const Formula<T>& f, const T* tile, Index ldt, Index m, Index n, const T* row_norms,
                 const T* col_norms, T* out, Index ldo) {
  constexpr bool has_norms = kind == KernelKind::rbf || kind == KernelKind::sqeuclidean || kind == KernelKind::cosine;
  for (Index r = 0; r < m; ++r) {
    const T* x = tile + r * ldt;
    T* y = out + r * ldo;
    const T norm = has_norms ? row_norms[r] : T(0);
    Index c = 0;
    for (; c + W<T> <= n; c += W<T>)
      store<T>(y + c, value<T, kind>(f, load(x + c), norm, has_norms ? load(col_norms + c) : V<T>{}) + f.offset);
    if (c < n) {
      const V<T> last = value<T, kind>(f, load(x + c), norm, has_norms ? load(col_norms + c) : V<T>{}) + f.offset;
      __builtin_memcpy(y + c, &last, (n - c) * sizeof(T));
    }
  }
}

template <class T>
void finish(const Formula<T>& f, const T* tile, Index ldt, Index m, Index n, const T* rn, const T* cn, T* out,
            Index ldo) {
  switch (f.kind) {
    case KernelKind::rbf:
      return finish_rows<T, KernelKind::rbf>(f, tile, ldt, m, n, rn, cn, out, ldo);
    case KernelKind::sqeuclidean:
      return finish_rows<T, KernelKind::sqeuclidean>(f, tile, ldt, m, n, rn, cn, out, ldo);
    case KernelKind::linear:
      return finish_rows<T, KernelKind::linear>(f, tile, ldt, m, n, rn, cn, out, ldo);
    case KernelKind::poly:
      return finish_rows<T, KernelKind::poly>(f, tile, ldt, m, n, rn, cn, out, ldo);
    case KernelKind::sigmoid:
      return finish_rows<T, KernelKind::sigmoid>(f, tile, ldt, m, n, rn, cn, out, ldo);
    case KernelKind::cosine:
      return finish_rows<T, KernelKind::cosine>(f, tile, ldt, m, n, rn, cn, out, ldo);
    default:
      return finish_rows<T, KernelKind::laplacian>(f, tile, ldt, m, n, rn, cn, out, ldo);
  }
}

// ---- sums over features ----

// a b + c, rounded once where the processor can. Said explicitly: a compiler may fuse one loop and not another, and
// then the norm of a row is not its dot with itself.
#if defined(__FMA__) && VECTOR_BYTES == 64
INLINE V<float> multiply_add(V<float> a, V<float> b, V<float> c) { return _mm512_fmadd_ps(a, b, c); }
INLINE V<double> multiply_add(V<double> a, V<double> b, V<double> c) { return _mm512_fmadd_pd(a, b, c); }
#elif defined(__FMA__) && VECTOR_BYTES == 32
INLINE V<float> multiply_add(V<float> a, V<float> b, V<float> c) { return _mm256_fmadd_ps(a, b, c); }
INLINE V<double> multiply_add(V<double> a, V<double> b, V<double> c) { return _mm256_fmadd_pd(a, b, c); }
#elif defined(__aarch64__)
INLINE V<float> multiply_add(V<float> a, V<float> b, V<float> c) { return vfmaq_f32(c, a, b); }
INLINE V<double> multiply_add(V<double> a, V<double> b, V<double> c) { return vfmaq_f64(c, a, b); }
#else
INLINE V<float> multiply_add(V<float> a, V<float> b, V<float> c) { return a * b + c; }
INLINE V<double> multiply_add(V<double> a, V<double> b, V<double> c) { return a * b + c; }
#endif

template <Term term_, class T>
INLINE V<T> term(T a, V<T> b, V<T> sum) {
  if constexpr (term_ == Term::product) return multiply_add(splat<T>(a), b, sum);
  const V<T> gap = a - b;
  if constexpr (term_ == Term::distance) return sum + absolute<T>(gap);
  return multiply_add(gap * T(-0.5), gap, sum);
}

template <Term t, int M, class T>
INLINE void micro(const T* a, Index lda, const T* b, Index d, bool add, T* tile, Index ldt) {
  V<T> sum[M][kPairs];
  UNROLL for (int r = 0; r < M; ++r) {
    UNROLL for (int v = 0; v < kPairs; ++v) sum[r][v] = add ? load(tile + r * ldt + v * W<T>) : V<T>{};
  }
  for (Index k = 0; k < d; ++k, b += kLanes<T>) {
    V<T> x[kPairs];
    UNROLL for (int v = 0; v < kPairs; ++v) x[v] = load(b + v * W<T>);
    UNROLL for (int r = 0; r < M; ++r) {
      const T y = a[r * lda + k];
      UNROLL for (int v = 0; v < kPairs; ++v) sum[r][v] = term<t, T>(y, x[v], sum[r][v]);
    }
  }
  UNROLL for (int r = 0; r < M; ++r) {
    UNROLL for (int v = 0; v < kPairs; ++v) store<T>(tile + r * ldt + v * W<T>, sum[r][v]);
  }
}

template <Term t, int M, class T>
void strip(const T* a, Index lda, const T* b, int panels, Index d, bool add, T* tile, Index ldt) {
  for (int p = 0; p < panels; ++p) micro<t, M, T>(a, lda, b + p * d * kLanes<T>, d, add, tile + p * kLanes<T>, ldt);
}

template <Term t, int M, class T>
void strip_of(const T* a, Index lda, int m, const T* b, int panels, Index d, bool add, T* tile, Index ldt) {
  if (m == M) return strip<t, M, T>(a, lda, b, panels, d, add, tile, ldt);
  if constexpr (M > 1) strip_of<t, M - 1, T>(a, lda, m, b, panels, d, add, tile, ldt);
}

template <class T>
void dots(Term t, const T* a, Index lda, int m, const T* b, int panels, Index d, bool add, T* tile, Index ldt) {
  if (t == Term::product) return strip_of<Term::product, TILE_ROWS, T>(a, lda, m, b, panels, d, add, tile, ldt);
  if (t == Term::distance) return strip_of<Term::distance, TILE_ROWS, T>(a, lda, m, b, panels, d, add, tile, ldt);
  strip_of<Term::square, TILE_ROWS, T>(a, lda, m, b, panels, d, add, tile, ldt);
}

template <class T>
void norms(const T* panel, Index d, bool add, T* out) {
  for (int v = 0; v < kPairs; ++v) {
    V<T> sum = add ? load(out + v * W<T>) : V<T>{};
    for (Index k = 0; k < d; ++k) {
      const V<T> x = load(panel + k * kLanes<T> + v * W<T>);
      sum = multiply_add(x, x, sum);
    }
    store<T>(out + v * W<T>, sum);
  }
}

template <class T>
T norm(const T* x, Index n) {
  V<T> sum = {};
  for (Index p = 0; p < n; ++p) sum = term<Term::product, T>(x[p], splat<T>(x[p]), sum);
  return sum[0];
}

template <Term t, class T>
INLINE void sparse_row(const std::int32_t* slot, const T* value, Index n, const T* panel, T* out) {
  V<T> sum[kSparseVectors] = {};
  for (Index p = 0; p < n; ++p) {
    const T* b = panel + static_cast<Index>(slot[p]) * (kSparseVectors * W<T>);
    UNROLL for (int v = 0; v < kSparseVectors; ++v) sum[v] = term<t, T>(value[p], load(b + v * W<T>), sum[v]);
  }
  UNROLL for (int v = 0; v < kSparseVectors; ++v) store<T>(out + v * W<T>, sum[v]);
}

template <class T>
void sparse_dots(Term t, const std::int32_t* slot, const T* value, Index n, const T* panel, T* out) {
  if (t == Term::distance) return sparse_row<Term::distance, T>(slot, value, n, panel, out);
  sparse_row<Term::product, T>(slot, value, n, panel, out);
}

// ---- conversion, packing, transposition ----

// Subtract in the wider of the two types: float64 rows far from the origin keep their digits when T is float.
template <class T, class S>
INLINE T converted(S x, const float* mean, const T* scale, Index k) {
  using Wide = decltype(S() + T());
  T y = mean ? static_cast<T>(static_cast<Wide>(x) - static_cast<Wide>(mean[k])) : static_cast<T>(x);
  return scale ? y * scale[k] : y;
}

template <int... I>
struct Lanes {};
template <int N, int... I>
struct Count : Count<N - 1, N - 1, I...> {};
template <int... I>
struct Count<0, I...> {
  using type = Lanes<I...>;
};

// W values at x less the mean, as W values of T.
INLINE V<float> centred(const float* x, const float* mean) {
  const V<float> v = load(x);
  return mean ? v - load(mean) : v;
}
INLINE V<double> widened(const float* x) {
  typedef float Half __attribute__((vector_size(VECTOR_BYTES / 2)));
  Half h;
  __builtin_memcpy(&h, x, sizeof h);
  return __builtin_convertvector(h, V<double>);
}
INLINE V<double> centred(const double* x, const float* mean) {
  const V<double> v = load(x);
  return mean ? v - widened(mean) : v;
}
INLINE V<double> centred_wide(const float* x, const float* mean) {
  const V<double> v = widened(x);
  return mean ? v - widened(mean) : v;
}
template <int... I>
INLINE V<float> centred_narrow(const double* x, const float* mean, Lanes<I...>) {
  typedef float Half __attribute__((vector_size(VECTOR_BYTES / 2)));
  constexpr int H = W<double>;
  const Half low = __builtin_convertvector(centred(x, mean), Half);
  const Half high = __builtin_convertvector(centred(x + H, mean ? mean + H : nullptr), Half);
  return __builtin_shufflevector(low, high, I...);
}

template <class T, class S>
INLINE V<T> converted_vector(const S* x, const float* mean, const T* scale) {
  V<T> v;
  if constexpr (sizeof(S) == sizeof(T)) {
    v = centred(x, mean);
  } else if constexpr (sizeof(T) == 8) {
    v = centred_wide(x, mean);
  } else {
    v = centred_narrow(x, mean, typename Count<W<T>>::type());
  }
  return scale ? v * load(scale) : v;
}

template <class T, class S>
void convert_row(const S* x, Index d, const float* mean, const T* scale, T* out) {
  Index k = 0;
  for (; k + W<T> <= d; k += W<T>)
    store<T>(out + k, converted_vector<T, S>(x + k, mean ? mean + k : nullptr, scale ? scale + k : nullptr));
  for (; k < d; ++k) out[k] = converted<T, S>(x[k], mean, scale, k);
}

template <class T>
void convert(bool wide, const void* x, Index d, const float* mean, const T* scale, T* out) {
  if (wide) return convert_row<T, double>(static_cast<const double*>(x), d, mean, scale, out);
  convert_row<T, float>(static_cast<const float*>(x), d, mean, scale, out);
}

// One stage of the transposition of a W x W block: the off-diagonal H x H blocks of every 2H x 2H block change places.
template <int H, class T, int... I>
INLINE void swap_blocks(V<T>* r, Lanes<I...>) {
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
void pack_rows(const S* const* x, Index d, const float* mean, const T* scale, T* panel) {
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
void pack(bool wide, const void* const* x, Index d, const float* mean, const T* scale, T* panel) {
  if (wide) return pack_rows<T, double>(reinterpret_cast<const double* const*>(x), d, mean, scale, panel);
  pack_rows<T, float>(reinterpret_cast<const float* const*>(x), d, mean, scale, panel);
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

// ---- sums over support vectors ----

template <class T>
void accumulate(const T* tile, Index ldt, Index m, Index n, const T* alpha, double* f) {
  constexpr int step = kLanes<T>;
  for (Index c = 0; c < n; c += step) {
    V<T> sum[kPairs] = {};
    for (Index r = 0; r < m; ++r) {
      UNROLL for (int v = 0; v < kPairs; ++v) sum[v] = sum[v] + alpha[r] * load(tile + r * ldt + c + v * W<T>);
    }
    T flat[step];
    UNROLL for (int v = 0; v < kPairs; ++v) store<T>(flat + v * W<T>, sum[v]);
    for (int l = 0; l < step; ++l) f[c + l] += flat[l];
  }
}

template <class T>
void gather_sum(const T* tile, Index ldt, const Index* at, const double* alpha, Index m, Index n, double* f) {
  constexpr int step = kLanes<T>;
  for (Index c = 0; c < n; c += step) {
    V<T> sum[kPairs] = {};
    for (Index r = 0; r < m; ++r) {
      const T a = static_cast<T>(alpha[r]);
      const T* x = tile + at[r] * ldt + c;
      UNROLL for (int v = 0; v < kPairs; ++v) sum[v] = sum[v] + a * load(x + v * W<T>);
    }
    T flat[step];
    UNROLL for (int v = 0; v < kPairs; ++v) store<T>(flat + v * W<T>, sum[v]);
    for (int l = 0; l < step; ++l) f[c + l] += flat[l];
  }
}

void improve(const double* f, double b, Index n, Index label, double* best, Index* labels) {
  for (Index c = 0; c < n; ++c) {
    const double s = f[c] + b;
    const bool better = s > best[c];
    best[c] = better ? s : best[c];
    labels[c] = better ? label : labels[c];
  }
}

template <class T>
constexpr TileOps<T> table(const char* name) {
  return {name,    kLanes<T>, kSparseVectors * W<T>, TILE_ROWS, convert<T>,   pack<T>,       norms<T>,
          norm<T>, dots<T>,   sparse_dots<T>,        finish<T>, transpose<T>, accumulate<T>, gather_sum<T>,
          improve};
}

}  // namespace

#define STRING_(x) #x
#define STRING(x) STRING_(x)
extern const TileOps<float> ops_float;
extern const TileOps<double> ops_double;
const TileOps<float> ops_float = table<float>(STRING(POLYMARGIN_ISA));
const TileOps<double> ops_double = table<double>(STRING(POLYMARGIN_ISA));

}  // namespace POLYMARGIN_ISA
}  // namespace polymargin
