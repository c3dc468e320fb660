// Scores and predictions.
#include <algorithm>
#include <string>

#include "arguments.hpp"
#include "running.hpp"
#include "scores/expansion.hpp"

namespace polymargin {
namespace {

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

Array all_scores(nb::object Z, nb::object SV, nb::dict kernel, Vector<Index> sv_rows, Vector<Index> segments,
                 Vector<double> alpha, Vector<double> intercept, const std::string& dtype, int n_jobs) {
  const ScoreArguments a = score_arguments(Z, SV, kernel, sv_rows, segments, alpha, intercept, dtype);
  const Index classes = a.intercept.size;
  auto out = empty<double>("float64", a.Z.data.n, classes);
  in_batches(a.Z.data, a.kernel, n_jobs, [&](const Data& rows, Index first, Team& team) {
    auto compute = a.wide ? scores<double> : scores<float>;
    compute(rows, a.SV.data, a.kernel, a.sv_rows, a.segments, a.alpha, a.intercept, out.data() + first * classes, team,
            nullptr);
  });
  return nb::cast(out);
}

Array best_classes(nb::object Z, nb::object SV, nb::dict kernel, Vector<Index> sv_rows, Vector<Index> segments,
                   Vector<double> alpha, Vector<double> intercept, const std::string& dtype, int n_jobs) {
  const ScoreArguments a = score_arguments(Z, SV, kernel, sv_rows, segments, alpha, intercept, dtype);
  auto out = empty<Index>("int64", a.Z.data.n);
  in_batches(a.Z.data, a.kernel, n_jobs, [&](const Data& rows, Index first, Team& team) {
    auto compute = a.wide ? argmax_scores<double> : argmax_scores<float>;
    compute(rows, a.SV.data, a.kernel, a.sv_rows, a.segments, a.alpha, a.intercept, out.data() + first, team, nullptr);
  });
  return nb::cast(out);
}

Array own_class_scores(nb::object Z, nb::object SV, nb::dict kernel, Vector<Index> sv_rows, Vector<Index> segments,
                       Vector<double> alpha, Vector<double> intercept, Vector<Index> labels, double same, double other,
                       const std::string& dtype, int n_jobs) {
  const ScoreArguments a = score_arguments(Z, SV, kernel, sv_rows, segments, alpha, intercept, dtype);
  const Span<const Index> own = span(labels);
  if (own.size != a.Z.data.n) refuse("labels needs one entry per row");
  check_indices(own, a.intercept.size, "labels");
  auto out = empty<double>("float64", a.Z.data.n);
  in_batches(a.Z.data, a.kernel, n_jobs, [&](const Data& rows, Index first, Team& team) {
    auto compute = a.wide ? own_scores<double> : own_scores<float>;
    compute(rows, a.SV.data, a.kernel, a.sv_rows, a.segments, a.alpha, a.intercept, own.sub(first, first + rows.n),
            same, other, out.data() + first, team, nullptr);
  });
  return nb::cast(out);
}

}  // namespace

void bind_scores(nb::module_& m) {
  using namespace nb::literals;
  m.def("scores", &all_scores, "Z"_a, "SV"_a.none(), "kernel"_a, "sv_rows"_a, "segments"_a, "alpha"_a, "intercept"_a,
        "dtype"_a = "float32", "n_jobs"_a = 1,
        "f[i, c] = sum over class c of alpha_j k(x_j, z_i) + b_c, shape (len(Z), n_classes). Without segments alpha is "
        "the matrix of classes and support vectors, row by row.");
  m.def("argmax_scores", &best_classes, "Z"_a, "SV"_a.none(), "kernel"_a, "sv_rows"_a, "segments"_a, "alpha"_a,
        "intercept"_a, "dtype"_a = "float32", "n_jobs"_a = 1,
        "The class with the largest score, the smaller one of equals, shape (len(Z),).");
  m.def("own_scores", &own_class_scores, "Z"_a, "SV"_a.none(), "kernel"_a, "sv_rows"_a, "segments"_a, "alpha"_a,
        "intercept"_a, "labels"_a, "same"_a, "other"_a, "dtype"_a = "float32", "n_jobs"_a = 1,
        "same f[i, labels[i]] + other (the sum of the other classes' scores), shape (len(Z),).");
}

}  // namespace polymargin
