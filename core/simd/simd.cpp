#include "simd/simd.hpp"

#include <algorithm>
#include <cstdlib>
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

Simd best() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return kBase;
#if defined(POLYMARGIN_WIDE)
  return kAvx512;
#else
  const bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                    __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
  return wide ? kAvx512 : kAvx2;
#endif
#else
  return kBase;
#endif
}

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
