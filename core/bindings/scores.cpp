// Scores and predictions: of expansions with coefficients per class, and of binary machines by code.
#include <algorithm>
#include <chrono>
#include <string>

#include "arguments.hpp"
#include "scores/code_scores.hpp"
#include "scores/expansion.hpp"

namespace polymargin {
namespace {

// New rows Z, and the rows sv_rows of SV that a model has coefficients for.
struct Rows {
  Rows(nb::handle new_rows, nb::handle model_rows, const nb::dict& parameters, const Vector<Index>& used)
      : kernel(kernel_of(parameters)), Z(data_of(new_rows, "Z")), n_sv(span(used).size) {
    const bool given = kernel.kind == KernelKind::precomputed;
    SV = model_rows.is_none() && given ? Z : data_of(model_rows, "SV");
    check_indices(span(used), given ? Z.data.d : SV.data.n, "sv_rows");
    if (!given && kernel.kind != KernelKind::callable && Z.data.d != SV.data.d)
      refuse("expected rows with " + std::to_string(SV.data.d) + " features, got " + std::to_string(Z.data.d));
  }

  // compute(rows of Z, first row, where their part of `out` begins, team) over batches of rows; signals are polled
  // between them. The first one takes some hundredths of a second, and they grow until one takes a tenth: each of them
  // prepares the support vectors again, and a signal should not wait long. Results must not depend on the batch. A
  // callable counts rows from the first of Z, and Python polls signals for it: one batch.
  template <class Out, class Compute>
  Array in_batches(Out out, int threads, const Compute& compute) const {
    using Clock = std::chrono::steady_clock;
    Team team(threads);
    const Index n = Z.data.n, width = n ? static_cast<Index>(out.size()) / n : 0;
    const Index quick = static_cast<Index>(1e9 / (double(n_sv + 1) * double(Z.data.d + 16)));
    Index batch = kernel.kind == KernelKind::callable ? n : std::max(quick, Index(256)) * team.size();
    for (Index from = 0, to = 0; from < n; from = to) {
      if (from > 0 && PyErr_CheckSignals() != 0) throw nb::python_error();
      to = std::min(from + batch, n);
      const nb::gil_scoped_release free;
      const Clock::time_point start = Clock::now();
      compute(rows_of(Z.data, from, to), from, out.data() + from * width, team);
      if (Clock::now() - start < std::chrono::milliseconds(100)) batch *= 4;
    }
    return nb::cast(out);
  }

  Kernel kernel;
  HeldData Z, SV;
  Index n_sv;
};

// ---- coefficients per class ----

struct ExpandedRows : Rows {
  ExpandedRows(nb::handle Z, nb::handle SV, const nb::dict& kernel, const Vector<Index>& sv_rows,
               const Vector<Index>& offsets, const Vector<double>& coefficients, const Vector<double>& b)
      : Rows(Z, SV, kernel, sv_rows),
        model{{this->SV.data, this->kernel, span(sv_rows)}, span(offsets), span(coefficients), span(b)} {
    const Index n = model.sv_rows.size;
    if (model.segments.size == 0) {
      if (model.classes() < 1 || model.alpha.size != model.classes() * n)
        refuse("without segments, alpha needs one entry per class and support vector");
      return;
    }
    if (model.alpha.size != n) refuse("alpha and sv_rows must have the same length");
    check_offsets(model.segments, n, "segments", "support vectors");
    if (model.classes() != model.segments.size - 1) refuse("segments must have one entry more than intercept");
  }

  const Expansion model;
};

Array all_scores(nb::object Z, nb::object SV, nb::dict kernel, Vector<Index> sv_rows, Vector<Index> segments,
                 Vector<double> alpha, Vector<double> intercept, const std::string& dtype, int n_jobs) {
  const ExpandedRows a(Z, SV, kernel, sv_rows, segments, alpha, intercept);
  auto compute = is_double(dtype) ? scores<double> : scores<float>;
  auto out = empty<double>(a.Z.data.n, a.model.classes());
  return a.in_batches(out, n_jobs,
                      [&](const Data& rows, Index, double* f, Team& team) { compute(rows, a.model, f, team); });
}

Array best_classes(nb::object Z, nb::object SV, nb::dict kernel, Vector<Index> sv_rows, Vector<Index> segments,
                   Vector<double> alpha, Vector<double> intercept, const std::string& dtype, int n_jobs) {
  const ExpandedRows a(Z, SV, kernel, sv_rows, segments, alpha, intercept);
  auto compute = is_double(dtype) ? argmax_scores<double> : argmax_scores<float>;
  return a.in_batches(empty<Index>(a.Z.data.n), n_jobs,
                      [&](const Data& rows, Index, Index* best, Team& team) { compute(rows, a.model, best, team); });
}

Array own_class_scores(nb::object Z, nb::object SV, nb::dict kernel, Vector<Index> sv_rows, Vector<Index> segments,
                       Vector<double> alpha, Vector<double> intercept, Vector<Index> labels, double same, double other,
                       const std::string& dtype, int n_jobs) {
  const ExpandedRows a(Z, SV, kernel, sv_rows, segments, alpha, intercept);
  const Span<const Index> own = span(labels);
  if (own.size != a.Z.data.n) refuse("labels needs one entry per row");
  check_indices(own, a.model.classes(), "labels");
  auto compute = is_double(dtype) ? own_scores<double> : own_scores<float>;
  return a.in_batches(empty<double>(a.Z.data.n), n_jobs, [&](const Data& rows, Index first, double* f, Team& team) {
    compute(rows, a.model, own.sub(first, first + rows.n), same, other, f, team);
  });
}

// ---- columns of a code ----

struct CodeColumns : Rows {
  CodeColumns(nb::handle Z, nb::handle SV, const nb::dict& kernel, const Vector<Index>& sv_rows,
              const Vector<Index>& indptr, const Vector<Index>& indices, const Vector<double>& values,
              const Vector<double>& bias)
      : Rows(Z, SV, kernel, sv_rows),
        model{
            {this->SV.data, this->kernel, span(sv_rows)}, {span(indptr), span(indices), span(values), {}}, span(bias)} {
    check_columns(model.coef.offsets, model.coef.at, model.coef.b, model.columns(), model.sv_rows.size);
  }

