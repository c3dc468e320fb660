// Cross-validation of binary machines by code.
#include "codes/code_paths.hpp"

#include <nanobind/stl/vector.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "arguments.hpp"

namespace polymargin {
namespace {

using Square = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Code = nb::ndarray<const std::int8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

nb::dict code_paths(Square K, Vector<Index> segments, Code code, const std::vector<Vector<Index>>& train,
                    const std::vector<Vector<double>>& weight, const std::vector<Vector<Index>>& test, Vector<double> C,
                    bool squared, double tol, Index max_iter, double time_limit, int n_jobs) {
  const Index n = static_cast<Index>(K.shape(0));
  const Span<const Index> s = span(segments);
  if (static_cast<Index>(K.shape(1)) != n) refuse("K must be square");
  if (s.size < 3 || s[0] != 0 || s[s.size - 1] != n || !std::is_sorted(s.begin(), s.end()))
    refuse("segments must increase from 0 to the number of rows");
  if (static_cast<Index>(code.shape(0)) != s.size - 1 || code.shape(1) == 0)
    refuse("code must have a row per class and at least one column");
  for (std::size_t k = 0; k < code.size(); ++k)
    if (code.data()[k] < -1 || code.data()[k] > 1) refuse("code must have the entries -1, 0 and 1");
  check_run(tol, max_iter, time_limit);
  if (train.size() != weight.size() || train.size() != test.size()) refuse("every fold needs train, weight and test");
  for (double c : span(C))
    if (!(c > 0)) refuse("C must be positive");
  if (!std::is_sorted(span(C).begin(), span(C).end())) refuse("C must increase");
  CodePaths p;
  p.segments = s, p.code = {code.data(), static_cast<Index>(code.size())}, p.C = span(C);
  p.squared = squared, p.tol = tol, p.max_iter = max_iter;
  Index n_test = 0;
  for (std::size_t f = 0; f < train.size(); ++f) {
    const CodePaths::Fold fold{span(train[f]), span(test[f]), span(weight[f])};
    if (fold.weight.size != fold.train.size) refuse("weight needs one entry per training row");
    for (const Span<const Index>& rows : {fold.train, fold.test}) {
      check_indices(rows, n, "rows of a fold");
      for (Index k = 1; k < rows.size; ++k)
        if (rows[k] <= rows[k - 1]) refuse("rows of a fold must increase");
    }
    for (double w : fold.weight)
      if (!(w > 0)) refuse("weights must be positive");
    n_test += fold.test.size;
    p.folds.push_back(fold);
  }
  auto F = empty<double>("float64", p.columns(), p.C.size, n_test);
  const auto begun = std::chrono::steady_clock::now();
  const auto caller = std::this_thread::get_id();
  bool signalled = false;
  std::atomic<bool> late{false};
  PathReport report;
  {
    const nb::gil_scoped_release free;
    Team team(n_jobs);
    std::atomic<int> turn{0};
    report = run_paths(
        p, K.data(), n, F.data(),
        [&] {
          if (std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count() >= time_limit) {
            late = true;
            return true;
          }
          // Signals arrive in the main thread only, and need not be polled after every small problem.
          if (std::this_thread::get_id() != caller || ++turn % 64 != 0) return false;
          const nb::gil_scoped_acquire gil;
          if (PyErr_CheckSignals() == 0) return false;
          PyErr_Clear();
          return signalled = true;
        },
        team);
  }
  static const char* const names[] = {"solved", "max_iter", "time_limit", "stalled", "interrupted"};
  nb::dict out;
  out["F"] = nb::cast(F);
  out["status"] = signalled ? "interrupted" : late ? "time_limit" : names[static_cast<int>(report.status)];
  out["violation"] = report.violation;
  out["seconds"] = as_vector(report.seconds);
  return out;
}

}  // namespace

void bind_code_paths(nb::module_& m) {
  using namespace nb::literals;
  m.def("code_paths", &code_paths, "K"_a, "segments"_a, "code"_a, "train"_a, "weight"_a, "test"_a, "C"_a, "squared"_a,
        "tol"_a, "max_iter"_a, "time_limit"_a, "n_jobs"_a,
        "Scores F of shape (columns, C, test rows of all folds) and seconds of shape (folds, C) in one vector; see "
        "core/codes/code_paths.hpp.");
}

}  // namespace polymargin
