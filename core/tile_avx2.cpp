// Tiles with 256-bit vectors and FMA; compiled with -mavx2 -mfma.
#include "tile.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

#if !defined(__AVX2__) || !defined(__FMA__)
#error "compile tile_avx2.cpp with -mavx2 -mfma"
#endif
#define POLYMARGIN_ISA avx2
#define VECTOR_BYTES 32
#define TILE_ROWS 6
#include "tile.inl"
#endif
