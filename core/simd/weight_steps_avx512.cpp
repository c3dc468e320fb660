// The passes over weights with 512-bit vectors; compiled with -mavx512f and its kin.
#if defined(__x86_64__)
#define VECTOR_BYTES 64
#include "simd/weight_steps.inl"
#endif
