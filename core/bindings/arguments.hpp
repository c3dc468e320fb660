// What all bindings share: arguments from Python, converted and checked, and arrays to return.
//
// Data in Python is a 2-D array (float32 or float64, elements of a row adjacent, read-only allowed) or a tuple
// (values, indices, indptr, n_features), a CSR matrix with sorted indices. Nothing is copied.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <initializer_list>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/data.hpp"
#include "base/kernel.hpp"
#include "kernels/kernel_rows.hpp"

namespace polymargin {

namespace nb = nanobind;

using AnyArray = nb::ndarray<nb::ro, nb::device::cpu>;
template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Output = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;  // a matrix that is written to

// All elements.
template <class A>
auto span(const A& a) {
  return Span<std::remove_pointer_t<decltype(a.data())>>{a.data(), static_cast<Index>(a.size())};
}
// How many there are along an axis, and whether a matrix has this shape.
template <class A>
Index length(const A& a, int axis) {
  return static_cast<Index>(a.shape(axis));
}
template <class A>
bool is_shape(const A& a, Index rows, Index columns) {
  return length(a, 0) == rows && length(a, 1) == columns;
}

[[noreturn]] void refuse(const std::string& message);

template <class M>
void check_square(const M& a, Index n, const char* name) {
  if (!is_shape(a, n, n))
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
// Where parts of n things begin, and where the last one ends: "<name> must increase from 0 to the number of <things>".
void check_offsets(Span<const Index> offsets, Index n, const char* name, const char* things);
// The columns of a CSC matrix of n rows.
void check_columns(Span<const Index> indptr, Span<const Index> indices, Span<const double> values, Index columns,
                   Index n);
void check_increasing(Span<const Index> indices, const char* name);
// Neither NaN nor beyond these bounds.
double checked(double x, double low, double high, const char* name);
void check_numbers(Span<const double> numbers, double low, double high, const char* name);
constexpr double kLargest = std::numeric_limits<double>::max(), kInfinite = std::numeric_limits<double>::infinity(),
                 kSmallest = std::numeric_limits<double>::min();
// The bounds u >= 0, which may be infinite, and the ridge r >= 0 of a problem with n rows.
void check_box(Span<const double> upper, Span<const double> ridge, Index n);
// The limits of a run; stop is None or a function.
void check_run(double tol, Index max_iter, double time_limit, nb::handle stop = nb::none());
double checked_memory(double bytes);
// Whether size == a * b, also where the product overflows.
inline bool is_product(Index size, Index a, Index b) { return a == 0 ? size == 0 : size % a == 0 && size / a == b; }

// The number of a word among those that may be used.
int which(const std::string& given, const char* name, std::initializer_list<const char*> words);
// h as a T, or a sentence about `name`.
template <class T>
T as(nb::handle h, const char* name, const char* kind) {
  T value;
  if (!nb::try_cast(h, value)) refuse(std::string(name) + " must be " + kind);
  return value;
}

// The dict {kind, gamma, gammas, degree, coef0, offset, call}; only kind is needed. call(rows, cols) returns float64
// values of shape (len(rows), len(cols)). The dict must outlive the Kernel, which holds no reference of its own: copies
// of a Kernel are made without the GIL.
Kernel kernel_of(const nb::dict& parameters);
void check_pair(const Data& A, const Data& B, const Kernel& k, Span<const Index> rows, Span<const Index> cols);

// 'float32' or 'float64', as arguments and in records.
bool is_double(const std::string& dtype);
template <template <class> class Made>
using FloatOrDouble = std::variant<std::unique_ptr<Made<float>>, std::unique_ptr<Made<double>>>;
template <template <class> class Made, class... A>
FloatOrDouble<Made> made(const std::string& dtype, const A&... arguments) {
  if (is_double(dtype)) return std::make_unique<Made<double>>(arguments...);
  return std::make_unique<Made<float>>(arguments...);
}

template <class Compute>
auto without_gil(const Compute& compute) {
  const nb::gil_scoped_release free;
  return compute();
}

// An uninitialized NumPy array: large ones get huge pages, which plain new does not.
template <class T, class... Sizes>
nb::ndarray<T, nb::c_contig, nb::device::cpu> empty(Sizes... sizes) {
  const char* dtype = std::is_integral_v<T> ? (sizeof(T) == 8 ? "int64" : "int32")
                      : sizeof(T) == 8      ? "float64"
                                            : "float32";
  const nb::object made = nb::module_::import_("numpy").attr("empty")(nb::make_tuple(sizes...), dtype);
  return nb::cast<nb::ndarray<T, nb::c_contig, nb::device::cpu>>(made);
}

// A NumPy array that is returned, under its name in the stub.
class Array : public nb::object {
  NB_OBJECT(Array, nb::object, "numpy.ndarray", nb::ndarray_check)
  Array(nb::object&& made) : nb::object(std::move(made)) {}
};

// Without a copy.
template <class T>
Array as_vector(std::vector<T> v) {
  auto* held = new std::vector<T>(std::move(v));
  const nb::capsule owner(held, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(held->data(), {held->size()}, owner));
}

// What each file of bindings adds to the module.
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
