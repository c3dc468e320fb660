#include "arguments.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
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

AnyArray vector_of(nb::handle h, const char* name) {
  const AnyArray a = array_of(h, name);
  if (a.ndim() != 1 || (a.shape(0) > 1 && a.stride(0) != 1)) refuse(std::string(name) + " must be a contiguous vector");
  return a;
}

// Whether its elements are of the wider one of two types.
template <class Narrow, class Wide>
bool is_wide(const AnyArray& a, const char* name, const char* types) {
  if (a.dtype() != nb::dtype<Narrow>() && a.dtype() != nb::dtype<Wide>())
    refuse(std::string(name) + " must be " + types + "; convert it with astype");
  return a.dtype() == nb::dtype<Wide>();
}
bool wide_floats(const AnyArray& a, const char* name) { return is_wide<float, double>(a, name, "float32 or float64"); }
bool wide_integers(const AnyArray& a, const char* name) {
  return is_wide<std::int32_t, std::int64_t>(a, name, "int32 or int64");
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
    held.x = vector_of(parts[0], "CSR values");
    held.indices = vector_of(parts[1], "CSR indices");
    held.indptr = vector_of(parts[2], "CSR indptr");
    X.d = as<Index>(parts[3], "the number of features of a CSR matrix", "an integer");
    if (X.d < 0) refuse("the number of features of a CSR matrix must be at least 0");
    X.wide = wide_floats(held.x, "CSR values");
    X.wide_index = wide_integers(held.indices, "CSR indices");
    if (wide_integers(held.indptr, "CSR indptr") != X.wide_index)
      refuse("CSR indices and indptr must have the same integer type");
    if (held.indptr.shape(0) == 0) refuse("a CSR indptr needs one entry more than rows");
    if (held.indices.shape(0) != held.x.shape(0)) refuse("CSR indices and values must have the same length");
    X.n = length(held.indptr, 0) - 1;
    X.values = held.x.data();
    X.indices = held.indices.data();
    X.indptr = held.indptr.data();
    X.wide_index ? check_csr<std::int64_t>(X, length(held.x, 0)) : check_csr<std::int32_t>(X, length(held.x, 0));
  } else {
    held.x = array_of(h, name);
    if (held.x.ndim() != 2) refuse(std::string(name) + " must have 2 dimensions, got " + std::to_string(held.x.ndim()));
    X.n = length(held.x, 0), X.d = length(held.x, 1);
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
    X.x = X.at(from);
  return X;
}

void check_indices(Span<const Index> indices, Index n, const char* name) {
  for (Index i : indices)
    if (i < 0 || i >= n)
      refuse(std::string(name) + " must lie in [0, " + std::to_string(n) + "), got " + std::to_string(i));
}

void check_offsets(Span<const Index> offsets, Index n, const char* name, const char* things) {
  if (offsets.size < 2 || offsets[0] != 0 || offsets[offsets.size - 1] != n ||
      !std::is_sorted(offsets.begin(), offsets.end()))
    refuse(std::string(name) + " must increase from 0 to the number of " + things);
}

void check_columns(Span<const Index> indptr, Span<const Index> indices, Span<const double> values, Index columns,
                   Index n) {
  if (indptr.size != columns + 1 || indices.size != values.size)
    refuse("indptr needs one entry more than columns, indices one per value");
  check_offsets(indptr, values.size, "indptr", "values");
  check_indices(indices, n, "indices");
}

void check_increasing(Span<const Index> indices, const char* name) {
  if (std::adjacent_find(indices.begin(), indices.end(), std::greater_equal<Index>()) != indices.end())
    refuse(std::string(name) + " must increase");
}

double checked(double x, double low, double high, const char* name) {
  if (x >= low && x <= high) return x;
  const char* right = low > 0 ? "positive" : low == 0 ? "at least 0" : "finite";
  refuse(std::string(name) + " must be " + right + ", got " + std::to_string(x));
}

void check_numbers(Span<const double> numbers, double low, double high, const char* name) {
  for (double x : numbers) checked(x, low, high, name);
}

void check_box(Span<const double> upper, Span<const double> ridge, Index n) {
  if (upper.size != n || ridge.size != n) refuse("upper and ridge need one entry per row");
  check_numbers(upper, 0, kInfinite, "upper");
  check_numbers(ridge, 0, kLargest, "ridge");
}

void check_run(double tol, Index max_iter, double time_limit, nb::handle stop) {
  if (!stop.is_none() && !nb::isinstance<nb::callable>(stop)) refuse("stop must be None or a function");
  checked(tol, 0, kInfinite, "tol");
  if (max_iter < 0) refuse("max_iter must be at least 0, got " + std::to_string(max_iter));
  if (std::isnan(time_limit)) refuse("time_limit must be a number of seconds, got NaN");
}

double checked_memory(double bytes) { return std::min(checked(bytes, kSmallest, kInfinite, "memory"), 1e18); }

int which(const std::string& given, const char* name, std::initializer_list<const char*> words) {
  const auto at = std::find(words.begin(), words.end(), given);
  if (at != words.end()) return static_cast<int>(at - words.begin());
  std::string list;
  for (const char* word : words) list += (list.empty() ? "'" : ", '") + std::string(word) + "'";
  refuse(std::string("unknown ") + name + " '" + given + "'; use one of " + list);
}

bool is_double(const std::string& dtype) { return which(dtype, "dtype", {"float32", "float64"}) == 1; }

// ---- kernels ----

namespace {

KernelKind kind_of(const std::string& name) {
  return static_cast<KernelKind>(
      which(name, "kernel",
            {"rbf", "linear", "poly", "sigmoid", "cosine", "laplacian", "precomputed", "callable", "sqeuclidean"}));
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
    Matrix<double> values;
    if (!nb::try_cast(result, values) || !is_shape(values, rows.size, cols.size))
      refuse("a callable kernel must return a float array of shape (" + std::to_string(rows.size) + ", " +
             std::to_string(cols.size) + ")");
    for (Index r = 0; r < rows.size; ++r)
      std::copy(values.data() + r * cols.size, values.data() + (r + 1) * cols.size, out + r * ld);
  };
  return k;
}

void check_pair(const Data& A, const Data& B, const Kernel& k, Span<const Index> rows, Span<const Index> cols) {
  check_indices(rows, A.n, "rows");
  check_indices(cols, k.kind == KernelKind::precomputed ? A.d : B.n, "cols");
  if (k.kind != KernelKind::precomputed && k.kind != KernelKind::callable && A.d != B.d)
    refuse("expected the same number of features on both sides, got " + std::to_string(A.d) + " and " +
           std::to_string(B.d));
}

}  // namespace polymargin
