// Binary machines by code: the solver of all columns on shared kernel values, and their scores.
#include <algorithm>
#include <chrono>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "arguments.hpp"
#include "codes/code_values.hpp"
#include "running.hpp"
#include "scores/code_scores.hpp"

namespace polymargin {
namespace {

using CodeMatrix = nb::ndarray<const std::int8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Pairs = nb::ndarray<const Index, nb::shape<-1, 2>, nb::c_contig, nb::device::cpu>;

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
    const Index columns = static_cast<Index>(matrix.shape(1));
    if (static_cast<Index>(matrix.shape(0)) != p.classes() || columns == 0)
      refuse("code must have a row per class and at least one column");
    for (Index l = 0; l < columns; ++l) {
      for (Index c = 0; c < p.classes(); ++c) {
        const Index m = matrix.data()[c * columns + l];
        if (m < -1 || m > 1) refuse("code must have the entries -1, 0 and 1");
        if (m != 0) p.entries.push_back(m * (c + 1));
      }
      p.offsets.push_back(static_cast<Index>(p.entries.size()));
    }
  } else if (nb::try_cast(code, pairs, false)) {
    p.entries.reserve(pairs.size()), p.offsets.reserve(pairs.shape(0) + 1);
    check_indices({pairs.data(), static_cast<Index>(pairs.size())}, p.classes(), "pairs");
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

void check_segments(Span<const Index> s, Index n) {
  if (s.size < 2 || s[0] != 0 || s[s.size - 1] != n || !std::is_sorted(s.begin(), s.end()))
    refuse("segments must increase from 0 to the number of rows");
}

Coefficients coefficients(const Vector<Index>& offsets, const Vector<Index>& at, const Vector<double>& b, Index columns,
                          Index n) {
  const Coefficients c{span(offsets), span(at), span(b), {}};
  if (c.offsets.size != columns + 1 || c.offsets[0] != 0 || c.offsets[columns] != c.at.size || c.at.size != c.b.size ||
      !std::is_sorted(c.offsets.begin(), c.offsets.end()))
    refuse("indptr must increase from 0 to the number of values, with one entry more than columns");
  check_indices(c.at, n, "indices");
  return c;
}

constexpr double kPacked = 2e7;  // columns of which a model is certainly made in a second, after the solver

// Takes no memory until it is written to.
auto zeros(Index n) {
  return nb::cast<nb::ndarray<double, nb::c_contig, nb::device::cpu>>(nb::module_::import_("numpy").attr("zeros")(n));
}

// From best to worst; a limit that ended some columns takes precedence over how others ended.
constexpr Status kFromBest[] = {Status::solved, Status::stalled, Status::max_iter, Status::time_limit,
                                Status::interrupted};

class CodeSolver {
 public:
  CodeSolver(nb::object X, nb::dict kernel, Vector<Index> rows, Vector<Index> segments, const std::string& dtype,
             double memory, int n_jobs)
      : X_(data_of(X, "X")),
        kernel_(kernel),
        rows_(rows),
        segments_(segments),
        memory_(checked_memory(memory)),
        team_(n_jobs) {
    const Kernel k = kernel_of(kernel_);
    check_pair(X_.data, X_.data, k, span(rows_), span(rows_));
    n_ = span(rows_).size;
    if (n_ == 0) refuse("rows must not be empty");
    check_segments(span(segments_), n_);
    is_double(dtype) ? make(wide_, k) : make(narrow_, k);
  }

  CodeSolver(nb::object values, Vector<Index> segments, int n_jobs) : segments_(segments), team_(n_jobs) {
    const Span<const Index> s = span(segments_);
    if (s.size == 0) refuse("segments must increase from 0 to the number of rows");
    n_ = s[s.size - 1];
    check_segments(s, n_);
    if (!take(wide_, values) && !take(narrow_, values))
      refuse("held kernel values must be a float32 or float64 vector of n * n + 16 elements");
  }

  nb::dict solve(nb::object code, Vector<double> upper, Vector<double> ridge, nb::object start, double tol,
                 Index max_iter, double time_limit, nb::object stop) {
    const auto begun = std::chrono::steady_clock::now();
    CodeProblem p;
    p.segments = span(segments_);
    p.upper = span(upper), p.ridge = span(ridge);
    check_box(p.upper, p.ridge, n_);
    check_run(tol, max_iter, time_limit, stop);
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
      begin = coefficients(offsets, at, b, p.columns(), n_);
      check_numbers(begin.b, -kLargest, kLargest, "values of start");
      if (nb::len(start) == 4) {
        bias = as<Vector<double>>(start[3], "bias of start", "a float64 vector");
        begin.bias = span(bias);
        if (begin.bias.size != p.columns()) refuse("bias of start needs one entry per column");
        check_numbers(begin.bias, -kLargest, kLargest, "bias of start");
      }
    }
    Settings settings;
    settings.tol = tol, settings.max_iter = max_iter, settings.memory = memory_;
    // Millions of columns take time before and after the solver as well.
    const std::chrono::duration<double> listed = std::chrono::steady_clock::now() - begun;
    settings.time_limit = std::max(time_limit - listed.count() - double(p.columns()) / kPacked, 0.0);
    bool signalled = false;
    settings.stop = asking(stop, signalled);
    CodeSolution out;
    {
      const nb::gil_scoped_release free;
      out = wide_ ? wide_->solve(p, begin, settings, team_) : narrow_->solve(p, begin, settings, team_);
    }
    nb::dict result = packed(out, Unbegun(p, wide_ ? wide_->shared().diagonal : narrow_->shared().diagonal, begin));
    result["signalled"] = signalled;
    return result;
  }

  Array scores(Vector<Index> offsets, Vector<Index> at, Vector<double> b, Vector<double> bias, Vector<Index> rows) {
    const CodeModel model{{}, coefficients(offsets, at, b, span(bias).size, n_), span(bias)};
    check_indices(span(rows), n_, "rows");
    return wide_ ? held_scores(wide_->shared(), model, span(rows)) : held_scores(narrow_->shared(), model, span(rows));
  }

  std::uint64_t evaluations() const { return wide_ ? wide_->evaluations() : narrow_->evaluations(); }

 private:
  template <class T>
  void make(std::unique_ptr<CodeValues<T>>& v, const Kernel& k) {
    v = std::make_unique<CodeValues<T>>(std::make_unique<KernelBlocks<T>>(X_.data, X_.data, k), span(rows_), memory_);
  }
  template <class T>
  bool take(std::unique_ptr<CodeValues<T>>& v, nb::handle values) {
    Vector<T> given;
    if (!nb::try_cast(values, given, false) || static_cast<Index>(given.shape(0)) < n_ * n_ + kLanes) return false;
    given_ = nb::borrow(values);
    v = std::make_unique<CodeValues<T>>(given.data(), n_);
    return true;
  }

  // Of columns that were not begun, which may be millions, `rest` is the sum of the primal values; the dual is 0.
  static nb::dict packed(const CodeSolution& solution, Unbegun unbegun) {
    const std::vector<std::unique_ptr<ColumnSolution>>& columns = solution.columns;
    const Index L = static_cast<Index>(columns.size());
    Index stored = 0, n_iter = 0;
    for (Index l = 0; l < L; ++l) stored += columns[l] ? static_cast<Index>(columns[l]->at.size()) : unbegun.size(l);
    auto indptr = empty<Index>("int64", L + 1), indices = empty<Index>("int64", stored);
    auto values = empty<double>("float64", stored), bias = empty<double>("float64", L), primal = zeros(L),
         dual = zeros(L);
    double violation = 0, rest = 0;
    auto rank = [](Status s) {
      return std::find(std::begin(kFromBest), std::end(kFromBest), s) - std::begin(kFromBest);
    };
    std::ptrdiff_t worst = 0;
    Index at = 0, not_begun = 0;
    ColumnSolution idle;
    for (Index l = 0; l < L; ++l) {
      if (!columns[l]) ++not_begun, unbegun.make(l, solution.ended, idle), rest += idle.primal;
      const ColumnSolution& c = columns[l] ? *columns[l] : idle;
      indptr.data()[l] = at;
      std::copy(c.at.begin(), c.at.end(), indices.data() + at);
      std::copy(c.b.begin(), c.b.end(), values.data() + at);
      at += static_cast<Index>(c.at.size());
      bias.data()[l] = c.bias;
      if (columns[l]) primal.data()[l] = c.primal, dual.data()[l] = c.dual;
      violation = std::max(violation, c.violation);
      n_iter += c.n_iter;
      worst = std::max(worst, rank(c.status));
    }
    indptr.data()[L] = at;
    nb::dict result;
    result["indptr"] = indptr, result["indices"] = indices, result["values"] = values;
    result["bias"] = bias, result["primal"] = primal, result["dual"] = dual, result["rest"] = rest;
    result["violation"] = violation, result["n_iter"] = n_iter, result["not_begun"] = not_begun;
    result["status"] = name_of(kFromBest[worst]);
    return result;
  }

  template <class T>
  Array held_scores(const SharedValues<T>& shared, const CodeModel& model, Span<const Index> rows) {
    if (!shared.gram.values) refuse("scores of training rows need kernel values that are held");
    auto out = empty<double>("float64", rows.size, model.columns());
    {
      const nb::gil_scoped_release free;
      const Index L = model.columns();
      constexpr Index few = 64;
      team_.run((rows.size + few - 1) / few, [&](Index task) {
        for (Index r = task * few; r < std::min((task + 1) * few, rows.size); ++r) {
          const T* k = shared.gram.values + rows[r] * shared.gram.ld;
          for (Index l = 0; l < L; ++l) {
            const Span<const Index> at = model.coef.rows(l);
            const Span<const double> b = model.coef.values(l);
            double f = model.bias[l];
            for (Index e = 0; e < at.size; ++e) f += b[e] * k[at[e]];
            out.data()[r * L + l] = f;
          }
        }
      });
    }
    return nb::cast(out);
  }

  HeldData X_;
  nb::dict kernel_;
  Vector<Index> rows_, segments_;
  Index n_ = 0;
  double memory_ = 0;
  Team team_;
  nb::object given_;  // holds what the values point to
  std::unique_ptr<CodeValues<double>> wide_;
  std::unique_ptr<CodeValues<float>> narrow_;
};

// ---- scores of new rows ----

struct ScoreArguments {
  HeldData Z, SV;
  Kernel kernel;
  CodeModel model;
};

ScoreArguments arguments(nb::handle Z, nb::handle SV, const nb::dict& kernel, const Vector<Index>& sv_rows,
                         const Vector<Index>& indptr, const Vector<Index>& indices, const Vector<double>& values,
                         const Vector<double>& bias) {
  ScoreArguments a;
  a.kernel = kernel_of(kernel);
  a.Z = data_of(Z, "Z");
  const bool given = a.kernel.kind == KernelKind::precomputed;
  a.SV = SV.is_none() && given ? a.Z : data_of(SV, "SV");
  a.model.sv_rows = span(sv_rows);
  check_indices(a.model.sv_rows, given ? a.Z.data.d : a.SV.data.n, "sv_rows");
  if (!given && a.kernel.kind != KernelKind::callable && a.Z.data.d != a.SV.data.d)
    refuse("expected rows with " + std::to_string(a.SV.data.d) + " features, got " + std::to_string(a.Z.data.d));
  a.model.bias = span(bias);
  a.model.coef = coefficients(indptr, indices, values, a.model.bias.size, a.model.sv_rows.size);
  return a;
}

void check_pairs(const CodeModel& model, Index classes) {
  if (classes < 2 || !is_product(2 * model.columns(), classes, classes - 1)) refuse("pairs need one column each");
}

Array scores_of(nb::object Z, nb::object SV, nb::dict kernel, Vector<Index> sv_rows, Vector<Index> indptr,
                Vector<Index> indices, Vector<double> values, Vector<double> bias, const std::string& dtype,
                int n_jobs) {
  const ScoreArguments a = arguments(Z, SV, kernel, sv_rows, indptr, indices, values, bias);
  auto compute = is_double(dtype) ? code_scores<double> : code_scores<float>;
  const Index L = a.model.columns();
  auto out = empty<double>("float64", a.Z.data.n, L);
  in_batches(a.Z.data, a.kernel, n_jobs, [&](const Data& rows, Index first, Team& team) {
    compute(rows, a.SV.data, a.kernel, a.model, out.data() + first * L, team);
  });
  return nb::cast(out);
}

Array votes_of(nb::object Z, nb::object SV, nb::dict kernel, Vector<Index> sv_rows, Vector<Index> indptr,
               Vector<Index> indices, Vector<double> values, Vector<double> bias, Index classes,
               const std::string& dtype, int n_jobs) {
  const ScoreArguments a = arguments(Z, SV, kernel, sv_rows, indptr, indices, values, bias);
  check_pairs(a.model, classes);
  auto compute = is_double(dtype) ? pair_votes<double> : pair_votes<float>;
  auto out = empty<double>("float64", a.Z.data.n, classes);
  in_batches(a.Z.data, a.kernel, n_jobs, [&](const Data& rows, Index first, Team& team) {
    compute(rows, a.SV.data, a.kernel, a.model, classes, out.data() + first * classes, team);
  });
  return nb::cast(out);
}

Array winners_of(nb::object Z, nb::object SV, nb::dict kernel, Vector<Index> sv_rows, Vector<Index> indptr,
                 Vector<Index> indices, Vector<double> values, Vector<double> bias, Index classes,
                 const std::string& dtype, int n_jobs) {
  const ScoreArguments a = arguments(Z, SV, kernel, sv_rows, indptr, indices, values, bias);
  check_pairs(a.model, classes);
  auto compute = is_double(dtype) ? dag_winners<double> : dag_winners<float>;
  auto out = empty<Index>("int64", a.Z.data.n);
  in_batches(a.Z.data, a.kernel, n_jobs, [&](const Data& rows, Index first, Team& team) {
    compute(rows, a.SV.data, a.kernel, a.model, classes, out.data() + first, team);
  });
  return nb::cast(out);
}

}  // namespace

