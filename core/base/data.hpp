// A borrowed view of n rows with d features: dense or CSR, float32 or float64. It owns nothing and writes nothing.
#pragma once
#include <cstddef>
#include <cstdint>

namespace polymargin {

using Index = std::int64_t;

struct Data {
  Index n = 0, d = 0;
  bool wide = false;        // values are float64, else float32
  const void* x = nullptr;  // dense: row i starts at element i * stride
  Index stride = 0;
  const void* values = nullptr;  // CSR: sorted column indices, no duplicates
  const void* indices = nullptr;
  const void* indptr = nullptr;
  bool wide_index = false;  // indices and indptr are int64, else int32
  bool sparse() const { return indptr != nullptr; }
};

// A borrowed range, as std::span in C++20.
template <class T>
struct Span {
  T* data = nullptr;
  Index size = 0;
  T& operator[](Index i) const { return data[i]; }
  T* begin() const { return data; }
  T* end() const { return data + size; }
  Span sub(Index from, Index to) const { return {data + from, to - from}; }
};

}  // namespace polymargin
