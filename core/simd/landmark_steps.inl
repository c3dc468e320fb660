// The passes over a tile of kernel values, see vector.inl.
#include "simd/exp.inl"
#include "simd/landmark_steps.hpp"

namespace polymargin {
namespace POLYMARGIN_ISA {
namespace {

// Sums side by side: at least as many as hide the latency of an addition, and more where there are registers for them,
// since a value that is loaded once serves several of them.
constexpr int kProjected = VECTOR_BYTES == 64 ? 16 : VECTOR_BYTES == 32 ? 12 : 8;
constexpr int kClassesAtOnce = 4;    // that meet a vector of K while it is in a register
constexpr double kUnasked = -1e300;  // short of a margin that a machine does not ask for
constexpr double kTiny = 1.18e-38;   // about the smallest normal float
typedef V<double> Doubles;

// W<double> doubles as T. Those too small to be normal numbers of T become 0: processors take a hundred times as long
// to multiply by the others, and probabilities far from a kink are mostly such numbers.
template <class T>
INLINE void store_narrowed(T* p, Doubles x) {
  if constexpr (sizeof(T) == sizeof(double))
    store<double>(p, x);
  else
    store_pack<W<double>>(
        p, __builtin_convertvector(((x < kTiny) & (x > -kTiny)) ? Doubles{} : x, typename Pack<T, W<double>>::V));
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

// A row per lane, whose scores are at f, ld apart. They become q; returned: the losses' sum in units of u, and the
// largest.
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

// What follows takes as many rows as a vector of T has lanes: kHalves vectors of doubles. Powers of e, and what they
// are divided by, are numbers of T, as the scores are that they come from.
template <class T>
constexpr int kHalves = W<T> / W<double>;
template <class T, int... I>
INLINE V<T> side_by_side(typename Pack<T, W<double>>::V low, typename Pack<T, W<double>>::V high, Numbers<I...>) {
  return __builtin_shufflevector(low, high, I...);
}
template <class T>
INLINE V<T> joined(const Doubles (&x)[kHalves<T>]) {
  if constexpr (kHalves<T> == 1) {
    return x[0];
  } else {
    typedef typename Pack<T, W<double>>::V Half;
    return side_by_side<T>(__builtin_convertvector(x[0], Half), __builtin_convertvector(x[1], Half),
                           typename Count<W<T>>::type());
  }
}
template <class T>
INLINE void split(V<T> x, Doubles (&out)[kHalves<T>]) {
  T flat[W<T>];
  store<T>(flat, x);
  UNROLL for (int h = 0; h < kHalves<T>; ++h) out[h] = widened<W<double>>(flat + h * W<double>);
}
// e^x for x <= 0, and 0 where its share among hundreds of classes might not be a normal number.
template <class T>
INLINE V<T> power(V<T> x) {
  return x > T(-81) ? exp_negative<T>(x) : V<T>{};
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

// ... of the largest slack or 0: softmax. D is where powers of e wait ...
template <class T>
INLINE void largest(const MarginLoss& p, const double* u, const Doubles (&most)[kHalves<T>], double s, double* f,
                    Index ld, T* D, LossLanes (&out)[kHalves<T>]) {
  constexpr int H = kHalves<T>, L = W<double>;
  const double scale = 1 / s;
  Doubles x[H];
  UNROLL for (int h = 0; h < H; ++h) x[h] = -most[h] * scale;
  V<T> total = power<T>(joined<T>(x)), squares = {};
  for (Index c = 0; c < p.classes; ++c) {
    UNROLL for (int h = 0; h < H; ++h) x[h] = (load(f + c * ld + h * L) - most[h]) * scale;
    const V<T> e = power<T>(joined<T>(x));
    store<T>(D + c * ld, e);
    total += e;
  }
  const V<T> part = T(1) / total;
  for (Index c = 0; c < p.classes; ++c) {
    const V<T> share = load(D + c * ld) * part;
    squares += share * (T(1) - share);
    split<T>(share, x);
    UNROLL for (int h = 0; h < H; ++h) store<double>(f + c * ld + h * L, load(u + h * L) * x[h]);
  }
  Doubles sums[H], curvature[H];
  split<T>(total, sums);
  split<T>(squares, curvature);
  UNROLL for (int h = 0; h < H; ++h) {
    out[h].smooth = load(u + h * L) * (most[h] + s * log_above_1(vmax<double>(sums[h], all<double>(1))));
    out[h].curvature = load(u + h * L) * scale * curvature[h];
  }
}

// ... of every slack or 0.
template <class T>
INLINE void each(const MarginLoss& p, const double* u, double s, double* f, Index ld, LossLanes (&out)[kHalves<T>]) {
  constexpr int H = kHalves<T>, L = W<double>;
  const double scale = 1 / s;
  for (Index c = 0; c < p.classes; ++c) {
    Doubles q[H], x[H], e[H];
    UNROLL for (int h = 0; h < H; ++h) {
      q[h] = load(f + c * ld + h * L);
      x[h] = (q[h] > 0.0 ? -q[h] : q[h]) * scale;
    }
    split<T>(power<T>(joined<T>(x)), e);
    UNROLL for (int h = 0; h < H; ++h) {
      const Doubles share = (q[h] > 0.0 ? all<double>(1) : e[h]) / (1.0 + e[h]), w = load(u + h * L);
      out[h].smooth += w * (vmax<double>(q[h], Doubles{}) + s * log_above_1(1.0 + e[h]));
      out[h].curvature += w * scale * share * (1.0 - share);
      store<double>(f + c * ld + h * L, w * share);
    }
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
INLINE void signed_slopes(const MarginLoss& p, Doubles y, double* f, Index ld, T* D, LossLanes& out) {
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
  }
}

template <class T>
LossSums slopes(const MarginLoss& p, const TileRows& rows, double* f, Index ld, T* D, double* g, float* curvature) {
  constexpr int H = kHalves<T>, L = W<double>;
  LossLanes all_rows;
  for (Index i = 0; i < rows.n; i += W<T>) {
    const double *y = rows.label + i, *u = rows.strength + i;
    LossLanes some[H];
    Doubles most[H];
    UNROLL for (int h = 0; h < H; ++h) {
      double* at = f + i + h * L;
      const Slacks q = slacks(p, load(y + h * L), reference_of(p, y + h * L, at, ld), at, ld);
      some[h].loss = load(u + h * L) * (p.capped ? q.most : q.sum);
      most[h] = q.most;
      if (p.square > 0) squared(p, load(u + h * L), at, ld, some[h]);
    }
    if (p.square == 0 && p.capped) largest<T>(p, u, most, rows.s, f + i, ld, D + i, some);
    if (p.square == 0 && !p.capped) each<T>(p, u, rows.s, f + i, ld, some);
    UNROLL for (int h = 0; h < H; ++h) {
      signed_slopes<T>(p, load(y + h * L), f + i + h * L, ld, D + i + h * L, some[h]);
      store_narrowed<float>(curvature + i + h * L, some[h].curvature);
      all_rows.loss += some[h].loss, all_rows.smooth += some[h].smooth, all_rows.linear += some[h].linear;
    }
  }
  for (Index c = 0; c < p.classes; ++c) {
    Doubles sum = {};
    for (Index i = 0; i < rows.n; i += L) sum += widened<L>(D + c * ld + i);
    g[c] += lane_sum<double>(sum);
  }
  LossSums out;
  out.loss = lane_sum<double>(all_rows.loss);
  out.smooth = lane_sum<double>(all_rows.smooth);
  out.linear = lane_sum<double>(all_rows.linear);
  return out;
}

}  // namespace

template <class T>
const LandmarkSteps<T>& landmark_steps() {
  static constexpr LandmarkSteps<T> table = {slopes<T>, project<T>};
  return table;
}
template const LandmarkSteps<float>& landmark_steps();
template const LandmarkSteps<double>& landmark_steps();

}  // namespace POLYMARGIN_ISA
}  // namespace polymargin
