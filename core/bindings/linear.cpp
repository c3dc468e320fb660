// The solver in weight space, for linear kernels.
#include <string>
#include <utility>

#include "margins/linear_margins.hpp"
#include "running.hpp"

namespace polymargin {
namespace {

class LinearMarginSolver {
 public:
  LinearMarginSolver(nb::object X, Vector<Index> rows, Vector<Index> label, Index classes, bool capped, double offset,
                     Vector<double> target, int n_jobs)
      : X_(data_of(X, "X")), rows_(rows), label_(label), target_(target), team_(n_jobs) {
    p_.X = X_.data, p_.rows = span(rows_), p_.label = span(label_), p_.classes = classes;
    p_.capped = capped, p_.offset = offset, p_.target = span(target_);
    check_indices(p_.rows, p_.X.n, "rows");
    check_indices(p_.label, classes, "label");
    if (p_.label.size != p_.rows.size) refuse("label needs one entry per row");
    if (p_.target.size != 0 && !is_product(p_.target.size, classes, classes))
      refuse("target must be empty or have one entry per pair of classes");
    if (p_.rows.size == 0) refuse("rows must not be empty");
    check_numbers(p_.target, -kLargest, kLargest, "target");
    checked(offset, 0, kLargest, "offset");
  }

  nb::dict solve(Vector<double> upper, Vector<double> ridge, Output D, double tol, std::uint64_t seed, Index max_iter,
                 double time_limit, nb::object stop) {
    LinearMargins p = p_;
    p.upper = span(upper), p.ridge = span(ridge);
    check_box(p.upper, p.ridge, p.rows.size);
    check_numbers({D.data(), static_cast<Index>(D.size())}, -kLargest, kLargest, "D");
    if (!is_shape(D, p.rows.size, p.classes)) refuse("D needs one row per example and one column per class");
    Run run(tol, max_iter, time_limit, stop);
    auto w = empty<double>(p.classes, p.X.d), b = empty<double>(p.classes);
    nb::dict result = run.report(
        without_gil([&] { return polymargin::solve(p, D.data(), w.data(), b.data(), seed, run.settings, team_); }));
    result["weights"] = nb::cast(w);
    result["intercept"] = nb::cast(b);
    return result;
  }

 private:
  HeldData X_;
  Vector<Index> rows_, label_;
  Vector<double> target_;
  Team team_;
  LinearMargins p_;
};

}  // namespace

void bind_linear(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<LinearMarginSolver>(
      m, "LinearMarginSolver",
      "Solves linear machines whose own class should exceed every other one, in weight space "
      "(core/margins/linear_margins.hpp). "
      "target is empty (margins of 1) or a flat classes x classes matrix: the margin of class y over class c.")
      .def(nb::init<nb::object, Vector<Index>, Vector<Index>, Index, bool, double, Vector<double>, int>(), "X"_a,
           "rows"_a, "label"_a, "classes"_a, "capped"_a, "offset"_a, "target"_a, "n_jobs"_a)
      .def(
          "solve", &LinearMarginSolver::solve, "upper"_a, "ridge"_a, "D"_a.noconvert(), "tol"_a, "seed"_a, "max_iter"_a,
          "time_limit"_a, "stop"_a.none(),
          "Minimize from the feasible point D of shape (rows, classes), which becomes the solution; the result has the "
          "weights (classes, features) and the intercept (classes,).");
}

}  // namespace polymargin
