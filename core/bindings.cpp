// The only file that knows Python: converts and checks arguments, releases the GIL, polls signals.
//
// Data in Python is a 2-D array (float32 or float64, elements of a row adjacent, read-only allowed) or a tuple
// (values, indices, indptr, n_features), a CSR matrix with sorted indices. Nothing is copied.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "data.hpp"
#include "decomposition.hpp"
#include "expansion.hpp"
#include "joint_decomposition.hpp"
#include "kernel.hpp"
#include "kernel_rows.hpp"
#include "tile.hpp"

namespace nb = nanobind;

namespace polymargin {
namespace {

using AnyArray = nb::ndarray<nb::ro, nb::device::cpu>;
template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T>
Span<const T> span(const Vector<T>& v) {
  return {v.data(), static_cast<Index>(v.shape(0))};
}

[[noreturn]] void refuse(const std::string& message) { throw std::invalid_argument(message); }

// ---- data ----

// A Data and the arrays that it looks into.
struct HeldData {
  Data data;
  AnyArray x, indices, indptr;
};

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
    X.d = nb::cast<Index>(parts[3]);
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

// Rows from..to of X, without a copy.
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
      refuse(std::string(name) + " must lie in [0, " + std::to_string(n) + "), found " + std::to_string(i));
}

// ---- kernels ----

KernelKind kind_of(const std::string& name) {
  static const char* const names[] = {"rbf",    "linear",    "poly",        "sigmoid",
                                      "cosine", "laplacian", "precomputed", "callable"};
  for (int i = 0; i < 8; ++i)
    if (name == names[i]) return static_cast<KernelKind>(i);
  refuse("unknown kernel kind '" + name + "'");
}

// The dict {kind, gamma, gammas, degree, coef0, offset, call}; only kind is needed. call(rows, cols) returns float64 values
// of shape (len(rows), len(cols)). The dict must outlive the Kernel, which holds no reference of its own: copies of a
// Kernel are made without the GIL.
Kernel kernel_of(const nb::dict& parameters) {
  auto item = [&](const char* key) -> nb::object {
    return parameters.contains(key) ? nb::object(parameters[key]) : nb::none();
  };
  auto number = [&](const char* key, double otherwise) {
    const nb::object o = item(key);
    return o.is_none() ? otherwise : nb::cast<double>(o);
  };
  if (item("kind").is_none()) refuse("a kernel needs a kind");
  Kernel k;
  k.kind = kind_of(nb::cast<std::string>(item("kind")));
  k.gamma = number("gamma", 1);
  k.degree = item("degree").is_none() ? 3 : nb::cast<int>(item("degree"));
  k.coef0 = number("coef0", 0);
  k.offset = number("offset", 0);
  if (const nb::object gammas = item("gammas"); !gammas.is_none()) {
    const auto g = nb::cast<Vector<double>>(gammas);
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

// An uninitialised NumPy array: large ones get huge pages, which plain new does not.
template <class T, class... Sizes>
nb::ndarray<T, nb::c_contig, nb::device::cpu> empty(const char* dtype, Sizes... sizes) {
  const nb::object made = nb::module_::import_("numpy").attr("empty")(nb::make_tuple(sizes...), dtype);
  return nb::cast<nb::ndarray<T, nb::c_contig, nb::device::cpu>>(made);
}

void check_pair(const Data& A, const Data& B, const Kernel& k, Span<const Index> rows, Span<const Index> cols) {
  check_indices(rows, A.n, "rows");
  check_indices(cols, k.kind == KernelKind::precomputed ? A.d : B.n, "cols");
  if (k.kind != KernelKind::precomputed && k.kind != KernelKind::callable && A.d != B.d)
    refuse("expected the same number of features on both sides, got " + std::to_string(A.d) + " and " +
           std::to_string(B.d));
}

// ---- blocks ----

template <class T>
nb::object block_as(const char* dtype, const Data& A, const Data& B, const Kernel& k, Span<const Index> rows,
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

nb::object kernel_block(nb::object A, nb::object B, nb::dict kernel, Vector<Index> rows, Vector<Index> cols,
                        const std::string& dtype, int n_jobs) {
  const HeldData a = data_of(A, "A"), b = data_of(B, "B");
  const Kernel k = kernel_of(kernel);
  check_pair(a.data, b.data, k, span(rows), span(cols));
  if (is_double(dtype)) return block_as<double>("float64", a.data, b.data, k, span(rows), span(cols), n_jobs, false);
  return block_as<float>("float32", a.data, b.data, k, span(rows), span(cols), n_jobs, false);
}

nb::object gram(nb::object A, nb::dict kernel, Vector<Index> rows, const std::string& dtype, int n_jobs) {
  const HeldData a = data_of(A, "A");
  const Kernel k = kernel_of(kernel);
  check_pair(a.data, a.data, k, span(rows), span(rows));
  if (is_double(dtype)) return block_as<double>("float64", a.data, a.data, k, span(rows), span(rows), n_jobs, true);
  return block_as<float>("float32", a.data, a.data, k, span(rows), span(rows), n_jobs, true);
}

template <class T>
void diagonal_as(const Data& A, const Kernel& k, Span<const Index> rows, double* out) {
  const nb::gil_scoped_release free;
  KernelBlocks<T>(A, A, k).diagonal(rows, out);
}

nb::object diagonal(nb::object A, nb::dict kernel, Vector<Index> rows, const std::string& dtype) {
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

// ---- scores ----

struct ScoreArguments {
  HeldData Z, SV;
  Kernel kernel;
  Span<const Index> sv_rows, segments;
  Span<const double> alpha, intercept;
  bool wide;
};

ScoreArguments score_arguments(nb::handle Z, nb::handle SV, const nb::dict& kernel, const Vector<Index>& sv_rows,
                               const Vector<Index>& segments, const Vector<double>& alpha,
                               const Vector<double>& intercept, const std::string& dtype) {
  ScoreArguments a;
  a.kernel = kernel_of(kernel);
  a.Z = data_of(Z, "Z");
  const bool given = a.kernel.kind == KernelKind::precomputed;
  a.SV = SV.is_none() && given ? a.Z : data_of(SV, "SV");
  a.sv_rows = span(sv_rows);
  a.segments = span(segments);
  a.alpha = span(alpha);
  a.intercept = span(intercept);
  a.wide = is_double(dtype);
  const Data &z = a.Z.data, &sv = a.SV.data;
  check_indices(a.sv_rows, given ? z.d : sv.n, "sv_rows");
  if (!given && a.kernel.kind != KernelKind::callable && z.d != sv.d)
    refuse("expected rows with " + std::to_string(sv.d) + " features, got " + std::to_string(z.d));
  if (a.segments.size == 0) {
    if (a.intercept.size < 1 || a.alpha.size != a.intercept.size * a.sv_rows.size)
      refuse("without segments, alpha needs one entry per class and support vector");
    return a;
  }
  if (a.alpha.size != a.sv_rows.size) refuse("alpha and sv_rows must have the same length");
  const Index classes = a.segments.size - 1;
  if (classes < 1 || a.intercept.size != classes)
    refuse("segments must have one entry more than intercept, and there must be a class");
  if (a.segments[0] != 0 || a.segments[classes] != a.sv_rows.size ||
      !std::is_sorted(a.segments.begin(), a.segments.end()))
    refuse("segments must increase from 0 to the number of support vectors");
  return a;
}

// run(rows of Z, first row, team) over batches of some tenths of a second each; signals are polled between them. Scores do not
// depend on the batch. A callable counts rows from the first of Z, and Python polls signals for it: one batch.
template <class Run>
void in_batches(const ScoreArguments& a, int threads, Run run) {
  const Data& Z = a.Z.data;
  const double cost = (a.sv_rows.size + 1.0) * (Z.d + 20.0) / (3e9 * std::max(threads, 1));  // seconds per row, roughly
  Index batch = static_cast<Index>(std::min(0.2 / cost, 1e15)) / 256 * 256;
  batch = a.kernel.kind == KernelKind::callable ? Z.n : std::max<Index>(256 * std::max(threads, 1), batch);
  Team team(threads);
  for (Index from = 0; from < Z.n; from += batch) {
    if (from > 0 && PyErr_CheckSignals() != 0) throw nb::python_error();
    const nb::gil_scoped_release free;
    run(rows_of(Z, from, std::min(from + batch, Z.n)), from, team);
  }
}

nb::object all_scores(nb::object Z, nb::object SV, nb::dict kernel, Vector<Index> sv_rows, Vector<Index> segments,
                      Vector<double> alpha, Vector<double> intercept, const std::string& dtype, int n_jobs) {
  const ScoreArguments a = score_arguments(Z, SV, kernel, sv_rows, segments, alpha, intercept, dtype);
  const Index classes = a.intercept.size;
  auto out = empty<double>("float64", a.Z.data.n, classes);
  in_batches(a, n_jobs, [&](const Data& rows, Index first, Team& team) {
    auto compute = a.wide ? scores<double> : scores<float>;
    compute(rows, a.SV.data, a.kernel, a.sv_rows, a.segments, a.alpha, a.intercept, out.data() + first * classes, team,
            nullptr);
  });
  return nb::cast(out);
}

nb::object best_classes(nb::object Z, nb::object SV, nb::dict kernel, Vector<Index> sv_rows, Vector<Index> segments,
                        Vector<double> alpha, Vector<double> intercept, const std::string& dtype, int n_jobs) {
  const ScoreArguments a = score_arguments(Z, SV, kernel, sv_rows, segments, alpha, intercept, dtype);
  auto out = empty<Index>("int64", a.Z.data.n);
  in_batches(a, n_jobs, [&](const Data& rows, Index first, Team& team) {
    auto compute = a.wide ? argmax_scores<double> : argmax_scores<float>;
    compute(rows, a.SV.data, a.kernel, a.sv_rows, a.segments, a.alpha, a.intercept, out.data() + first, team, nullptr);
  });
  return nb::cast(out);
}

// ---- the solvers ----

nb::object as_vector(const std::vector<double>& v) {
  auto out = empty<double>("float64", v.size());
  std::copy(v.begin(), v.end(), out.data());
  return nb::cast(out);
}

// One set of training rows with its kernel rows, for one solve after another.
class TrainingRows {
 public:
  TrainingRows(nb::object X, nb::dict kernel, Vector<Index> rows, const std::string& dtype, double memory, int n_jobs)
      : X_(data_of(X, "X")), kernel_(kernel), rows_(rows), memory_(memory), team_(n_jobs) {
    const Kernel k = kernel_of(kernel_);
    check_pair(X_.data, X_.data, k, span(rows_), span(rows_));
    if (is_double(dtype))
      wide_ = std::make_unique<Rows<double>>(X_.data, k);
    else
      narrow_ = std::make_unique<Rows<float>>(X_.data, k);
  }

  Span<const Index> rows() const { return span(rows_); }
  std::uint64_t evaluations() const { return wide_ ? wide_->K.evaluations() : narrow_->K.evaluations(); }

  // stop(n_iter, violation, dual, seconds) -> bool is asked some ten times a second; so are signals.
  template <class Problem>
  nb::dict solve(const Problem& p, Span<const double> alpha, Settings settings, const nb::object& stop) {
    settings.memory = memory_;
    bool signalled = false;
    settings.stop = [&](const Progress& now) {
      const nb::gil_scoped_acquire gil;
      try {
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
        return !stop.is_none() && nb::cast<bool>(stop(now.n_iter, now.violation, now.dual, now.seconds));
      } catch (nb::python_error& error) {
        if (!error.matches(PyExc_KeyboardInterrupt)) throw;
        return signalled = true;
      }
    };
    Solution out;
    {
      const nb::gil_scoped_release free;
      const std::vector<double> start(alpha.begin(), alpha.end());
      out = wide_ ? polymargin::solve<double>(p, wide_->K, wide_->cache, start, settings, team_)
                  : polymargin::solve<float>(p, narrow_->K, narrow_->cache, start, settings, team_);
    }
    static const char* const names[] = {"solved", "max_iter", "time_limit", "stalled", "interrupted"};
    nb::dict result;
    result["alpha"] = as_vector(out.alpha);
    result["gradient"] = as_vector(out.gradient);
    result["multiplier"] = as_vector(out.multiplier);
    result["status"] = names[static_cast<int>(out.status)];
    result["n_iter"] = out.n_iter;
    result["violation"] = out.violation;
    result["primal"] = out.primal;
    result["dual"] = out.dual;
    result["signalled"] = signalled;
    return result;
  }

 private:
  template <class T>
  struct Rows {
    Rows(const Data& X, const Kernel& k) : K(X, X, k) {}
    KernelBlocks<T> K;
    std::unique_ptr<RowCache<T>> cache;
  };

  HeldData X_;
  nb::dict kernel_;
  Vector<Index> rows_;
  double memory_;
  Team team_;
  std::unique_ptr<Rows<double>> wide_;
  std::unique_ptr<Rows<float>> narrow_;
};

// Duals with one variable per example.
class DualSolver {
 public:
  DualSolver(nb::object X, nb::dict kernel, Vector<Index> rows, Vector<Index> segments, double same, double other,
             const std::string& dtype, double memory, int n_jobs)
      : rows_(X, kernel, rows, dtype, memory, n_jobs), segments_(segments), same_(same), other_(other) {
    const Span<const Index> s = span(segments_);
    if (s.size < 2 || s[0] != 0 || s[s.size - 1] != rows_.rows().size || !std::is_sorted(s.begin(), s.end()))
      refuse("segments must increase from 0 to the number of rows");
  }

  nb::dict solve(Vector<double> linear, Vector<double> upper, Vector<double> ridge, const std::string& sum,
                 bool entropy, Vector<double> alpha, double tol, bool relative, Index max_iter, double time_limit,
                 nb::object stop) {
    DualProblem p;
    p.rows = rows_.rows(), p.segments = span(segments_);
    p.same = same_, p.other = other_;
    p.linear = span(linear), p.upper = span(upper), p.ridge = span(ridge);
    for (Index size : {p.linear.size, p.upper.size, p.ridge.size, span(alpha).size})
      if (size != p.rows.size) refuse("linear, upper, ridge and alpha need one entry per row");
    if (sum != "none" && sum != "total" && sum != "per_class") refuse("sum must be 'none', 'total' or 'per_class'");
    p.sum = sum == "none" ? Sum::none : sum == "total" ? Sum::total : Sum::per_class;
    p.entropy = entropy;
    Settings settings;
    settings.tol = tol, settings.relative = relative;
    settings.max_iter = max_iter, settings.time_limit = time_limit;
    return rows_.solve(p, span(alpha), settings, stop);
  }

  std::uint64_t evaluations() const { return rows_.evaluations(); }

 private:
  TrainingRows rows_;
  Vector<Index> segments_;
  double same_, other_;
};

// Duals with a variable per example and class.
class MarginSolver {
 public:
  MarginSolver(nb::object X, nb::dict kernel, Vector<Index> rows, Vector<Index> label, Index classes,
               const std::string& reference, double own_target, bool capped, const std::string& dtype, double memory,
               int n_jobs)
      : rows_(X, kernel, rows, dtype, memory, n_jobs), label_(label) {
    p_.rows = rows_.rows(), p_.label = span(label_), p_.classes = classes;
    if (p_.label.size != p_.rows.size || !std::is_sorted(p_.label.begin(), p_.label.end()))
      refuse("label needs one entry per row, and they must not decrease");
    check_indices(p_.label, classes, "label");
    if (reference != "own" && reference != "mean" && reference != "none")
      refuse("reference must be 'own', 'mean' or 'none'");
    p_.reference = reference == "own" ? Reference::own : reference == "mean" ? Reference::mean : Reference::none;
    if (p_.reference == Reference::own && own_target > 0) refuse("a class has no margin over itself");
    p_.own_target = own_target, p_.capped = capped;
  }

  nb::dict solve(Vector<double> upper, Vector<double> ridge, Vector<double> b, double tol, Index max_iter,
                 double time_limit, nb::object stop) {
    MarginProblem p = p_;
    p.upper = span(upper), p.ridge = span(ridge);
    if (p.upper.size != p.rows.size || p.ridge.size != p.rows.size) refuse("upper and ridge need one entry per row");
    if (span(b).size != p.rows.size * p.classes) refuse("b needs one entry per class and row");
    Settings settings;
    settings.tol = tol, settings.max_iter = max_iter, settings.time_limit = time_limit;
    return rows_.solve(p, span(b), settings, stop);
  }

  std::uint64_t evaluations() const { return rows_.evaluations(); }

 private:
  TrainingRows rows_;
  Vector<Index> label_;
  MarginProblem p_;
};

}  // namespace
}  // namespace polymargin

NB_MODULE(_core, m) {
  using namespace polymargin;
  using namespace nb::literals;
  nb::set_leak_warnings(false);  // an interpreter that ends with a traceback in its hands is no leak of ours
  m.doc() = "The compiled core: kernel blocks, solvers and scores.";
  m.def(
      "simd", [] { return std::string(tile_ops<float>().name); }, "The instruction set in use: base, avx2 or avx512.");
  m.def("kernel_block", &kernel_block, "A"_a, "B"_a, "kernel"_a, "rows"_a, "cols"_a, "dtype"_a = "float64",
        "n_jobs"_a = 1, "k(A[rows[r]], B[cols[c]]) + offset, shape (len(rows), len(cols)).");
  m.def("gram", &gram, "A"_a, "kernel"_a, "rows"_a, "dtype"_a = "float64", "n_jobs"_a = 1,
        "k(A[rows[i]], A[rows[j]]) + offset, computed by halves.");
  m.def("diagonal", &diagonal, "A"_a, "kernel"_a, "rows"_a, "dtype"_a = "float64",
        "k(A[rows[r]], A[rows[r]]) + offset, float64.");
  m.def("scores", &all_scores, "Z"_a, "SV"_a.none(), "kernel"_a, "sv_rows"_a, "segments"_a, "alpha"_a, "intercept"_a,
        "dtype"_a = "float32", "n_jobs"_a = 1,
        "f[i, c] = sum over class c of alpha_j k(x_j, z_i) + b_c, shape (len(Z), n_classes). Without segments alpha is "
        "the matrix of classes and support vectors, row by row.");
  m.def("argmax_scores", &best_classes, "Z"_a, "SV"_a.none(), "kernel"_a, "sv_rows"_a, "segments"_a, "alpha"_a,
        "intercept"_a, "dtype"_a = "float32", "n_jobs"_a = 1,
        "The class with the largest score, the smaller one of equals, shape (len(Z),).");
  nb::class_<DualSolver>(m, "DualSolver",
                         "Solves duals with one variable per example on one set of rows, sorted by class.")
      .def(nb::init<nb::object, nb::dict, Vector<Index>, Vector<Index>, double, double, const std::string&, double,
                    int>(),
           "X"_a, "kernel"_a, "rows"_a, "segments"_a, "same"_a, "other"_a, "dtype"_a, "memory"_a, "n_jobs"_a)
      .def("solve", &DualSolver::solve, "linear"_a, "upper"_a, "ridge"_a, "sum"_a, "entropy"_a, "alpha"_a, "tol"_a,
           "relative"_a, "max_iter"_a, "time_limit"_a, "stop"_a.none(),
           "Minimise from the feasible point alpha; see core/dual_problem.hpp.")
      .def_prop_ro("evaluations", &DualSolver::evaluations, "Kernel values computed so far.");
  nb::class_<MarginSolver>(m, "MarginSolver",
                           "Solves duals with a variable per example and class on one set of rows, sorted by class.")
      .def(nb::init<nb::object, nb::dict, Vector<Index>, Vector<Index>, Index, const std::string&, double, bool,
                    const std::string&, double, int>(),
           "X"_a, "kernel"_a, "rows"_a, "label"_a, "classes"_a, "reference"_a, "own_target"_a, "capped"_a, "dtype"_a,
           "memory"_a, "n_jobs"_a)
      .def("solve", &MarginSolver::solve, "upper"_a, "ridge"_a, "b"_a, "tol"_a, "max_iter"_a, "time_limit"_a,
           "stop"_a.none(), "Minimise from the feasible point b, class by class; see core/margin_problem.hpp.")
      .def_prop_ro("evaluations", &MarginSolver::evaluations, "Kernel values computed so far.");
}
