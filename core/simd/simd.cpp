#include "simd/simd.hpp"

#include <cstdlib>
#include <cstring>

namespace polymargin {

namespace {

Simd best() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return Simd::base;
#if defined(POLYMARGIN_WIDE)
  return Simd::avx512;
#else
  const bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                    __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
  return wide ? Simd::avx512 : Simd::avx2;
#endif
#else
  return Simd::base;
#endif
}

Simd lowered(Simd level) {
  const char* wanted = std::getenv("POLYMARGIN_SIMD");
  if (!wanted) return level;
  const Simd ceiling = !std::strcmp(wanted, "base")   ? Simd::base
                       : !std::strcmp(wanted, "avx2") ? Simd::avx2
                                                      : Simd::avx512;
  return ceiling < level ? ceiling : level;
}

}  // namespace

Simd simd() {
  static const Simd level = lowered(best());
  return level;
}

}  // namespace polymargin
