// Binary machines by code: the solver of all columns on shared kernel values, and cross-validation.
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "codes/code_paths.hpp"
#include "codes/code_values.hpp"
#include "running.hpp"
#include "training_rows.hpp"

namespace polymargin {
namespace {

using CodeMatrix = Matrix<std::int8_t>;
using Pairs = nb::ndarray<const Index, nb::shape<-1, 2>, nb::c_contig, nb::device::cpu>;

void check_code(const CodeMatrix& code, Index classes) {
  if (length(code, 0) != classes || code.shape(1) == 0)
    refuse("code must have a row per class and at least one column");
  for (int m : span(code))
    if (m < -1 || m > 1) refuse("code must have the entries -1, 0 and 1");
}

// A code is an int8 matrix with a row per class, an int64 array of pairs of classes, (first, second) for (1, -1), or
// "all pairs".
void set_columns(nb::handle code, CodeProblem& p) {
  CodeMatrix matrix;
  Pairs pairs;
  p.offsets = {0};
  p.all_pairs = nb::isinstance<nb::str>(code) && nb::cast<std::string>(code) == "all pairs";
  if (p.all_pairs) {
    if (p.classes() < 2) refuse("pairs need two classes");
  } else if (nb::try_cast(code, matrix, false)) {
    check_code(matrix, p.classes());
    const Index columns = length(matrix, 1);
    for (Index l = 0; l < columns; ++l) {
      for (Index c = 0; c < p.classes(); ++c) {
        const Index m = matrix.data()[c * columns + l];
        if (m != 0) p.entries.push_back(m * (c + 1));
      }
      p.offsets.push_back(static_cast<Index>(p.entries.size()));
    }
  } else if (nb::try_cast(code, pairs, false)) {
    p.entries.reserve(pairs.size()), p.offsets.reserve(pairs.shape(0) + 1);
    check_indices(span(pairs), p.classes(), "pairs");
    for (std::size_t l = 0; l < pairs.shape(0); ++l) {
      const Index first = pairs.data()[2 * l] + 1, second = -(pairs.data()[2 * l + 1] + 1);
      if (first == -second) refuse("a pair needs two classes");
      p.entries.push_back(first < -second ? first : second);
      p.entries.push_back(first < -second ? second : first);
      p.offsets.push_back(static_cast<Index>(p.entries.size()));
    }
  } else {
    refuse("code must be an int8 matrix of -1, 0 and 1, an int64 array of pairs or 'all pairs'");
  }
}

constexpr double kPacked = 2e7;  // columns of which a model is certainly made in a second, after the solver

// From best to worst; a limit that ended some columns takes precedence over how others ended.
constexpr Status kFromBest[] = {Status::solved, Status::stalled, Status::max_iter, Status::time_limit,
                                Status::interrupted};

class CodeSolver {
 public:
  CodeSolver(nb::object X, nb::dict kernel, Vector<Index> rows, Vector<Index> segments, const std::string& dtype,
             double memory, int n_jobs)
      : of_(X, kernel, rows, memory, n_jobs), segments_(segments) {
    check_offsets(span(segments_), of_.rows().size, "segments", "rows");
    values_ = made<CodeValues>(dtype, of_.data(), of_.kernel(), of_.rows(), of_.memory);
  }

