// Tiles for any processor, and the choice of the table.
#include "simd/simd.hpp"

#define VECTOR_BYTES 16
#include "simd/tile.inl"

namespace polymargin {
POLYMARGIN_CHOOSE(TileOps, tile_ops, float, ops_float)
POLYMARGIN_CHOOSE(TileOps, tile_ops, double, ops_double)
}  // namespace polymargin
