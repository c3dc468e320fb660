// The functions of TileOps, written once and compiled once per instruction set, see vector.inl.
#include "simd/exp.inl"
#include "simd/tile.hpp"
#include "simd/tile_pack.inl"
#include "simd/vector.inl"

namespace polymargin {
namespace POLYMARGIN_ISA {
namespace {

// Rows that a call of `dots` takes: their sums, two vectors of a panel and a broadcast value fill the registers.
// AVX-512 has 32.
constexpr int kRows = VECTOR_BYTES == 64 ? 12 : VECTOR_BYTES == 32 ? 6 : 4;
constexpr int kSparseVectors = 4;
constexpr int kPanels = 4;         // that one row of few features meets at once: sums that hide an addition's latency
constexpr Index kNear = 24 << 10;  // bytes of panels that are passed over again and again, within the smallest L1
constexpr int kTerms = 32;         // terms of a sum in T
constexpr int kSums = 8;           // side by side: as many as hide the latency of an addition

template <class T>
INLINE V<T> absolute(V<T> x) {
  I<T> bits;
  __builtin_memcpy(&bits, &x, sizeof x);
  bits &= static_cast<decltype(bits[0] + 0)>(sizeof(T) == 4 ? 0x7fffffffLL : 0x7fffffffffffffffLL);
  __builtin_memcpy(&x, &bits, sizeof x);
  return x;
}

// ---- tanh ----

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
    const V<T> s = dot * T(2) - (row_norm + col_norm);  // exactly 0 for a row and itself
    return exp_negative<T>(vmin<T>(V<T>{}, s));         // NaN stays NaN
  } else if constexpr (kind == KernelKind::sqeuclidean) {
    const V<T> s = (row_norm + col_norm) - dot * T(2);
    return s < T(0) ? V<T>{} : s;
  } else if constexpr (kind == KernelKind::linear) {
    return dot;
  } else if constexpr (kind == KernelKind::poly) {
    const V<T> base = dot * f.gamma + f.coef0;
    V<T> power = all<T>(1), square = base;
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
    static_assert(kind == KernelKind::laplacian);
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
    case KernelKind::laplacian:
      return finish_rows<T, KernelKind::laplacian>(f, tile, ldt, m, n, rn, cn, out, ldo);
    case KernelKind::precomputed:
    case KernelKind::callable:
      return;  // their values come from elsewhere
  }
}

// ---- sums over features ----

template <Term term_, class T>
INLINE V<T> term(T a, V<T> b, V<T> sum) {
  if constexpr (term_ == Term::product) return multiply_add(all<T>(a), b, sum);
  const V<T> gap = a - b;
  if constexpr (term_ == Term::distance) return sum + absolute<T>(gap);
  return multiply_add(gap, gap, sum);
}

// Sums of squares become what stands in for a dot when they are stored: a factor of -1/2, exact and once per value.
template <Term t, class T>
INLINE V<T> begun(const T* tile, bool add) {
  if (!add) return V<T>{};
  return t == Term::square ? load(tile) * T(-2) : load(tile);
}
template <Term t, class T>
INLINE void end(T* tile, V<T> sum) {
  store<T>(tile, t == Term::square ? sum * T(-0.5) : sum);
}

template <Term t, int M, class T>
INLINE void micro(const T* a, Index lda, const T* b, Index d, bool add, T* tile, Index ldt) {
  V<T> sum[M][kPairs];
  UNROLL for (int r = 0; r < M; ++r) {
    UNROLL for (int v = 0; v < kPairs; ++v) sum[r][v] = begun<t, T>(tile + r * ldt + v * W<T>, add);
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
    UNROLL for (int v = 0; v < kPairs; ++v) end<t, T>(tile + r * ldt + v * W<T>, sum[r][v]);
  }
}

// m <= M rows.
template <Term t, int M, class T>
void strip(const T* a, Index lda, int m, const T* b, int panels, Index d, bool add, T* tile, Index ldt) {
  if constexpr (M > 1)
    if (m < M) return strip<t, M - 1, T>(a, lda, m, b, panels, d, add, tile, ldt);
  for (int p = 0; p < panels; ++p) micro<t, M, T>(a, lda, b + p * d * kLanes<T>, d, add, tile + p * kLanes<T>, ldt);
}

template <class T>
void dots(Term t, const T* a, Index lda, int m, const T* b, int panels, Index d, bool add, T* tile, Index ldt) {
  if (t == Term::product) return strip<Term::product, kRows, T>(a, lda, m, b, panels, d, add, tile, ldt);
  if (t == Term::distance) return strip<Term::distance, kRows, T>(a, lda, m, b, panels, d, add, tile, ldt);
  strip<Term::square, kRows, T>(a, lda, m, b, panels, d, add, tile, ldt);
}

// A part of a row's list and P panels.
template <int P, class T>
INLINE void few_row(const std::int32_t* feature, const T* value, Index n, const T* b, Index size, bool add, T* tile) {
  V<T> sum[P][kPairs];
  UNROLL for (int p = 0; p < P; ++p) {
    UNROLL for (int v = 0; v < kPairs; ++v) sum[p][v] = begun<Term::product, T>(tile + p * kLanes<T> + v * W<T>, add);
  }
  for (Index i = 0; i < n; ++i) {
    const T* x = b + static_cast<Index>(feature[i]) * kLanes<T>;
    UNROLL for (int p = 0; p < P; ++p) {
      UNROLL for (int v = 0; v < kPairs; ++v) sum[p][v] =
          term<Term::product, T>(value[i], load(x + p * size + v * W<T>), sum[p][v]);
    }
  }
  UNROLL for (int p = 0; p < P; ++p) {
    UNROLL for (int v = 0; v < kPairs; ++v) store<T>(tile + p * kLanes<T> + v * W<T>, sum[p][v]);
  }
}

// Some features at a time, whose part of kPanels panels stays in the nearest caches while all rows meet it.
template <class T>
void few_dots(const Few<T>* rows, Index m, const T* b, int panels, Index d, bool add, T* tile, Index ldt) {
  constexpr Index step = kNear / (kPanels * kLanes<T> * static_cast<Index>(sizeof(T)));
  Index from[kFewRows], to[kFewRows];
  for (Index r = 0; r < m; ++r) to[r] = 0;
  for (Index k = 0; k < d; k += step) {
    for (Index r = 0; r < m; ++r) {
      Index i = from[r] = to[r];
      while (i < rows[r].n && rows[r].feature[i] < k + step) ++i;
      to[r] = i;
    }
    for (int p = 0; p < panels; p += kPanels) {
      const bool all_panels = p + kPanels <= panels;
      for (Index r = 0; r < m; ++r) {
        const std::int32_t* feature = rows[r].feature + from[r];
        const T* value = rows[r].value + from[r];
        T* out = tile + r * ldt + p * kLanes<T>;
        const Index n = to[r] - from[r], size = d * kLanes<T>;
        if (all_panels) {
          few_row<kPanels, T>(feature, value, n, b + p * size, size, add || k > 0, out);
        } else {
          for (int q = p; q < panels; ++q)
            few_row<1, T>(feature, value, n, b + q * size, size, add || k > 0, out + (q - p) * kLanes<T>);
        }
      }
    }
  }
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
  for (Index p = 0; p < n; ++p) sum = term<Term::product, T>(x[p], all<T>(x[p]), sum);
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

// ---- sums over support vectors ----

// Those of C classes and N vectors of columns from `i` on. `at` may be null, for the lines 0, 1, ... of K.
// Sums of kTerms terms in T: beyond that their rounding would outweigh that of the kernel values.
template <int C, int N, class T, class A>
INLINE void score_columns(const KernelTile<T>& K, const Index* at, Index i, const A* U, double* f, Index ld) {
  for (Index l0 = 0; l0 < K.m; l0 += kTerms) {
    const Index l1 = l0 + kTerms < K.m ? l0 + kTerms : K.m;
    V<T> sum[C][N] = {};
    for (Index l = l0; l < l1; ++l) {
      const T* line = K.values + (at ? at[l] : l) * K.stride + i;
      V<T> x[N];
      UNROLL for (int v = 0; v < N; ++v) x[v] = load(line + v * W<T>);
      UNROLL for (int c = 0; c < C; ++c) {
        const V<T> u = all<T>(static_cast<T>(U[c * K.m + l]));
        UNROLL for (int v = 0; v < N; ++v) sum[c][v] = multiply_add(u, x[v], sum[c][v]);
      }
    }
    UNROLL for (int c = 0; c < C; ++c) {
      T flat[N * W<T>];
      UNROLL for (int v = 0; v < N; ++v) store<T>(flat + v * W<T>, sum[c][v]);
      double* line = f + c * ld + i;
      for (int l = 0; l < N * W<T>; l += W<double>)
        store<double>(line + l, load(line + l) + widened<W<double>>(flat + l));
    }
  }
}

template <int C, class T, class A>
void score_classes(const KernelTile<T>& K, const Index* at, const A* U, double* f, Index ld) {
  constexpr int N = kSums / C;
  Index i = 0;
  for (; i + N * W<T> <= K.n; i += N * W<T>) score_columns<C, N, T>(K, at, i, U, f, ld);
  for (; i < K.n; i += W<T>) score_columns<C, 1, T>(K, at, i, U, f, ld);
}

template <class T>
void scores(const KernelTile<T>& K, const T* U, Index classes, double* f, Index ld) {
  Index c = 0;
  for (; c + 4 <= classes; c += 4) score_classes<4, T>(K, nullptr, U + c * K.m, f + c * ld, ld);
  for (; c + 2 <= classes; c += 2) score_classes<2, T>(K, nullptr, U + c * K.m, f + c * ld, ld);
  if (c < classes) score_classes<1, T>(K, nullptr, U + c * K.m, f + c * ld, ld);
}

template <class T>
void gathered_scores(const KernelTile<T>& K, const Index* at, const double* u, double* f) {
  score_classes<1, T>(K, at, u, f, 0);
}

void improve(const double* f, double b, Index n, Index label, double* best, Index* labels) {
  for (Index c = 0; c < n; ++c) {
    const double s = f[c] + b;
    const bool better = s > best[c];
    best[c] = better ? s : best[c];
    labels[c] = better ? label : labels[c];
  }
}

}  // namespace

template <class T>
const TileOps<T>& tile_ops() {
  static constexpr TileOps<T> table = {kLanes<T>,
                                       kSparseVectors * W<T>,
                                       kRows,
                                       convert<T>,
                                       few<T>,
                                       pack<T>,
                                       norms<T>,
                                       norm<T>,
                                       dots<T>,
                                       few_dots<T>,
                                       sparse_dots<T>,
                                       finish<T>,
                                       transpose<T>,
                                       scores<T>,
                                       gathered_scores<T>,
                                       improve};
  return table;
}
template const TileOps<float>& tile_ops();
template const TileOps<double>& tile_ops();

}  // namespace POLYMARGIN_ISA
}  // namespace polymargin