  nb::dict solve(nb::object code, Vector<double> upper, Vector<double> ridge, nb::object start, double tol,
                 Index max_iter, double time_limit, nb::object stop) {
    const Index n = of_.rows().size;
    CodeProblem p;
    p.segments = span(segments_);
    p.upper = span(upper), p.ridge = span(ridge);
    check_box(p.upper, p.ridge, n);
    Run run(tol, max_iter, time_limit, stop);
    set_columns(code, p);
    Vector<Index> offsets, at;
    Vector<double> b, bias;
    Coefficients begin;
    if (!start.is_none()) {
      if (!nb::isinstance<nb::tuple>(start) || nb::len(start) < 3 || nb::len(start) > 4)
        refuse("start must be None, (indptr, indices, values) or (indptr, indices, values, bias)");
      offsets = as<Vector<Index>>(start[0], "indptr of start", "an int64 vector");
      at = as<Vector<Index>>(start[1], "indices of start", "an int64 vector");
      b = as<Vector<double>>(start[2], "values of start", "a float64 vector");
      begin = {span(offsets), span(at), span(b), {}};
      check_columns(begin.offsets, begin.at, begin.b, p.columns(), n);
      check_numbers(begin.b, -kLargest, kLargest, "values of start");
      if (nb::len(start) == 4) {
        bias = as<Vector<double>>(start[3], "bias of start", "a float64 vector");
        begin.bias = span(bias);
        if (begin.bias.size != p.columns()) refuse("bias of start needs one entry per column");
        check_numbers(begin.bias, -kLargest, kLargest, "bias of start");
      }
    }
    run.settings.memory = of_.memory;
    run.charge(0);
    // Millions of columns take time after the solver as well.
    run.settings.time_limit = std::max(run.settings.time_limit - double(p.columns()) / kPacked, 0.0);
    const auto by = [&](auto& values) { return values->solve(p, begin, run.settings, of_.team); };
    const CodeSolution out = without_gil([&] { return std::visit(by, values_); });
    const auto diagonal = [](auto& values) -> const auto& { return values->shared().diagonal; };
    nb::dict result = packed(out, Unbegun(p, std::visit(diagonal, values_), begin));
    result["signalled"] = run.signalled;
    return result;
  }

  std::uint64_t evaluations() const {
    return std::visit([](const auto& values) { return values->evaluations(); }, values_);
  }

 private:
  // Primal and dual values are those of the columns `begun`. Of the others, which may be millions, `rest` is the sum of
  // the primal values, and the dual is 0.
  static nb::dict packed(const CodeSolution& solution, const Unbegun& unbegun) {
    Index stored = 0;
    for (Index l = 0; l < static_cast<Index>(solution.columns.size()); ++l)
      stored += solution.columns[l] ? static_cast<Index>(solution.columns[l]->at.size()) : unbegun.size(l);
    return stored <= std::numeric_limits<std::int32_t>::max() ? packed_in<std::int32_t>(solution, unbegun, stored)
                                                              : packed_in<Index>(solution, unbegun, stored);
  }

  // As SciPy keeps it: it copies offsets and indices that are not of one type.
  template <class I>
  static nb::dict packed_in(const CodeSolution& solution, Unbegun unbegun, Index stored) {
    const std::vector<std::unique_ptr<ColumnSolution>>& columns = solution.columns;
    const Index L = static_cast<Index>(columns.size()),
                n_begun = L - std::count(columns.begin(), columns.end(), nullptr);
    auto indptr = empty<I>(L + 1), indices = empty<I>(stored);
    auto begun = empty<Index>(n_begun);
    auto values = empty<double>(stored), bias = empty<double>(L);
    auto primal = empty<double>(n_begun), dual = empty<double>(n_begun);
    double violation = 0, rest = 0;
    auto rank = [](Status s) {
      return std::find(std::begin(kFromBest), std::end(kFromBest), s) - std::begin(kFromBest);
    };
    std::ptrdiff_t worst = 0;
    Index at = 0, n_iter = 0, k = 0;
    ColumnSolution idle;
    for (Index l = 0; l < L; ++l) {
      if (!columns[l]) unbegun.make(l, solution.ended, idle), rest += idle.primal;
      const ColumnSolution& c = columns[l] ? *columns[l] : idle;
      indptr.data()[l] = static_cast<I>(at);
      std::copy(c.at.begin(), c.at.end(), indices.data() + at);
      std::copy(c.b.begin(), c.b.end(), values.data() + at);
      at += static_cast<Index>(c.at.size());
      bias.data()[l] = c.bias;
      if (columns[l]) begun.data()[k] = l, primal.data()[k] = c.primal, dual.data()[k++] = c.dual;
      violation = std::max(violation, c.violation);
      n_iter += c.n_iter;
      worst = std::max(worst, rank(c.status));
    }
    indptr.data()[L] = static_cast<I>(at);
    nb::dict result;
    result["indptr"] = indptr, result["indices"] = indices, result["values"] = values, result["bias"] = bias;
    result["begun"] = begun, result["primal"] = primal, result["dual"] = dual, result["rest"] = rest;
    result["violation"] = violation, result["n_iter"] = n_iter, result["not_begun"] = L - n_begun;
    result["status"] = name_of(kFromBest[worst]);
    return result;
  }

