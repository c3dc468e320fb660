// The solvers.
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "dual/solve.hpp"
#include "kernels/row_cache.hpp"
#include "margins/kesler_solvers.hpp"
#include "margins/solve.hpp"
#include "running.hpp"
#include "training_rows.hpp"

namespace polymargin {
namespace {

constexpr double kAfterwards = 2;  // variables and scores: twice what the start is
constexpr Index kMostClasses = std::numeric_limits<std::int32_t>::max();  // so that sizes do not overflow

// Rows with their kernel rows, for one solve after another.
class KeptRows {
 public:
  KeptRows(nb::object X, nb::dict kernel, Vector<Index> rows, const std::string& dtype, double memory, int n_jobs)
      : of_(X, kernel, rows, memory, n_jobs), kept_(made<Kept>(dtype, of_.data(), of_.kernel())) {}

  Span<const Index> rows() const { return of_.rows(); }
  std::uint64_t evaluations() const {
    return std::visit([](const auto& kept) { return kept->K.evaluations(); }, kept_);
  }
  // What is subtracted from all rows; empty for nothing.
  std::vector<double> center() const {
    const std::vector<float>& mean =
        std::visit([](const auto& kept) -> const std::vector<float>& { return kept->K.mean(); }, kept_);
    return {mean.begin(), mean.end()};
  }

  template <class Problem>
  nb::dict solve(const Problem& p, Span<const double> alpha, Run& run) {
    check_numbers(alpha, -kLargest, kLargest, "the start");
    run.settings.memory = of_.memory;
    std::vector<double> start(alpha.begin(), alpha.end());
    run.charge(kAfterwards);
    const auto from = [&](auto& kept) {
      return polymargin::solve(p, kept->K, kept->cache, std::move(start), run.settings, of_.team);
    };
    Solution out = without_gil([&] { return std::visit(from, kept_); });
    nb::dict result = run.report(out);
    result["alpha"] = as_vector(std::move(out.alpha));
    result["gradient"] = as_vector(std::move(out.gradient));
    result["multiplier"] = as_vector(std::move(out.multiplier));
    return result;
  }

 private:
  template <class T>
  struct Kept {
    Kept(const Data& X, const Kernel& kernel) : K(X, X, kernel) {}
    KernelBlocks<T> K;
    std::unique_ptr<RowCache<T>> cache;
  };

  TrainingRows of_;
  FloatOrDouble<Kept> kept_;
};

// Duals with one variable per row.
class DualSolver {
 public:
  DualSolver(nb::object X, nb::dict kernel, Vector<Index> rows, Vector<Index> segments, double same, double other,
             const std::string& dtype, double memory, int n_jobs)
      : rows_(X, kernel, rows, dtype, memory, n_jobs),
        segments_(segments),
        same_(checked(same, -kLargest, kLargest, "same")),
        other_(checked(other, -kLargest, kLargest, "other")) {
    check_offsets(span(segments_), rows_.rows().size, "segments", "rows");
  }

  nb::dict solve(Vector<double> linear, Vector<double> upper, Vector<double> ridge, const std::string& sum,
                 bool entropy, Vector<double> alpha, double tol, bool relative, Index max_iter, double time_limit,
                 nb::object stop, std::optional<Vector<double>> lower, double gap) {
    DualProblem p;
    p.rows = rows_.rows(), p.segments = span(segments_);
    p.same = same_, p.other = other_;
    p.linear = span(linear), p.upper = span(upper), p.ridge = span(ridge);
    for (Index size : {p.linear.size, p.upper.size, p.ridge.size, span(alpha).size})
      if (size != p.rows.size) refuse("linear, upper, ridge and alpha need one entry per row");
    check_numbers(p.linear, -kLargest, kLargest, "linear");
    check_box(p.upper, p.ridge, p.rows.size);
    if (lower) {
      p.lower = span(*lower);
      if (p.lower.size != p.rows.size) refuse("lower needs one entry per row");
      if (entropy) refuse("lower bounds other than 0 do not go with the entropy");
      check_numbers(p.lower, -kInfinite, 0, "lower");
    }
    p.sum = static_cast<Sum>(which(sum, "sum", {"none", "total", "per_class"}));
    p.entropy = entropy;
    Run run(tol, max_iter, time_limit, stop);
    run.settings.relative = relative, run.settings.gap = checked(gap, 0, kInfinite, "gap");
    return rows_.solve(p, span(alpha), run);
  }

