// The passes over weights with 256-bit vectors; compiled with -mavx2 -mfma.
#if defined(__x86_64__)
#define VECTOR_BYTES 32
#include "simd/weight_steps.inl"
#endif
