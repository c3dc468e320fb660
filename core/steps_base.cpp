// The solvers' passes for any processor, and the choice of the table: the one that the kernel tiles use.
#define POLYMARGIN_ISA base
#define VECTOR_BYTES 16
#include <cstring>

#include "steps.inl"
#include "tile.hpp"

namespace polymargin {

#if defined(__x86_64__)
namespace avx2 {
extern const Steps<float> steps_float;
extern const Steps<double> steps_double;
}  // namespace avx2
namespace avx512 {
extern const Steps<float> steps_float;
extern const Steps<double> steps_double;
}  // namespace avx512
#endif

template <>
const Steps<float>& steps<float>() {
#if defined(__x86_64__)
  const char* name = tile_ops<float>().name;
  if (!std::strcmp(name, "avx512")) return avx512::steps_float;
  if (!std::strcmp(name, "avx2")) return avx2::steps_float;
#endif
  return base::steps_float;
}

template <>
const Steps<double>& steps<double>() {
#if defined(__x86_64__)
  const char* name = tile_ops<double>().name;
  if (!std::strcmp(name, "avx512")) return avx512::steps_double;
  if (!std::strcmp(name, "avx2")) return avx2::steps_double;
#endif
  return base::steps_double;
}

}  // namespace polymargin
