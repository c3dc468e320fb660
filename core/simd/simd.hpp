// Tables of functions are compiled once per instruction set; this is the choice among them, made when the program runs.
#pragma once

namespace polymargin {

enum class Simd { base, avx2, avx512 };

// The best that this processor runs; the variable POLYMARGIN_SIMD (base, avx2, avx512) can lower the choice.
Simd simd();

}  // namespace polymargin

// Defines function<T>(), which returns the object `table` of the namespace base, avx2 or avx512.
#if defined(__x86_64__)
#define POLYMARGIN_CHOOSE(Table, function, T, table)                                                  \
  namespace avx2 {                                                                                    \
  extern const Table<T> table;                                                                        \
  }                                                                                                   \
  namespace avx512 {                                                                                  \
  extern const Table<T> table;                                                                        \
  }                                                                                                   \
  template <>                                                                                         \
  const Table<T>& function<T>() {                                                                     \
    return simd() == Simd::avx512 ? avx512::table : simd() == Simd::avx2 ? avx2::table : base::table; \
  }
#else
#define POLYMARGIN_CHOOSE(Table, function, T, table) \
  template <>                                        \
  const Table<T>& function<T>() {                    \
    return base::table;                              \
  }
#endif
