// The passes over weights for any processor, and the choice of the table.
#include "simd/simd.hpp"

#define VECTOR_BYTES 16
#include "simd/weight_steps.inl"

namespace polymargin {
POLYMARGIN_CHOOSE(WeightSteps, weight_steps, float, weight_steps_float)
POLYMARGIN_CHOOSE(WeightSteps, weight_steps, double, weight_steps_double)
}  // namespace polymargin
