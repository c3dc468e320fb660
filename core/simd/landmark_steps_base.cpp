// The passes over tiles of landmarks for any processor, and the choice of the table.
#include "simd/simd.hpp"

#define VECTOR_BYTES 16
#include "simd/landmark_steps.inl"

namespace polymargin {
POLYMARGIN_CHOOSE(LandmarkSteps, landmark_steps, float, landmark_steps_float)
POLYMARGIN_CHOOSE(LandmarkSteps, landmark_steps, double, landmark_steps_double)
}  // namespace polymargin
