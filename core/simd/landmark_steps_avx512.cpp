// The passes over tiles of landmarks with 512-bit vectors; compiled with -mavx512f and its kin.
#if defined(__x86_64__)
#define VECTOR_BYTES 64
#include "simd/landmark_steps.inl"
#endif
