// Sums over kernel rows, shared out among threads by columns.
#pragma once
#include <algorithm>
#include <vector>

#include "base/pages.hpp"
#include "kernels/kernel_rows.hpp"

namespace polymargin {

// add(values, first, last, begin, end) for kernel rows that are computed on the way and not kept: values[r] points to
// that of row first + r over the columns begin..end. A block stays in cache until it is summed. `data` has the place of
// every row and column.
template <class T, class Add>
void by_blocks(const KernelBlocks<T>& K, Span<const Index> data, Span<const Index> rows, Span<const Index> columns,
               Team& team, const Add& add) {
  constexpr Index wide = 1024;
  const Index high = std::min<Index>(128, rows.size);
  std::vector<Index> r(rows.size), c(columns.size);
  for (Index k = 0; k < rows.size; ++k) r[k] = data[rows[k]];
  for (Index k = 0; k < columns.size; ++k) c[k] = data[columns[k]];
  const auto one = [&](Index begin, Index end) {
    const Index width = end - begin;
    const Pages<T> block = pages<T>(static_cast<std::size_t>(high * width));  // not cleared: it is overwritten
    std::vector<const T*> values(high);
    for (Index k = 0; k < high; ++k) values[k] = block.get() + k * width;
    for (Index first = 0; first < rows.size; first += high) {
      const Index last = std::min(first + high, rows.size);
      K.block({r.data() + first, last - first}, {c.data() + begin, width}, block.get(), width);
      add(values.data(), first, last, begin, end);
    }
  };
  team.parts(columns.size, wide, one, K.serial());
}

}  // namespace polymargin
