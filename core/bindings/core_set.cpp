// The solver of core vectors and enclosing balls.
#include "core_set/core_set.hpp"

#include <string>

#include "training_rows.hpp"

namespace polymargin {
namespace {

class CoreSolver {
 public:
  CoreSolver(nb::object X, nb::dict kernel, Vector<Index> rows, Vector<Index> label, double same, double other,
             const std::string& dtype, double memory, int n_jobs)
      : rows_(X, kernel, rows, dtype, memory, n_jobs),
        label_(label),
        same_(finite(same, "same")),
        other_(finite(other, "other")) {
    if (span(label_).size != rows_.rows().size) refuse("label needs one entry per row");
  }

  nb::dict solve(Vector<double> linear, Vector<double> ridge, Vector<double> alpha, double tol, Index max_iter,
                 double time_limit, nb::object stop) {
    SimplexProblem p;
    p.rows = rows_.rows(), p.label = span(label_);
    p.same = same_, p.other = other_;
    p.linear = span(linear), p.ridge = span(ridge);
    for (Index size : {p.linear.size, p.ridge.size, span(alpha).size})
      if (size != p.rows.size) refuse("linear, ridge and alpha need one entry per row");
    check_numbers(p.linear, -kLargest, kLargest, "linear");
    check_numbers(p.ridge, 0, kLargest, "ridge");
    Settings settings;
    settings.tol = tol, settings.max_iter = max_iter, settings.time_limit = time_limit;
    return rows_.solve(p, span(alpha), settings, stop);
  }

  std::uint64_t evaluations() const { return rows_.evaluations(); }

 private:
  TrainingRows rows_;
  Vector<Index> label_;
  double same_, other_;
};

}  // namespace

void bind_core_set(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<CoreSolver>(m, "CoreSolver", "Solves quadratic programs over the simplex on one working set of rows.")
      .def(nb::init<nb::object, nb::dict, Vector<Index>, Vector<Index>, double, double, const std::string&, double,
                    int>(),
           "X"_a, "kernel"_a, "rows"_a, "label"_a, "same"_a, "other"_a, "dtype"_a, "memory"_a, "n_jobs"_a)
      .def("solve", &CoreSolver::solve, "linear"_a, "ridge"_a, "alpha"_a, "tol"_a, "max_iter"_a, "time_limit"_a,
           "stop"_a.none(), "Minimize from the feasible point alpha; see core/core_set/core_set.hpp.")
      .def_prop_ro("evaluations", &CoreSolver::evaluations, "Kernel values computed so far.");
}

}  // namespace polymargin
