// The passes over tiles of landmarks with 256-bit vectors; compiled with -mavx2 -mfma.
#if defined(__x86_64__)
#define VECTOR_BYTES 32
#include "simd/landmark_steps.inl"
#endif
