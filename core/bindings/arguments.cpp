#include "arguments.hpp"

#include <cmath>
#include <cstdint>
#include <iterator>
#include <stdexcept>

namespace polymargin {

void refuse(const std::string& message) { throw std::invalid_argument(message); }

// ---- data ----

namespace {

AnyArray array_of(nb::handle h, const char* name) {
  AnyArray a;
  if (!nb::try_cast(h, a)) refuse(std::string(name) + " must be a NumPy array");
  return a;
}

bool wide_floats(const AnyArray& a, const char* name) {
  if (a.dtype() == nb::dtype<double>()) return true;
  if (a.dtype() != nb::dtype<float>())
    refuse(std::string(name) + " must be float32 or float64; convert it with astype");
  return false;
}

bool wide_integers(const AnyArray& a, const char* name) {
  if (a.dtype() == nb::dtype<std::int64_t>()) return true;
  if (a.dtype() != nb::dtype<std::int32_t>())
    refuse(std::string(name) + " must be int32 or int64; convert it with astype");
  return false;
}

void check_vector(const AnyArray& a, const char* name) {
  if (a.ndim() != 1 || (a.shape(0) > 1 && a.stride(0) != 1)) refuse(std::string(name) + " must be a contiguous vector");
}

template <class J>
void check_csr(const Data& X, Index stored) {
  const J* indptr = static_cast<const J*>(X.indptr);
  const J* indices = static_cast<const J*>(X.indices);
  if (indptr[0] != 0) refuse("a CSR indptr must begin with 0");
  for (Index i = 0; i < X.n; ++i) {
    if (indptr[i + 1] < indptr[i] || indptr[i + 1] > stored)
      refuse("a CSR indptr must not decrease nor exceed the stored values");
    for (Index p = indptr[i]; p < indptr[i + 1]; ++p) {
      if (indices[p] < 0 || indices[p] >= X.d) refuse("CSR indices must lie in [0, n_features)");
      if (p > indptr[i] && indices[p] <= indices[p - 1])
        refuse("CSR indices must increase in each row; call sum_duplicates() and sort_indices() first");
    }
  }
}

}  // namespace

HeldData data_of(nb::handle h, const char* name) {
  HeldData held;
  Data& X = held.data;
  if (nb::isinstance<nb::tuple>(h)) {
    const nb::tuple parts = nb::borrow<nb::tuple>(h);
    if (parts.size() != 4) refuse(std::string(name) + " as CSR must be (values, indices, indptr, n_features)");
    held.x = array_of(parts[0], "CSR values");
    held.indices = array_of(parts[1], "CSR indices");
    held.indptr = array_of(parts[2], "CSR indptr");
    check_vector(held.x, "CSR values");
    check_vector(held.indices, "CSR indices");
    check_vector(held.indptr, "CSR indptr");
    X.d = as<Index>(parts[3], "the number of features of a CSR matrix", "an integer");
    if (X.d < 0) refuse("the number of features of a CSR matrix must be at least 0");
    X.wide = wide_floats(held.x, "CSR values");
    X.wide_index = wide_integers(held.indices, "CSR indices");
    if (wide_integers(held.indptr, "CSR indptr") != X.wide_index)
      refuse("CSR indices and indptr must have the same integer type");
    if (held.indptr.shape(0) == 0) refuse("a CSR indptr needs one entry more than rows");
    if (held.indices.shape(0) != held.x.shape(0)) refuse("CSR indices and values must have the same length");
    X.n = static_cast<Index>(held.indptr.shape(0)) - 1;
    X.values = held.x.data();
    X.indices = held.indices.data();
    X.indptr = held.indptr.data();
    const Index stored = static_cast<Index>(held.x.shape(0));
    X.wide_index ? check_csr<std::int64_t>(X, stored) : check_csr<std::int32_t>(X, stored);
  } else {
    held.x = array_of(h, name);
    if (held.x.ndim() != 2) refuse(std::string(name) + " must have 2 dimensions, got " + std::to_string(held.x.ndim()));
    X.n = static_cast<Index>(held.x.shape(0));
    X.d = static_cast<Index>(held.x.shape(1));
    X.wide = wide_floats(held.x, name);
    X.x = held.x.data();
    X.stride = held.x.stride(0);
    if (X.d > 1 && held.x.stride(1) != 1)
      refuse(std::string(name) + " must have rows without gaps; make it C-contiguous");
  }
  return held;
}

Data rows_of(Data X, Index from, Index to) {
  X.n = to - from;
  if (X.sparse())
    X.indptr = static_cast<const char*>(X.indptr) + from * (X.wide_index ? 8 : 4);
  else
    X.x = static_cast<const char*>(X.x) + from * X.stride * (X.wide ? 8 : 4);
  return X;
}

void check_indices(Span<const Index> indices, Index n, const char* name) {
  for (Index i : indices)
    if (i < 0 || i >= n)
      refuse(std::string(name) + " must lie in [0, " + std::to_string(n) + "), got " + std::to_string(i));
}

void check_numbers(Span<const double> numbers, double low, double high, const char* name) {
  for (double x : numbers)
    if (!(x >= low && x <= high))
      refuse(std::string(name) + " must be " + (low == 0 ? "at least 0" : "finite") + ", got " + std::to_string(x));
}

void check_box(Span<const double> upper, Span<const double> ridge, Index n) {
  if (upper.size != n || ridge.size != n) refuse("upper and ridge need one entry per row");
  check_numbers(upper, 0, kInfinite, "upper");
  check_numbers(ridge, 0, kLargest, "ridge");
}

void check_run(double tol, Index max_iter, double time_limit, nb::handle stop) {
  if (!stop.is_none() && !nb::isinstance<nb::callable>(stop)) refuse("stop must be None or a function");
  if (!(tol >= 0)) refuse("tol must be at least 0, got " + std::to_string(tol));
  if (max_iter < 0) refuse("max_iter must be at least 0, got " + std::to_string(max_iter));
  if (std::isnan(time_limit)) refuse("time_limit must be a number of seconds, got NaN");
}

double finite(double x, const char* name) {
  if (!std::isfinite(x)) refuse(std::string(name) + " must be finite, got " + std::to_string(x));
  return x;
}

double checked_memory(double bytes) {
  if (!(bytes > 0)) refuse("memory must be a positive number of bytes, got " + std::to_string(bytes));
  return std::min(bytes, 1e18);
}

// ---- kernels ----

namespace {

KernelKind kind_of(const std::string& name) {
  static constexpr const char* names[] = {"rbf",       "linear",      "poly",     "sigmoid",    "cosine",
                                          "laplacian", "precomputed", "callable", "sqeuclidean"};
  for (std::size_t i = 0; i < std::size(names); ++i)
    if (name == names[i]) return static_cast<KernelKind>(i);
  refuse("unknown kernel kind '" + name + "'");
}

}  // namespace

Kernel kernel_of(const nb::dict& parameters) {
  auto item = [&](const char* key) -> nb::object {
    return parameters.contains(key) ? nb::object(parameters[key]) : nb::none();
  };
  auto number = [&](const char* key, double otherwise) {
    const nb::object o = item(key);
    return o.is_none() ? otherwise : as<double>(o, key, "a number");
  };
  if (item("kind").is_none()) refuse("a kernel needs a kind");
  Kernel k;
  k.kind = kind_of(as<std::string>(item("kind"), "the kind of a kernel", "a string"));
  k.gamma = number("gamma", 1);
  k.degree = item("degree").is_none() ? 3 : as<int>(item("degree"), "degree", "an integer");
  k.coef0 = number("coef0", 0);
  k.offset = number("offset", 0);
  k.centered = !item("centered").is_none() && as<bool>(item("centered"), "centered", "True or False");
  if (const nb::object gammas = item("gammas"); !gammas.is_none()) {
    const auto g = as<Vector<double>>(gammas, "gammas", "a vector of numbers");
    k.gammas.assign(g.data(), g.data() + g.shape(0));
  }
  auto bad = [](double g) { return !(g >= 0) || std::isinf(g); };
  if (bad(k.gamma) && (k.kind == KernelKind::rbf || k.kind == KernelKind::laplacian))
    refuse("gamma must be finite and at least 0");
  if (std::any_of(k.gammas.begin(), k.gammas.end(), bad)) refuse("gammas must be finite and at least 0");
  if (!k.gammas.empty() && k.kind != KernelKind::rbf) refuse("one gamma per feature is for the rbf kernel only");
  if (k.degree < 0) refuse("degree must be at least 0");
  if (k.kind != KernelKind::callable) return k;
  const nb::object function = item("call");
  if (!nb::isinstance<nb::callable>(function)) refuse("a callable kernel needs a function under the key 'call'");
  k.call = [f = nb::handle(function)](Span<const Index> rows, Span<const Index> cols, double* out, Index ld) {
    const nb::gil_scoped_acquire gil;
    auto as_array = [](Span<const Index> s) {
      using View = nb::ndarray<nb::numpy, const Index, nb::ndim<1>>;
      return nb::cast(View(s.data, {static_cast<std::size_t>(s.size)}, nb::handle()), nb::rv_policy::copy);
    };
    const nb::object result = f(as_array(rows), as_array(cols));
    nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu> values;
    if (!nb::try_cast(result, values) || static_cast<Index>(values.shape(0)) != rows.size ||
        static_cast<Index>(values.shape(1)) != cols.size)
      refuse("a callable kernel must return a float array of shape (" + std::to_string(rows.size) + ", " +
             std::to_string(cols.size) + ")");
    for (Index r = 0; r < rows.size; ++r)
      std::copy(values.data() + r * cols.size, values.data() + (r + 1) * cols.size, out + r * ld);
  };
  return k;
}

bool is_double(const std::string& dtype) {
  if (dtype != "float32" && dtype != "float64") refuse("dtype must be 'float32' or 'float64', got '" + dtype + "'");
  return dtype == "float64";
}

void check_pair(const Data& A, const Data& B, const Kernel& k, Span<const Index> rows, Span<const Index> cols) {
  check_indices(rows, A.n, "rows");
  check_indices(cols, k.kind == KernelKind::precomputed ? A.d : B.n, "cols");
  if (k.kind != KernelKind::precomputed && k.kind != KernelKind::callable && A.d != B.d)
    refuse("expected the same number of features on both sides, got " + std::to_string(A.d) + " and " +
           std::to_string(B.d));
}

}  // namespace polymargin
