// A borrowed view of n rows with d features: dense or CSR, float32 or float64. It owns nothing and writes nothing.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

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

  // Row i is stored at the places begin(i), ..., end(i) - 1, each with a value and a feature.
  Index begin(Index i) const { return sparse() ? index(indptr, i) : i * stride; }
  Index end(Index i) const { return sparse() ? index(indptr, i + 1) : i * stride + d; }
  double value(Index place) const {
    const void* all = sparse() ? values : x;
    return wide ? static_cast<const double*>(all)[place] : static_cast<const float*>(all)[place];
  }
  Index feature(Index i, Index place) const { return sparse() ? index(indices, place) : place - i * stride; }
  // Dense: where feature k of row i is.
  const void* at(Index i, Index k = 0) const { return static_cast<const char*>(x) + (i * stride + k) * (wide ? 8 : 4); }

 private:
  Index index(const void* list, Index place) const {
    return wide_index ? static_cast<const std::int64_t*>(list)[place] : static_cast<const std::int32_t*>(list)[place];
  }
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

template <class T>
Span<const T> span(const std::vector<T>& v) {
  return {v.data(), static_cast<Index>(v.size())};
}

}  // namespace polymargin