void bind_codes(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<CodeSolver>(m, "CodeSolver", "Solves the columns of code matrices on one set of rows, sorted by class.")
      .def(nb::init<nb::object, nb::dict, Vector<Index>, Vector<Index>, const std::string&, double, int>(), "X"_a,
           "kernel"_a, "rows"_a, "segments"_a, "dtype"_a, "memory"_a, "n_jobs"_a)
      .def_static(
          "held",
          [](nb::object values, Vector<Index> segments, int n_jobs) {
            return new CodeSolver(values, segments, n_jobs);
          },
          nb::rv_policy::take_ownership, "values"_a, "segments"_a, "n_jobs"_a,
          "On given kernel values: a vector of n * n + 16 elements, row after row, used without a copy.")
      .def("solve", &CodeSolver::solve, "code"_a, "upper"_a, "ridge"_a, "start"_a.none(), "tol"_a, "max_iter"_a,
           "time_limit"_a, "stop"_a.none(),
           "Minimize; see core/codes/code_problem.hpp. code may be 'all pairs'. start is None or (indptr, indices, "
           "values) of an earlier "
           "solution, and its bias for columns that there is no time to begin.")
      .def("scores", &CodeSolver::scores, "indptr"_a, "indices"_a, "values"_a, "bias"_a, "rows"_a,
           "Scores of all columns for some of the sorted rows, from held kernel values.")
      .def_prop_ro("evaluations", &CodeSolver::evaluations, "Kernel values computed so far.");
  m.def("code_scores", &scores_of, "Z"_a, "SV"_a.none(), "kernel"_a, "sv_rows"_a, "indptr"_a, "indices"_a, "values"_a,
        "bias"_a, "dtype"_a = "float32", "n_jobs"_a = 1, "Scores of all columns, shape (len(Z), n_columns).");
  m.def("pair_votes", &votes_of, "Z"_a, "SV"_a.none(), "kernel"_a, "sv_rows"_a, "indptr"_a, "indices"_a, "values"_a,
        "bias"_a, "classes"_a, "dtype"_a = "float32", "n_jobs"_a = 1,
        "Votes of all pairs with the tie-break of core/scores/code_scores.hpp, shape (len(Z), classes).");
  m.def("dag_winners", &winners_of, "Z"_a, "SV"_a.none(), "kernel"_a, "sv_rows"_a, "indptr"_a, "indices"_a, "values"_a,
        "bias"_a, "classes"_a, "dtype"_a = "float32", "n_jobs"_a = 1,
        "The class at the end of each row's way through the decision graph, shape (len(Z),).");
}

}  // namespace polymargin
