// Radius-margin criteria: Gram matrices from squared distances, and the inner problems.
#include "criteria/criterion.hpp"

#include <nanobind/stl/pair.h>

#include <string>

#include "base/team_watch.hpp"
#include "running.hpp"

namespace polymargin {
namespace {

void from_distances(Matrix<double> D, double gamma, Output K, int n_jobs) {
  const Index n = length(D, 0);
  check_square(D, n, "D");
  check_square(K, n, "K");
  checked(gamma, 0, kInfinite, "gamma");
  const nb::gil_scoped_release free;
  Team team(n_jobs);
  rbf_of_distances(D.data(), n, gamma, K.data(), team);
}

class InnerProblems {
 public:
  InnerProblems(Vector<Index> segments, const nb::list& problems, Vector<double> ridge, int n_jobs)
      : criterion_(span(segments), problems_of(span(segments), problems, span(ridge).size), span(ridge)),
        team_(n_jobs) {
    check_numbers(span(ridge), 0, kLargest, "ridge");
  }

  nb::dict solve(Matrix<double> K, double level, double tol, Index max_steps, double time_limit) {
    check_square(K, criterion_.n(), "K");
    Run run(tol, max_steps, time_limit);
    checked(level, kSmallest, kLargest, "level");
    run.settings.max_iter = std::numeric_limits<Index>::max();  // `max_steps` is that of one problem
    TeamWatch watch(run.settings);
    Criterion::Report report =
        without_gil([&] { return criterion_.solve(K.data(), level, tol, max_steps, std::ref(watch), team_); });
    nb::dict out;
    out["minimum"] = as_vector(std::move(report.minimum));
    out["squares"] = as_vector(std::move(report.squares));
    out["status"] = name_of(watch.status(report.status));
    out["n_steps"] = report.n_steps;
    return out;
  }

  double weighted_sum(Matrix<double> K, Matrix<double> D, Vector<double> weight) {
    check_square(K, criterion_.n(), "K");
    check_square(D, criterion_.n(), "D");
    check_weight(weight);
    const nb::gil_scoped_release free;
    return criterion_.weighted_sum(K.data(), D.data(), span(weight), team_);
  }

  Array feature_sums(Matrix<double> K, Matrix<double> X, Vector<double> weight) {
    check_square(K, criterion_.n(), "K");
    check_weight(weight);
    if (length(X, 0) != criterion_.n()) refuse("X must have a row for each row of K");
    return as_vector(
        without_gil([&] { return criterion_.feature_sums(K.data(), X.data(), length(X, 1), span(weight), team_); }));
  }

 private:
  static std::vector<Criterion::Problem> problems_of(Span<const Index> s, const nb::list& problems, Index n) {
    check_offsets(s, n, "segments", "rows");
    check_increasing(s, "segments");
    std::vector<Criterion::Problem> out;
    for (nb::handle item : problems) {
      const auto [classes, margin] =
          as<std::pair<Vector<Index>, bool>>(item, "a problem", "a pair of classes (int64) and whether it is a margin");
      const Span<const Index> list = span(classes);
      check_indices(list, s.size - 1, "classes");
      check_increasing(list, "the classes of a problem");
      if (list.size == 0 || (margin && list.size != 2)) refuse("a margin is between two classes");
      out.push_back({{list.begin(), list.end()}, margin});
    }
    return out;
  }
  void check_weight(const Vector<double>& weight) const {
    if (span(weight).size != criterion_.size()) refuse("weight needs one entry per problem");
  }

  Criterion criterion_;
  Team team_;
};

}  // namespace

void bind_criterion(nb::module_& m) {
  using namespace nb::literals;
  m.def("rbf_of_distances", &from_distances, "D"_a, "gamma"_a, "K"_a.noconvert(), "n_jobs"_a,
        "K = exp(-gamma D), in place.");
  nb::class_<InnerProblems>(m, "InnerProblems",
                            "Margins and radii of classes on one Gram matrix; see core/criteria/criterion.hpp.")
      .def(nb::init<Vector<Index>, const nb::list&, Vector<double>, int>(), "segments"_a, "problems"_a, "ridge"_a,
           "n_jobs"_a, "problems: pairs (classes, is a margin).")
      .def("solve", &InnerProblems::solve, "K"_a, "level"_a, "tol"_a, "max_steps"_a, "time_limit"_a,
           "Minimum and sum_i q_i z_i^2 of every problem, each from its last solution.")
      .def("weighted_sum", &InnerProblems::weighted_sum, "K"_a, "D"_a, "weight"_a, "sum_ij S_ij K_ij D_ij")
      .def("feature_sums", &InnerProblems::feature_sums, "K"_a, "X"_a, "weight"_a,
           "sum_ij S_ij K_ij (x_it - x_jt)^2 for every feature t");
}

}  // namespace polymargin
