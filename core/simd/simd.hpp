// The tables of functions in this folder (tile.hpp, steps.hpp, ...) are compiled once per instruction set
// (CMakeLists.txt) and chosen when the program runs: for the best one that this processor has, which POLYMARGIN_SIMD in
// the environment can lower.
#pragma once

namespace polymargin {

// The instruction set in use: base, avx2 or avx512.
const char* simd();

}  // namespace polymargin
