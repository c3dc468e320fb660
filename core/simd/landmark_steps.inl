// The passes over a tile of kernel values, see vector.inl.
#include "simd/exp.inl"
#include "simd/landmark_steps.hpp"

namespace polymargin {
namespace POLYMARGIN_ISA {
namespace {

// Sums side by side: at least as many as hide the latency of an addition, and more where there are registers for them, since a
// value that is loaded once serves several of them.
constexpr int kSums = 8, kProjected = VECTOR_BYTES == 64 ? 16 : VECTOR_BYTES == 32 ? 12 : 8;
constexpr int kClassesAtOnce = 4;    // that meet a vector of K while it is in a register
constexpr Index kTermsOfScore = 32;  // terms of a sum in T
constexpr double kUnasked = -1e300;  // short of a margin that a machine does not ask for
constexpr double kTiny = 1.18e-38;   // about the smallest normal float
typedef V<double> Doubles;

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

// W<double> doubles as T. Those too small to be normal numbers of T become 0: processors take a hundred times as long to
// multiply by the others, and probabilities far from a kink are mostly such numbers.
template <class T>
INLINE void store_narrowed(T* p, Doubles x) {
  if constexpr (sizeof(T) == sizeof(double))
    store<double>(p, x);
  else
    store_pack<W<double>>(
        p, __builtin_convertvector(((x < kTiny) & (x > -kTiny)) ? Doubles{} : x, typename Pack<T, W<double>>::V));
}

// ---- scores ----

// Of the N vectors of rows from `at` on.
template <int C, int N, class T>
INLINE void score_columns(const KernelTile<T>& K, Index at, const T* U, double* f, Index ld) {
  for (Index l0 = 0; l0 < K.m; l0 += kTermsOfScore) {
    const Index l1 = l0 + kTermsOfScore < K.m ? l0 + kTermsOfScore : K.m;
    V<T> sum[C][N] = {};
    for (Index l = l0; l < l1; ++l) {
      V<T> x[N];
      UNROLL for (int v = 0; v < N; ++v) x[v] = load(K.values + l * K.stride + at + v * W<T>);
      UNROLL for (int c = 0; c < C; ++c) {
        const V<T> u = all<T>(U[c * K.m + l]);
        UNROLL for (int v = 0; v < N; ++v) sum[c][v] = multiply_add(u, x[v], sum[c][v]);
      }
    }
    UNROLL for (int c = 0; c < C; ++c) {
      T flat[N * W<T>];
      UNROLL for (int v = 0; v < N; ++v) store<T>(flat + v * W<T>, sum[c][v]);
      double* line = f + c * ld + at;
      for (int l = 0; l < N * W<T>; l += W<double>)
        store<double>(line + l, load(line + l) + widened<W<double>>(flat + l));
    }
  }
}

template <int C, class T>
void score_classes(const KernelTile<T>& K, const T* U, double* f, Index ld) {
  constexpr int N = kSums / C;
  Index i = 0;
  for (; i + N * W<T> <= K.n; i += N * W<T>) score_columns<C, N, T>(K, i, U, f, ld);
  for (; i < K.n; i += W<T>) score_columns<C, 1, T>(K, i, U, f, ld);
}

template <class T>
void scores(const KernelTile<T>& K, const T* U, Index classes, double* f, Index ld) {
  Index c = 0;
  for (; c + kClassesAtOnce <= classes; c += kClassesAtOnce)
    score_classes<kClassesAtOnce, T>(K, U + c * K.m, f + c * ld, ld);
  for (; c + 2 <= classes; c += 2) score_classes<2, T>(K, U + c * K.m, f + c * ld, ld);
  if (c < classes) score_classes<1, T>(K, U + c * K.m, f + c * ld, ld);
}

// ---- sums over rows ----

// At R landmarks from `at` on.
template <int C, int R, class T>
INLINE void project_rows(const KernelTile<T>& K, Index at, const T* D, Index ld, double* G) {
  V<T> sum[C][R] = {};
  const T* values = K.values + at * K.stride;
  for (Index i = 0; i < K.n; i += W<T>) {
    V<T> x[R];
    UNROLL for (int r = 0; r < R; ++r) x[r] = load(values + r * K.stride + i);
    UNROLL for (int c = 0; c < C; ++c) {
      const V<T> d = load(D + c * ld + i);
      UNROLL for (int r = 0; r < R; ++r) sum[c][r] = multiply_add(d, x[r], sum[c][r]);
    }
  }
  UNROLL for (int c = 0; c < C; ++c) {
    UNROLL for (int r = 0; r < R; ++r) G[c * K.m + at + r] += static_cast<double>(lane_sum<T>(sum[c][r]));
  }
}

template <int C, class T>
void project_classes(const KernelTile<T>& K, const T* D, Index ld, double* G) {
  constexpr int R = kProjected / C;
  Index l = 0;
  for (; l + R <= K.m; l += R) project_rows<C, R, T>(K, l, D, ld, G);
  for (; l < K.m; ++l) project_rows<C, 1, T>(K, l, D, ld, G);
}

template <class T>
void project(const KernelTile<T>& K, const T* D, Index ld, Index classes, double* G) {
  Index c = 0;
  for (; c + kClassesAtOnce <= classes; c += kClassesAtOnce)
    project_classes<kClassesAtOnce, T>(K, D + c * ld, ld, G + c * K.m);
  for (; c + 2 <= classes; c += 2) project_classes<2, T>(K, D + c * ld, ld, G + c * K.m);
  if (c < classes) project_classes<1, T>(K, D + c * ld, ld, G + c * K.m);
}

// ---- losses and slopes ----

// ln x for x >= 1, to some roundings of 1: x = 2^e z with z near 1, ln z = 2 artanh t with t = (z - 1) / (z + 1).
INLINE Doubles log_above_1(Doubles x) {
  constexpr double kTwo52 = 4503599627370496.0;
  I<double> bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  const I<double> mantissa = (bits & 0xfffffffffffffLL) | 0x3ff0000000000000LL;
  const I<double> exponent = (bits >> 52) | 0x4330000000000000LL;  // the bits of 2^52 + it
  Doubles z, e;
  __builtin_memcpy(&z, &mantissa, sizeof z);
  __builtin_memcpy(&e, &exponent, sizeof e);
  const auto high = z > 1.4142135623730951;
  e = (e - (kTwo52 + 1023.0)) + (high ? all<double>(1) : Doubles{});
  z = high ? z * 0.5 : z;
  const Doubles t = (z - 1.0) / (z + 1.0), t2 = t * t;
  Doubles p = all<double>(1.0 / 21);
  UNROLL for (int k = 19; k >= 1; k -= 2) p = p * t2 + 1.0 / k;
  return e * 0.6931471805599453 + 2.0 * t * p;
}

struct LossLanes {
  Doubles loss = {}, smooth = {}, linear = {}, curvature = {};
};

// A row per lane, whose scores are at f, ld apart. They become q; returned are the sum of losses in units of u, and the largest.
struct Slacks {
  Doubles sum, most;
};
INLINE Slacks slacks(const MarginLoss& p, Doubles y, Doubles ref, double* f, Index ld) {
  Slacks out = {};
  for (Index c = 0; c < p.classes; ++c) {
    const Doubles v = load(f + c * ld) - ref, others = p.others ? 1.0 + v : all<double>(kUnasked);
    const Doubles own = p.own_target > 0 ? p.own_target - v : all<double>(kUnasked);
    const Doubles q = y == static_cast<double>(c) ? own : others, slack = vmax<double>(q, Doubles{});
    out.most = vmax<double>(out.most, slack);
    out.sum += p.square > 0 ? p.square * slack * slack : slack;
    store<double>(f + c * ld, q);
  }
  return out;
}

// |a| in the place of q, the smooth loss and its curvature: of squares, which need no smoothing ...
INLINE void squared(const MarginLoss& p, Doubles u, double* f, Index ld, LossLanes& out) {
  for (Index c = 0; c < p.classes; ++c) {
    const Doubles q = load(f + c * ld), slack = vmax<double>(q, Doubles{});
    out.linear -= p.square * u * slack * slack;
    out.curvature += q > 0.0 ? 2 * p.square * u : Doubles{};
    store<double>(f + c * ld, 2 * p.square * u * slack);
  }
  out.smooth = out.loss;
}

// ... of the largest slack or 0: softmax ...
INLINE void largest(const MarginLoss& p, Doubles u, Doubles most, double s, double* f, Index ld, LossLanes& out) {
  const double scale = 1 / s;
  Doubles total = exp_negative<double>(-most * scale), squares = {};
  for (Index c = 0; c < p.classes; ++c) {
    const Doubles e = exp_negative<double>((load(f + c * ld) - most) * scale);
    store<double>(f + c * ld, e);
    total += e;
  }
  for (Index c = 0; c < p.classes; ++c) {
    const Doubles share = load(f + c * ld) / total;
    squares += share * (1.0 - share);
    store<double>(f + c * ld, u * share);
  }
  out.smooth = u * (most + s * log_above_1(vmax<double>(total, all<double>(1))));
  out.curvature = u * scale * squares;
}

// ... of every slack or 0.
INLINE void each(const MarginLoss& p, Doubles u, double s, double* f, Index ld, LossLanes& out) {
  const double scale = 1 / s;
  for (Index c = 0; c < p.classes; ++c) {
    const Doubles q = load(f + c * ld), e = exp_negative<double>((q > 0.0 ? -q : q) * scale);
    const Doubles share = (q > 0.0 ? all<double>(1) : e) / (1.0 + e);
    out.smooth += u * (vmax<double>(q, Doubles{}) + s * log_above_1(1.0 + e));
    out.curvature += u * scale * share * (1.0 - share);
    store<double>(f + c * ld, u * share);
  }
}

INLINE Doubles reference_of(const MarginLoss& p, const double* label, const double* f, Index ld) {
  Doubles ref = {};
  if (p.reference == Reference::own)
    for (int l = 0; l < W<double>; ++l) ref[l] = f[static_cast<Index>(label[l]) * ld + l];
  if (p.reference == Reference::mean) {
    for (Index c = 0; c < p.classes; ++c) ref += load(f + c * ld);
    ref /= static_cast<double>(p.classes);
  }
  return ref;
}

// a gets its sign; D = V'a.
template <class T>
INLINE void signed_slopes(const MarginLoss& p, Doubles y, double* f, Index ld, T* D, double* g, LossLanes& out) {
  Doubles sum = {};
  for (Index c = 0; c < p.classes; ++c) {
    const auto own = y == static_cast<double>(c);
    const Doubles a = load(f + c * ld), t = own ? all<double>(p.own_target) : all<double>(1), sign = own ? a : -a;
    out.linear += t * a;
    sum += sign;
    store<double>(f + c * ld, sign);
  }
  const Doubles mean = p.reference == Reference::mean ? sum / static_cast<double>(p.classes) : Doubles{};
  const Doubles shared = p.reference == Reference::own ? sum : mean;
  for (Index c = 0; c < p.classes; ++c) {
    const Doubles d = load(f + c * ld) - (y == static_cast<double>(c) ? shared : mean);
    store_narrowed<T>(D + c * ld, d);
    g[c] += lane_sum<double>(d);
  }
}

template <class T>
LossSums slopes(const MarginLoss& p, const TileRows& rows, double* f, Index ld, T* D, double* g, float* curvature) {
  LossLanes all_rows;
  for (Index i = 0; i < rows.n; i += W<double>) {
    const Doubles y = load(rows.label + i), u = load(rows.strength + i);
    const Slacks q = slacks(p, y, reference_of(p, rows.label + i, f + i, ld), f + i, ld);
    LossLanes one;
    one.loss = u * (p.capped ? q.most : q.sum);
    if (p.square > 0)
      squared(p, u, f + i, ld, one);
    else if (p.capped)
      largest(p, u, q.most, rows.s, f + i, ld, one);
    else
      each(p, u, rows.s, f + i, ld, one);
    signed_slopes<T>(p, y, f + i, ld, D + i, g, one);
    store_narrowed<float>(curvature + i, one.curvature);
    all_rows.loss += one.loss, all_rows.smooth += one.smooth, all_rows.linear += one.linear;
  }
  LossSums out;
  for (int l = 0; l < W<double>; ++l)
    out.loss += all_rows.loss[l], out.smooth += all_rows.smooth[l], out.linear += all_rows.linear[l];
  return out;
}

}  // namespace

template <class T>
const LandmarkSteps<T>& landmark_steps() {
  static constexpr LandmarkSteps<T> table = {scores<T>, slopes<T>, project<T>};
  return table;
}
template const LandmarkSteps<float>& landmark_steps();
template const LandmarkSteps<double>& landmark_steps();

}  // namespace POLYMARGIN_ISA
}  // namespace polymargin
