#include "simd/simd.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <iterator>
#include <string>

#include "simd/landmark_steps.hpp"
#include "simd/steps.hpp"
#include "simd/tile.hpp"
#include "simd/weight_steps.hpp"

namespace polymargin {

namespace {

enum Simd { kBase, kAvx2, kAvx512 };
constexpr const char* kNames[] = {"base", "avx2", "avx512"};

#if defined(__x86_64__)
bool has(unsigned word, std::initializer_list<int> bits) {
  return std::all_of(bits.begin(), bits.end(), [word](int bit) { return word >> bit & 1; });
}

// Asked of the processor itself: __builtin_cpu_supports needs a library that is missing where Clang works with
// Microsoft's. The system must keep the wide registers as well (XCR0); macOS says so of AVX-512 only after its first
// use, so AVX2 is chosen there.
Simd best() {
  unsigned a, b, c, d, kept, rest;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !has(c, {12, 27, 28})) return kBase;  // FMA, XGETBV, AVX
  __asm__("xgetbv" : "=a"(kept), "=d"(rest) : "c"(0));
  if (!has(kept, {1, 2}) || !__get_cpuid_count(7, 0, &a, &b, &c, &d) || !has(b, {5})) return kBase;  // AVX2
#if defined(POLYMARGIN_WIDE)
  return kAvx512;
#else
  return has(kept, {5, 6, 7}) && has(b, {16, 17, 30, 31}) ? kAvx512 : kAvx2;  // AVX512F, DQ, BW, VL
#endif
}
#else
Simd best() { return kBase; }
#endif

Simd chosen() {
  static const Simd level = [] {
    const char* wanted = std::getenv("POLYMARGIN_SIMD");
    const auto ceiling = std::find(std::begin(kNames), std::end(kNames), std::string(wanted ? wanted : ""));
    return std::min(best(), static_cast<Simd>(ceiling - std::begin(kNames)));
  }();
  return level;
}

}  // namespace

const char* simd() { return kNames[chosen()]; }

// Defines function<T>() of the headers: that of the namespace base, avx2 or avx512.
#define POLYMARGIN_DECLARE(isa, Table, function) \
  namespace isa {                                \
  template <class T>                             \
  const Table<T>& function();                    \
  }
#if defined(__x86_64__)
#define POLYMARGIN_CHOICE(function) \
  chosen() == kAvx512 ? avx512::function<T>() : chosen() == kAvx2 ? avx2::function<T>() : base::function<T>()
#else
#define POLYMARGIN_CHOICE(function) base::function<T>()
#endif
#define POLYMARGIN_CHOOSE(Table, function)                      \
  POLYMARGIN_DECLARE(base, Table, function)                     \
  POLYMARGIN_DECLARE(avx2, Table, function)                     \
  POLYMARGIN_DECLARE(avx512, Table, function)                   \
  template <class T>                                            \
  const Table<T>& function() {                                  \
    static const Table<T>& table = POLYMARGIN_CHOICE(function); \
    return table;                                               \
  }                                                             \
  template const Table<float>& function();                      \
  template const Table<double>& function();

POLYMARGIN_CHOOSE(TileOps, tile_ops)
POLYMARGIN_CHOOSE(Steps, steps)
POLYMARGIN_CHOOSE(WeightSteps, weight_steps)
POLYMARGIN_CHOOSE(LandmarkSteps, landmark_steps)

}  // namespace polymargin
