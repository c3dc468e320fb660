// Powers of e, see vector.inl.
#pragma once
#include "simd/vector.inl"

namespace polymargin {
namespace POLYMARGIN_ISA {

template <class T>
struct ExpTable;
template <>
struct ExpTable<float> {
  static constexpr float lowest = -87.33654f, log2e = 1.44269504f, ln2_high = 0.693359375f, ln2_low = -2.12194440e-4f;
  static constexpr float shift = 12582912.0f + 127.0f;  // 1.5 * 2^23 + bias
  static constexpr int mantissa = 23, degree = 4;
  static constexpr float p[] = {1.38144331e-3f, 8.36879669e-3f, 4.16683958e-2f, 1.66665200e-1f, 4.99999934e-1f};
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
  const V<T> lowest = all<T>(E::lowest);
  const V<T> c = vmax<T>(x, lowest);
  const V<T> shifted = c * E::log2e + E::shift;
  const V<T> n = shifted - E::shift;
  const V<T> f = (c - n * E::ln2_high) - n * E::ln2_low;
  V<T> p = all<T>(E::p[0]);
  UNROLL for (int i = 1; i <= E::degree; ++i) p = p * f + E::p[i];
  const V<T> e = (p * (f * f) + f) + T(1);
  I<T> bits;
  __builtin_memcpy(&bits, &shifted, sizeof bits);
  bits <<= E::mantissa;
  V<T> scale;
  __builtin_memcpy(&scale, &bits, sizeof bits);
  return x >= lowest ? e * scale : V<T>{};
}

}  // namespace POLYMARGIN_ISA
}  // namespace polymargin
