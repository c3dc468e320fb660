// Tiles for any processor: 128-bit vectors (SSE2, NEON), and the choice of the table at run time.
#include <cstdlib>
#include <cstring>

#include "tile.hpp"

#if defined(__aarch64__)
#include <arm_neon.h>
#endif

#define POLYMARGIN_ISA base
#define VECTOR_BYTES 16
#define TILE_ROWS 4
#include "tile.inl"

namespace polymargin {

#if defined(__x86_64__)
namespace avx2 {
extern const TileOps<float> ops_float;
extern const TileOps<double> ops_double;
}  // namespace avx2
namespace avx512 {
extern const TileOps<float> ops_float;
extern const TileOps<double> ops_double;
}  // namespace avx512
#endif

namespace {

int level() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  int best = 0;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) best = 1;
  if (best == 1 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw"))
    best = 2;
  const char* wanted = std::getenv("POLYMARGIN_SIMD");
  if (!wanted) return best;
  const int ceiling = !std::strcmp(wanted, "base") ? 0 : !std::strcmp(wanted, "avx2") ? 1 : 2;
  return ceiling < best ? ceiling : best;
#else
  return 0;
#endif
}

int chosen() {
  static const int best = level();
  return best;
}

}  // namespace

template <>
const TileOps<float>& tile_ops<float>() {
#if defined(__x86_64__)
  if (chosen() == 2) return avx512::ops_float;
  if (chosen() == 1) return avx2::ops_float;
#endif
  return base::ops_float;
}

template <>
const TileOps<double>& tile_ops<double>() {
#if defined(__x86_64__)
  if (chosen() == 2) return avx512::ops_double;
  if (chosen() == 1) return avx2::ops_double;
#endif
  return base::ops_double;
}

}  // namespace polymargin
