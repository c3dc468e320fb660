// Radius-margin criteria: Gram matrices from squared distances, and the inner problems.
#include "criteria/criterion.hpp"

#include <nanobind/stl/pair.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "arguments.hpp"

namespace polymargin {
namespace {

using ConstMatrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void from_distances(ConstMatrix D, double gamma, Matrix K, int n_jobs) {
  const Index n = static_cast<Index>(D.shape(0));
  check_square(D, n, "D");
  check_square(K, n, "K");
  if (!(gamma >= 0)) refuse("gamma must be at least 0");
  const nb::gil_scoped_release free;
  Team team(n_jobs);
  rbf_of_distances(D.data(), n, gamma, K.data(), team);
}

class InnerProblems {
 public:
  InnerProblems(Vector<Index> segments, const nb::list& problems, Vector<double> ridge, int n_jobs)
      : criterion_(span(segments), checked(span(segments), problems, span(ridge).size), span(ridge)), team_(n_jobs) {
    check_numbers(span(ridge), 0, kLargest, "ridge");
  }

  nb::dict solve(ConstMatrix K, double level, double tol, Index max_steps, double time_limit) {
    check_square(K, criterion_.n(), "K");
    check_run(tol, max_steps, time_limit);
    if (!(level > 0 && level <= kLargest)) refuse("level must be positive and finite, got " + std::to_string(level));
    using Clock = std::chrono::steady_clock;
    const auto begun = Clock::now();
    const auto caller = std::this_thread::get_id();
    bool signalled = false;
    std::atomic<bool> late{false};
    Criterion::Report report;
    {
      const nb::gil_scoped_release free;
      report = criterion_.solve(
          K.data(), level, tol, max_steps,
          [&] {
            if (std::chrono::duration<double>(Clock::now() - begun).count() >= time_limit)
              return late.exchange(true) || true;
            if (std::this_thread::get_id() != caller) return false;  // signals arrive in the main thread only
            const nb::gil_scoped_acquire gil;
            if (PyErr_CheckSignals() == 0) return false;
            PyErr_Clear();
            return signalled = true;
          },
          team_);
    }
    nb::dict out;
    out["minimum"] = as_vector(report.minimum);
    out["squares"] = as_vector(report.squares);
    out["status"] = signalled                           ? "interrupted"
                    : late                              ? "time_limit"
                    : report.status == Status::max_iter ? "max_iter"
                                                        : "solved";
    out["n_steps"] = report.n_steps;
    return out;
  }

  double weighted_sum(ConstMatrix K, ConstMatrix D, Vector<double> weight) {
    check_square(K, criterion_.n(), "K");
    check_square(D, criterion_.n(), "D");
    check_weight(weight);
    const nb::gil_scoped_release free;
    return criterion_.weighted_sum(K.data(), D.data(), span(weight), team_);
  }

  Array feature_sums(ConstMatrix K, ConstMatrix X, Vector<double> weight) {
    check_square(K, criterion_.n(), "K");
    check_weight(weight);
    if (static_cast<Index>(X.shape(0)) != criterion_.n()) refuse("X must have a row for each row of K");
    std::vector<double> sums;
    {
      const nb::gil_scoped_release free;
      sums = criterion_.feature_sums(K.data(), X.data(), static_cast<Index>(X.shape(1)), span(weight), team_);
    }
    return as_vector(sums);
  }

  Array solution(Index p) {
    if (p < 0 || p >= criterion_.size()) refuse("there is no such problem");
    return as_vector(criterion_.z(p));
  }

 private:
  static std::vector<Criterion::Problem> checked(Span<const Index> s, const nb::list& problems, Index n) {
    if (s.size < 2 || s[0] != 0) refuse("segments must begin with 0 and have an end for each class");
    for (Index c = 0; c + 1 < s.size; ++c)
      if (s[c + 1] <= s[c]) refuse("segments must increase");
    if (s[s.size - 1] != n) refuse("ridge needs one entry per row");
    std::vector<Criterion::Problem> out;
    for (nb::handle item : problems) {
      const auto [classes, margin] =
          as<std::pair<Vector<Index>, bool>>(item, "a problem", "a pair of classes (int64) and whether it is a margin");
      check_indices(span(classes), s.size - 1, "classes");
      const Span<const Index> list = span(classes);
      for (Index k = 1; k < list.size; ++k)
        if (list[k] <= list[k - 1]) refuse("the classes of a problem must increase");
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
           "sum_ij S_ij K_ij (x_it - x_jt)^2 for every feature t")
      .def("solution", &InnerProblems::solution, "p"_a, "z of problem p.");
}

}  // namespace polymargin
