// Blocks of a kernel matrix.
#include <string>

#include "arguments.hpp"
#include "simd/simd.hpp"

namespace polymargin {
namespace {

// A and B are the same where `symmetric`.
template <class T>
Array block_as(const HeldData& A, const HeldData& B, const Kernel& k, Span<const Index> rows, Span<const Index> cols,
               int threads, bool symmetric) {
  auto out = empty<T>(rows.size, cols.size);
  without_gil([&] {
    const KernelBlocks<T> blocks(A.data, B.data, k);
    Team team(threads);
    if (symmetric)
      blocks.gram(rows, out.data(), rows.size, team);
    else
      blocks.block(rows, cols, out.data(), cols.size, team);
  });
  return nb::cast(out);
}

Array kernel_block(nb::object A, nb::object B, nb::dict kernel, Vector<Index> rows, Vector<Index> cols,
                   const std::string& dtype, int n_jobs) {
  const HeldData a = data_of(A, "A"), b = data_of(B, "B");
  const Kernel k = kernel_of(kernel);
  check_pair(a.data, b.data, k, span(rows), span(cols));
  return (is_double(dtype) ? block_as<double> : block_as<float>)(a, b, k, span(rows), span(cols), n_jobs, false);
}

Array gram(nb::object A, nb::dict kernel, Vector<Index> rows, const std::string& dtype, int n_jobs) {
  const HeldData a = data_of(A, "A");
  const Kernel k = kernel_of(kernel);
  check_pair(a.data, a.data, k, span(rows), span(rows));
  return (is_double(dtype) ? block_as<double> : block_as<float>)(a, a, k, span(rows), span(rows), n_jobs, true);
}

void fill_gram(nb::object A, nb::dict kernel, Vector<Index> rows, Output K, int n_jobs) {
  const HeldData a = data_of(A, "A");
  const Kernel k = kernel_of(kernel);
  check_pair(a.data, a.data, k, span(rows), span(rows));
  check_square(K, length(rows, 0), "K");
  const nb::gil_scoped_release free;
  Team team(n_jobs);
  KernelBlocks<double>(a.data, a.data, k).gram(span(rows), K.data(), length(rows, 0), team);
}

Array diagonal(nb::object A, nb::dict kernel, Vector<Index> rows, const std::string& dtype) {
  const HeldData a = data_of(A, "A");
  const Kernel k = kernel_of(kernel);
  check_pair(a.data, a.data, k, span(rows), span(rows));
  const bool wide = is_double(dtype);
  auto out = empty<double>(rows.shape(0));
  without_gil([&] {
    if (wide)
      KernelBlocks<double>(a.data, a.data, k).diagonal(span(rows), out.data());
    else
      KernelBlocks<float>(a.data, a.data, k).diagonal(span(rows), out.data());
  });
  return nb::cast(out);
}

}  // namespace

void bind_kernels(nb::module_& m) {
  using namespace nb::literals;
  m.def("simd", &simd, "The instruction set in use: base, avx2 or avx512.");
  m.def("kernel_block", &kernel_block, "A"_a, "B"_a, "kernel"_a, "rows"_a, "cols"_a, "dtype"_a = "float64",
        "n_jobs"_a = 1, "k(A[rows[r]], B[cols[c]]) + offset, shape (len(rows), len(cols)).");
  m.def("gram", &gram, "A"_a, "kernel"_a, "rows"_a, "dtype"_a = "float64", "n_jobs"_a = 1,
        "k(A[rows[i]], A[rows[j]]) + offset, computed by halves.");
  m.def("fill_gram", &fill_gram, "A"_a, "kernel"_a, "rows"_a, "K"_a.noconvert(), "n_jobs"_a,
        "The same in float64, in the place of K.");
  m.def("diagonal", &diagonal, "A"_a, "kernel"_a, "rows"_a, "dtype"_a = "float64",
        "k(A[rows[r]], A[rows[r]]) + offset, float64.");
}

}  // namespace polymargin
