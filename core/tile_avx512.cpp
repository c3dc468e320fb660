// Tiles with 512-bit vectors; compiled with -mavx512f -mavx512dq -mavx512vl -mavx512bw -mfma.
#include "tile.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

#if !defined(__AVX512F__) || !defined(__AVX512DQ__) || !defined(__AVX512VL__) || !defined(__AVX512BW__)
#error "compile tile_avx512.cpp with -mavx512f -mavx512dq -mavx512vl -mavx512bw -mfma"
#endif
#define POLYMARGIN_ISA avx512
#define VECTOR_BYTES 64
#define TILE_ROWS 8
#include "tile.inl"
#endif
