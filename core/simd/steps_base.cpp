// The solvers' passes for any processor, and the choice of the table.
#include "simd/simd.hpp"

#define VECTOR_BYTES 16
#include "simd/steps.inl"

namespace polymargin {
POLYMARGIN_CHOOSE(Steps, steps, float, steps_float)
POLYMARGIN_CHOOSE(Steps, steps, double, steps_double)
}  // namespace polymargin
