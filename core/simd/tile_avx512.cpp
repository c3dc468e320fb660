// Tiles with 512-bit vectors; compiled with -mavx512f -mavx512dq -mavx512vl -mavx512bw -mfma.
#if defined(__x86_64__)
#define VECTOR_BYTES 64
#include "simd/tile.inl"
#endif
