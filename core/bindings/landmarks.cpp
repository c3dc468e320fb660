// Passes over rows in the space of landmarks.
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "landmarks/curvature.hpp"
#include "landmarks/landmark_pass.hpp"
#include "running.hpp"

namespace polymargin {
namespace {

using Floats = nb::ndarray<float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

constexpr Index kMostClasses = Index(1) << 24;  // weights of all classes are made at once

class LandmarkRows {
 public:
  LandmarkRows(nb::object X, nb::object Z, nb::dict kernel, Vector<Index> landmarks, Vector<Index> rows,
               Vector<Index> label, Vector<double> strength, Index classes, const std::string& reference,
               double own_target, bool others, bool capped, double square, const std::string& dtype, double memory,
               int n_jobs)
      : X_(data_of(X, "X")),
        Z_(data_of(Z, "Z")),
        kernel_(kernel),
        landmarks_(landmarks),
        rows_(rows),
        label_(label),
        strength_(strength),
        team_(n_jobs) {
    const Kernel k = kernel_of(kernel_);
    p_.rows = span(rows_), p_.label = span(label_), p_.strength = span(strength_), p_.loss.classes = classes;
    check_pair(Z_.data, X_.data, k, span(landmarks_), p_.rows);
    if (p_.label.size != p_.rows.size || p_.strength.size != p_.rows.size)
      refuse("label and strength need one entry per row");
    if (span(landmarks_).size == 0) refuse("landmarks must not be empty");
    check_indices(p_.label, classes, "label");
    if (classes > kMostClasses) refuse("there can be no more than 2^24 classes");
    check_numbers(p_.strength, kSmallest, kLargest, "strength");
    p_.loss.reference = reference_of(reference);
    p_.loss.own_target = checked(own_target, 0, kLargest, "own_target"), p_.loss.others = others;
    p_.loss.square = checked(square, 0, kLargest, "square"), p_.loss.capped = capped;
    if (capped && square > 0) refuse("a squared loss has no cap");
    pass_ = made<LandmarkPass>(dtype, p_, Z_.data, X_.data, k, span(landmarks_), checked_memory(memory));
  }

  nb::dict sums(Index from, Index to, Vector<double> U, Vector<double> b, double smoothing, Floats curvature) {
    check_point(U, b, smoothing);
    if (from < 0 || to < from || to > p_.rows.size || from % kTile != 0) refuse("expected a range of whole tiles");
    if (length(curvature, 0) != to - from) refuse("curvature needs one entry per row");
    const auto by = [&](auto& pass) {
      return pass->sums(from, to, U.data(), b.data(), smoothing, curvature.data(), team_);
    };
    LandmarkSums out = without_gil([&] { return std::visit(by, pass_); });
    nb::dict result;
    result["loss"] = out.losses.loss, result["smooth"] = out.losses.smooth, result["linear"] = out.losses.linear;
    result["G"] = as_vector(std::move(out.G)), result["g"] = as_vector(std::move(out.g));
    return result;
  }

  nb::tuple some(Vector<Index> which, Vector<double> U, Vector<double> b, double smoothing) {
    check_point(U, b, smoothing);
    check_indices(span(which), p_.rows.size, "which");
    return std::visit([&](auto& pass) { return some_by(*pass, span(which), U, b, smoothing); }, pass_);
  }

  std::uint64_t evaluations() const {
    return std::visit([](const auto& pass) { return pass->evaluations(); }, pass_);
  }

 private:
  static constexpr Index kTile = LandmarkPass<float>::kTile;

  template <class T>
  nb::tuple some_by(LandmarkPass<T>& pass, Span<const Index> which, const Vector<double>& U, const Vector<double>& b,
                    double smoothing) {
    auto K = empty<T>(span(landmarks_).size, which.size);
    auto a = empty<double>(which.size, p_.loss.classes);
    without_gil([&] { pass.some(which, U.data(), b.data(), smoothing, K.data(), a.data(), team_); });
    return nb::make_tuple(K, a);
  }

  void check_point(const Vector<double>& U, const Vector<double>& b, double smoothing) const {
    if (!is_product(span(U).size, p_.loss.classes, span(landmarks_).size) || span(b).size != p_.loss.classes)
      refuse("U needs one entry per class and landmark, b one per class");
    check_numbers(span(U), -kLargest, kLargest, "U");
    check_numbers(span(b), -kLargest, kLargest, "b");
    checked(smoothing, kSmallest, kLargest, "smoothing");
  }

  HeldData X_, Z_;
  nb::dict kernel_;
  Vector<Index> landmarks_, rows_, label_;
  Vector<double> strength_;
  Team team_;
  LandmarkProblem p_;
  FloatOrDouble<LandmarkPass> pass_;
};

template <class T>
Array product(Matrix<T> phi, Matrix<double> d, Vector<Index> label, Matrix<T> first, Matrix<T> second, Vector<T> scale,
              const std::string& reference) {
  const Index m = length(phi, 0), n = length(phi, 1), classes = length(d, 0);
  if (!is_shape(d, classes, m + 1)) refuse("d needs one entry per class and feature, and one more per class");
  if (!is_shape(first, classes, n) || !(is_shape(second, classes, n) || is_shape(second, 0, n)))
    refuse("first needs one entry per class and row, second as many or none");
  if (span(label).size != n || span(scale).size != n) refuse("label and scale need one entry per row");
  check_indices(span(label), classes, "label");
  const T* outer = second.shape(0) ? second.data() : nullptr;
  const CurvedRows<T> rows{
      n, m, classes, phi.data(), first.data(), outer, scale.data(), span(label), reference_of(reference)};
  return as_vector(without_gil([&] { return curvature_product(rows, d.data()); }));
}

template <class T>
void bind_product(nb::module_& m) {
  using namespace nb::literals;
  m.def("curvature_product", &product<T>, "phi"_a.noconvert(), "d"_a, "label"_a, "first"_a.noconvert(),
        "second"_a.noconvert(), "scale"_a.noconvert(), "reference"_a,
        "The second derivative of a smooth problem times d, flat (core/landmarks/curvature.hpp).");
}

}  // namespace

void bind_landmarks(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<LandmarkRows>(m, "LandmarkRows",
                           "Rows with their kernel values at landmarks (core/landmarks/landmark_pass.hpp).")
      .def(nb::init<nb::object, nb::object, nb::dict, Vector<Index>, Vector<Index>, Vector<Index>, Vector<double>,
                    Index, const std::string&, double, bool, bool, double, const std::string&, double, int>(),
           "X"_a, "Z"_a, "kernel"_a, "landmarks"_a, "rows"_a, "label"_a, "strength"_a, "classes"_a, "reference"_a,
           "own_target"_a, "others"_a, "capped"_a, "square"_a, "dtype"_a, "memory"_a, "n_jobs"_a)
      .def("sums", &LandmarkRows::sums, "first"_a, "last"_a, "U"_a, "b"_a, "smoothing"_a, "curvature"_a.noconvert(),
           "Losses, the slope and the dual point of the examples first..last; first is a multiple of 256.")
      .def("some", &LandmarkRows::some, "which"_a, "U"_a, "b"_a, "smoothing"_a,
           "Kernel values (landmarks, examples) and variables (examples, classes) of some examples.")
      .def_prop_ro("evaluations", &LandmarkRows::evaluations);
  bind_product<float>(m);
  bind_product<double>(m);
}

}  // namespace polymargin
