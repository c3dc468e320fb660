// Blocks of a kernel matrix.
#include <string>

#include "arguments.hpp"
#include "simd/tile.hpp"

namespace polymargin {
namespace {

template <class T>
Array block_as(const char* dtype, const Data& A, const Data& B, const Kernel& k, Span<const Index> rows,
               Span<const Index> cols, int threads, bool symmetric) {
  auto out = empty<T>(dtype, rows.size, cols.size);
  {
    const nb::gil_scoped_release free;
    const KernelBlocks<T> blocks(A, B, k);
    Team team(threads);
    if (symmetric)
      blocks.gram(rows, out.data(), rows.size, team);
    else
      blocks.block(rows, cols, out.data(), cols.size, team);
  }
  return nb::cast(out);
}

Array kernel_block(nb::object A, nb::object B, nb::dict kernel, Vector<Index> rows, Vector<Index> cols,
                   const std::string& dtype, int n_jobs) {
  const HeldData a = data_of(A, "A"), b = data_of(B, "B");
  const Kernel k = kernel_of(kernel);
  check_pair(a.data, b.data, k, span(rows), span(cols));
  if (is_double(dtype)) return block_as<double>("float64", a.data, b.data, k, span(rows), span(cols), n_jobs, false);
  return block_as<float>("float32", a.data, b.data, k, span(rows), span(cols), n_jobs, false);
}

Array gram(nb::object A, nb::dict kernel, Vector<Index> rows, const std::string& dtype, int n_jobs) {
  const HeldData a = data_of(A, "A");
  const Kernel k = kernel_of(kernel);
  check_pair(a.data, a.data, k, span(rows), span(rows));
  if (is_double(dtype)) return block_as<double>("float64", a.data, a.data, k, span(rows), span(rows), n_jobs, true);
  return block_as<float>("float32", a.data, a.data, k, span(rows), span(rows), n_jobs, true);
}

void fill_gram(nb::object A, nb::dict kernel, Vector<Index> rows, Matrix K, int n_jobs) {
  const HeldData a = data_of(A, "A");
  const Kernel k = kernel_of(kernel);
  check_pair(a.data, a.data, k, span(rows), span(rows));
  check_square(K, span(rows).size, "K");
  const nb::gil_scoped_release free;
  const KernelBlocks<double> blocks(a.data, a.data, k);
  Team team(n_jobs);
  blocks.gram(span(rows), K.data(), span(rows).size, team);
}

template <class T>
void diagonal_as(const Data& A, const Kernel& k, Span<const Index> rows, double* out) {
  const nb::gil_scoped_release free;
  KernelBlocks<T>(A, A, k).diagonal(rows, out);
}

Array diagonal(nb::object A, nb::dict kernel, Vector<Index> rows, const std::string& dtype) {
  const HeldData a = data_of(A, "A");
  const Kernel k = kernel_of(kernel);
  check_pair(a.data, a.data, k, span(rows), span(rows));
  auto out = empty<double>("float64", rows.shape(0));
  if (is_double(dtype))
    diagonal_as<double>(a.data, k, span(rows), out.data());
  else
    diagonal_as<float>(a.data, k, span(rows), out.data());
  return nb::cast(out);
}

}  // namespace

void bind_kernels(nb::module_& m) {
  using namespace nb::literals;
  m.def(
      "simd", [] { return std::string(tile_ops<float>().name); }, "The instruction set in use: base, avx2 or avx512.");
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
