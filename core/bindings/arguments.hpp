// What all bindings share: arguments from Python, converted and checked, and arrays to return.
//
// Data in Python is a 2-D array (float32 or float64, elements of a row adjacent, read-only allowed) or a tuple
// (values, indices, indptr, n_features), a CSR matrix with sorted indices. Nothing is copied.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/data.hpp"
#include "base/kernel.hpp"
#include "kernels/kernel_rows.hpp"

namespace polymargin {

namespace nb = nanobind;

using AnyArray = nb::ndarray<nb::ro, nb::device::cpu>;
template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

using Matrix = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;  // that is written to

template <class T>
Span<const T> span(const Vector<T>& v) {
  return {v.data(), static_cast<Index>(v.shape(0))};
}

[[noreturn]] void refuse(const std::string& message);

template <class M>
void check_square(const M& a, Index n, const char* name) {
  if (static_cast<Index>(a.shape(0)) != n || static_cast<Index>(a.shape(1)) != n)
    refuse(std::string(name) + " must have shape (" + std::to_string(n) + ", " + std::to_string(n) + ")");
}

// A Data and the arrays that it refers to.
struct HeldData {
  Data data;
  AnyArray x, indices, indptr;
};

HeldData data_of(nb::handle h, const char* name);
// Rows from..to of X, without a copy.
Data rows_of(Data X, Index from, Index to);
void check_indices(Span<const Index> indices, Index n, const char* name);
// Neither NaN nor beyond these bounds.
void check_numbers(Span<const double> numbers, double low, double high, const char* name);
constexpr double kLargest = std::numeric_limits<double>::max(), kInfinite = std::numeric_limits<double>::infinity();
// The bounds u >= 0, which may be infinite, and the ridge r >= 0 of a problem with n rows.
void check_box(Span<const double> upper, Span<const double> ridge, Index n);
// The limits of a run; stop is None or a function.
void check_run(double tol, Index max_iter, double time_limit, nb::handle stop = nb::none());
// A number of the problem: neither NaN nor infinite.
double finite(double x, const char* name);
double checked_memory(double bytes);
// Whether size == a * b, also where the product overflows.
inline bool is_product(Index size, Index a, Index b) { return a == 0 ? size == 0 : size % a == 0 && size / a == b; }

// h as a T, or a sentence about `name`.
template <class T>
T as(nb::handle h, const char* name, const char* kind) {
  T value;
  if (!nb::try_cast(h, value)) refuse(std::string(name) + " must be " + kind);
  return value;
}

// The dict {kind, gamma, gammas, degree, coef0, offset, call}; only kind is needed. call(rows, cols) returns float64 values
// of shape (len(rows), len(cols)). The dict must outlive the Kernel, which holds no reference of its own: copies of a
// Kernel are made without the GIL.
Kernel kernel_of(const nb::dict& parameters);
void check_pair(const Data& A, const Data& B, const Kernel& k, Span<const Index> rows, Span<const Index> cols);
bool is_double(const std::string& dtype);

// An uninitialized NumPy array: large ones get huge pages, which plain new does not.
template <class T, class... Sizes>
nb::ndarray<T, nb::c_contig, nb::device::cpu> empty(const char* dtype, Sizes... sizes) {
  const nb::object made = nb::module_::import_("numpy").attr("empty")(nb::make_tuple(sizes...), dtype);
  return nb::cast<nb::ndarray<T, nb::c_contig, nb::device::cpu>>(made);
}

// A NumPy array that is returned, under its name in the stub.
class Array : public nb::object {
  NB_OBJECT(Array, nb::object, "numpy.ndarray", nb::ndarray_check)
  Array(nb::object&& made) : nb::object(std::move(made)) {}
};

inline Array as_vector(const std::vector<double>& v) {
  auto out = empty<double>("float64", v.size());
  std::copy(v.begin(), v.end(), out.data());
  return nb::cast(out);
}

// The same without a copy.
inline Array as_vector(std::vector<double>&& v) {
  auto* held = new std::vector<double>(std::move(v));
  const nb::capsule owner(held, [](void* p) noexcept { delete static_cast<std::vector<double>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, double, nb::ndim<1>>(held->data(), {held->size()}, owner));
}

// What each file of bindings adds to the module.
void bind_code_paths(nb::module_& m);
void bind_codes(nb::module_& m);
void bind_criterion(nb::module_& m);
void bind_kernels(nb::module_& m);
void bind_landmarks(nb::module_& m);
void bind_linear(nb::module_& m);
void bind_neighbors(nb::module_& m);
void bind_scores(nb::module_& m);
void bind_small_qp(nb::module_& m);
void bind_solvers(nb::module_& m);

}  // namespace polymargin