  std::uint64_t evaluations() const { return rows_.evaluations(); }
  Array center() const { return as_vector(rows_.center()); }

 private:
  KeptRows rows_;
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
    if (classes > kMostClasses) refuse("there can be no more than 2^31 - 1 classes");
    p_.reference = reference_of(reference);
    if (p_.reference == Reference::own && own_target > 0) refuse("a class has no margin over itself");
    p_.own_target = checked(own_target, -kLargest, kLargest, "own_target"), p_.capped = capped;
  }

  nb::dict solve(Vector<double> upper, Vector<double> ridge, Vector<double> b, const std::string& solver, double tol,
                 Index max_iter, double time_limit, nb::object stop) {
    MarginProblem p = p_;
    p.upper = span(upper), p.ridge = span(ridge);
    check_box(p.upper, p.ridge, p.rows.size);
    if (span(b).size != p.rows.size * p.classes) refuse("b needs one entry per class and row");
    Run run(tol, max_iter, time_limit, stop);
    const int method = which(solver, "solver", {"auto", "smo", "ksk", "mdm"}) - 1;
    if (method < 0) return rows_.solve(p, span(b), run);
    if (p.reference != Reference::own || p.capped) refuse("solver must be 'auto' for this problem");
    const KeslerProblem kesler{p, static_cast<KeslerProblem::Method>(method)};
    for (Index i = 0; i < p.rows.size; ++i)
      if (kesler.method != KeslerProblem::Method::smo && !(p.ridge[i] > 0 && std::isinf(p.upper[i])))
        refuse("the nearest point needs a ridge and no upper bound");
    return rows_.solve(kesler, span(b), run);
  }

  std::uint64_t evaluations() const { return rows_.evaluations(); }

 private:
  KeptRows rows_;
  Vector<Index> label_;
  MarginProblem p_;
};

}  // namespace

void bind_solvers(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<DualSolver>(m, "DualSolver", "Solves duals with one variable per row on one set of rows, sorted by class.")
      .def(nb::init<nb::object, nb::dict, Vector<Index>, Vector<Index>, double, double, const std::string&, double,
                    int>(),
           "X"_a, "kernel"_a, "rows"_a, "segments"_a, "same"_a, "other"_a, "dtype"_a, "memory"_a, "n_jobs"_a)
      .def("solve", &DualSolver::solve, "linear"_a, "upper"_a, "ridge"_a, "sum"_a, "entropy"_a, "alpha"_a, "tol"_a,
           "relative"_a, "max_iter"_a, "time_limit"_a, "stop"_a.none(), "lower"_a = nb::none(),
           "gap"_a = Settings().gap, "Minimize from the feasible point alpha; see core/dual/dual_problem.hpp.")
      .def_prop_ro("center", &DualSolver::center, "What is subtracted from all rows; empty for nothing.")
      .def_prop_ro("evaluations", &DualSolver::evaluations, "Kernel values computed so far.");
  nb::class_<MarginSolver>(m, "MarginSolver",
                           "Solves duals with a variable per example and class on one set of rows, sorted by class.")
      .def(nb::init<nb::object, nb::dict, Vector<Index>, Vector<Index>, Index, const std::string&, double, bool,
                    const std::string&, double, int>(),
           "X"_a, "kernel"_a, "rows"_a, "label"_a, "classes"_a, "reference"_a, "own_target"_a, "capped"_a, "dtype"_a,
           "memory"_a, "n_jobs"_a)
      .def("solve", &MarginSolver::solve, "upper"_a, "ridge"_a, "b"_a, "solver"_a, "tol"_a, "max_iter"_a,
           "time_limit"_a, "stop"_a.none(),
           "Minimize from the feasible point b, class by class; see core/margins/margin_problem.hpp.")
      .def_prop_ro("evaluations", &MarginSolver::evaluations, "Kernel values computed so far.");
}

}  // namespace polymargin