  const CodeModel model;
};

Array scores_of(nb::object Z, nb::object SV, nb::dict kernel, Vector<Index> sv_rows, Vector<Index> indptr,
                Vector<Index> indices, Vector<double> values, Vector<double> bias, const std::string& dtype,
                int n_jobs) {
  const CodeColumns a(Z, SV, kernel, sv_rows, indptr, indices, values, bias);
  auto compute = is_double(dtype) ? code_scores<double> : code_scores<float>;
  auto out = empty<double>(a.Z.data.n, a.model.columns());
  return a.in_batches(out, n_jobs,
                      [&](const Data& rows, Index, double* f, Team& team) { compute(rows, a.model, f, team); });
}

// Of one-versus-one.
struct PairColumns : CodeColumns {
  template <class... Model>
  PairColumns(Index classes, const Model&... model) : CodeColumns(model...) {
    if (classes < 2 || !is_product(2 * this->model.columns(), classes, classes - 1))
      refuse("pairs need one column each");
  }
};

Array votes_of(nb::object Z, nb::object SV, nb::dict kernel, Vector<Index> sv_rows, Vector<Index> indptr,
               Vector<Index> indices, Vector<double> values, Vector<double> bias, Index classes, double doubt,
               const std::string& dtype, int n_jobs) {
  const PairColumns a(classes, Z, SV, kernel, sv_rows, indptr, indices, values, bias);
  const auto compute = is_double(dtype) ? pair_votes<double> : pair_votes<float>;
  return a.in_batches(
      empty<double>(a.Z.data.n, classes), n_jobs,
      [&](const Data& rows, Index, double* votes, Team& team) { compute(rows, a.model, classes, doubt, votes, team); });
}

Array winners_of(nb::object Z, nb::object SV, nb::dict kernel, Vector<Index> sv_rows, Vector<Index> indptr,
                 Vector<Index> indices, Vector<double> values, Vector<double> bias, Index classes,
                 const std::string& dtype, int n_jobs) {
  const PairColumns a(classes, Z, SV, kernel, sv_rows, indptr, indices, values, bias);
  const auto compute = is_double(dtype) ? dag_winners<double> : dag_winners<float>;
  return a.in_batches(empty<Index>(a.Z.data.n), n_jobs, [&](const Data& rows, Index, Index* winner, Team& team) {
    compute(rows, a.model, classes, winner, team);
  });
}

}  // namespace

void bind_scores(nb::module_& m) {
  using namespace nb::literals;
  const auto def = [&](const char* name, auto function, const char* text, const auto&... model) {
    m.def(name, function, "Z"_a, "SV"_a.none(), "kernel"_a, "sv_rows"_a, model..., "dtype"_a = "float32",
          "n_jobs"_a = 1, text);
  };
  def("scores", &all_scores,
      "f[i, c] = sum over class c of alpha_j k(x_j, z_i) + b_c, shape (len(Z), n_classes). Without segments alpha is "
      "the matrix of classes and support vectors, row by row.",
      "segments"_a, "alpha"_a, "intercept"_a);
  def("argmax_scores", &best_classes, "The class with the largest score, the smaller one of equals, shape (len(Z),).",
      "segments"_a, "alpha"_a, "intercept"_a);
  def("own_scores", &own_class_scores,
      "same f[i, labels[i]] + other (the sum of the other classes' scores), shape (len(Z),).", "segments"_a, "alpha"_a,
      "intercept"_a, "labels"_a, "same"_a, "other"_a);
  def("code_scores", &scores_of, "Scores of all columns, shape (len(Z), n_columns).", "indptr"_a, "indices"_a,
      "values"_a, "bias"_a);
  def("pair_votes", &votes_of,
      "Votes of all pairs with the tie-break of core/scores/code_scores.hpp, shape (len(Z), classes). "
      "Rows with a score of a pair below `doubt` get NaN.",
      "indptr"_a, "indices"_a, "values"_a, "bias"_a, "classes"_a, "doubt"_a = 0.0);
  def("dag_winners", &winners_of, "The class at the end of each row's way through the decision graph, shape (len(Z),).",
      "indptr"_a, "indices"_a, "values"_a, "bias"_a, "classes"_a);
}

}  // namespace polymargin