  TrainingRows of_;
  Vector<Index> segments_;
  FloatOrDouble<CodeValues> values_;
};

// ---- cross-validation ----

nb::dict code_paths(Matrix<double> K, Vector<Index> segments, CodeMatrix code, const std::vector<Vector<Index>>& train,
                    const std::vector<Vector<double>>& weight, const std::vector<Vector<Index>>& test, Vector<double> C,
                    bool squared, double tol, Index max_iter, double time_limit, int n_jobs) {
  const Index n = length(K, 0);
  if (!is_shape(K, n, n)) refuse("K must be square");
  check_offsets(span(segments), n, "segments", "rows");
  check_code(code, span(segments).size - 1);
  Run run(tol, max_iter, time_limit);
  if (train.size() != weight.size() || train.size() != test.size()) refuse("every fold needs train, weight and test");
  check_numbers(span(C), kSmallest, kInfinite, "C");
  if (!std::is_sorted(span(C).begin(), span(C).end())) refuse("C must increase");
  CodePaths p;
  p.segments = span(segments), p.code = span(code), p.C = span(C);
  p.squared = squared, p.tol = tol, p.max_iter = max_iter;
  Index n_test = 0;
  for (std::size_t f = 0; f < train.size(); ++f) {
    const CodePaths::Fold fold{span(train[f]), span(test[f]), span(weight[f])};
    if (fold.weight.size != fold.train.size) refuse("weight needs one entry per training row");
    for (const Span<const Index>& rows : {fold.train, fold.test}) {
      check_indices(rows, n, "rows of a fold");
      check_increasing(rows, "rows of a fold");
    }
    check_numbers(fold.weight, kSmallest, kInfinite, "weight");
    n_test += fold.test.size;
    p.folds.push_back(fold);
  }
  auto F = empty<double>(p.columns(), p.C.size, n_test);
  run.settings.max_iter = std::numeric_limits<Index>::max();  // `max_iter` is that of one path
  TeamWatch watch(run.settings);
  PathReport report = without_gil([&] {
    Team team(n_jobs);
    return run_paths(p, K.data(), n, F.data(), std::ref(watch), team);
  });
  nb::dict out;
  out["F"] = nb::cast(F);
  out["status"] = name_of(watch.status(report.status));
  out["violation"] = report.violation;
  out["seconds"] = as_vector(std::move(report.seconds));
  return out;
}

}  // namespace

void bind_codes(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<CodeSolver>(m, "CodeSolver", "Solves the columns of code matrices on one set of rows, sorted by class.")
      .def(nb::init<nb::object, nb::dict, Vector<Index>, Vector<Index>, const std::string&, double, int>(), "X"_a,
           "kernel"_a, "rows"_a, "segments"_a, "dtype"_a, "memory"_a, "n_jobs"_a)
      .def("solve", &CodeSolver::solve, "code"_a, "upper"_a, "ridge"_a, "start"_a.none(), "tol"_a, "max_iter"_a,
           "time_limit"_a, "stop"_a.none(),
           "Minimize; see core/codes/code_problem.hpp. code may be 'all pairs'. start is None or (indptr, indices, "
           "values) of an earlier solution, and its bias for columns that there is no time to begin.")
      .def_prop_ro("evaluations", &CodeSolver::evaluations, "Kernel values computed so far.");
  m.def("code_paths", &code_paths, "K"_a, "segments"_a, "code"_a, "train"_a, "weight"_a, "test"_a, "C"_a, "squared"_a,
        "tol"_a, "max_iter"_a, "time_limit"_a, "n_jobs"_a,
        "Scores F of shape (columns, C, test rows of all folds) and seconds of shape (folds, C) in one vector; see "
        "core/codes/code_paths.hpp.");
}

}  // namespace polymargin
