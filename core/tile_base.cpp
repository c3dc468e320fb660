// Tiles for any processor: 128-bit vectors (SSE2, NEON), and the choice of the table.
#include "simd.hpp"
#include "tile.hpp"

#if defined(__aarch64__)
#include <arm_neon.h>
#endif

#define POLYMARGIN_ISA base
#define VECTOR_BYTES 16
#define TILE_ROWS 4
#include "tile.inl"

namespace polymargin {
POLYMARGIN_CHOOSE(TileOps, tile_ops, float, ops_float)
POLYMARGIN_CHOOSE(TileOps, tile_ops, double, ops_double)
}  // namespace polymargin
