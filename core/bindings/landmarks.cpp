// Passes over rows in the space of landmarks.
#include <memory>
#include <string>

#include "landmarks/curvature.hpp"
#include "landmarks/landmark_pass.hpp"
#include "running.hpp"

namespace polymargin {
namespace {

using Floats = nb::ndarray<float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

constexpr Index kFew = 16;                      // features
constexpr Index kMostClasses = Index(1) << 24;  // weights of all classes are made at once

Reference reference_of(const std::string& name) {
  if (name != "own" && name != "mean" && name != "none") refuse("reference must be 'own', 'mean' or 'none'");
  return name == "own" ? Reference::own : name == "mean" ? Reference::mean : Reference::none;
}

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
    check_numbers(p_.strength, std::numeric_limits<double>::min(), kLargest, "strength");
    p_.loss.reference = reference_of(reference);
    check_numbers({&own_target, 1}, 0, kLargest, "own_target");
    p_.loss.own_target = own_target, p_.loss.others = others, p_.loss.capped = capped;
    check_numbers({&square, 1}, 0, kLargest, "square");
    p_.loss.square = square;
    if (capped && square > 0) refuse("a squared loss has no cap");
    is_double(dtype) ? make(wide_, k, "float64", checked_memory(memory))
                     : make(narrow_, k, "float32", checked_memory(memory));
  }

  nb::dict sums(Index from, Index to, Vector<double> U, Vector<double> b, double smoothing, Floats curvature) {
    check_point(U, b, smoothing);
    if (from < 0 || to < from || to > p_.rows.size || from % kTile != 0) refuse("expected a range of whole tiles");
    if (static_cast<Index>(curvature.size()) != to - from) refuse("curvature needs one entry per row");
    LandmarkSums out;
    {
      const nb::gil_scoped_release free;
      out = wide_ ? wide_->sums(from, to, U.data(), b.data(), smoothing, curvature.data(), team_)
                  : narrow_->sums(from, to, U.data(), b.data(), smoothing, curvature.data(), team_);
    }
    nb::dict result;
    result["loss"] = out.losses.loss, result["smooth"] = out.losses.smooth, result["linear"] = out.losses.linear;
    result["G"] = as_vector(std::move(out.G)), result["g"] = as_vector(std::move(out.g));
    return result;
  }

  nb::tuple some(Vector<Index> which, Vector<double> U, Vector<double> b, double smoothing) {
    check_point(U, b, smoothing);
    check_indices(span(which), p_.rows.size, "which");
    return wide_ ? some_as(*wide_, "float64", which, U, b, smoothing)
                 : some_as(*narrow_, "float32", which, U, b, smoothing);
  }

  std::uint64_t evaluations() const { return wide_ ? wide_->evaluations() : narrow_->evaluations(); }

 private:
  static constexpr Index kTile = LandmarkPass<float>::kTile;

  template <class T>
  void make(std::unique_ptr<LandmarkPass<T>>& pass, const Kernel& k, const char* dtype, double memory) {
    const Index m = span(landmarks_).size, whole = (p_.rows.size + kTile - 1) / kTile * kTile;
    const double fit = memory / (static_cast<double>(sizeof(T)) * static_cast<double>(m));
    // A callable is asked once where that is possible; a given matrix is there already. Values of few features are made sooner
    // than new memory is first written to.
    const bool few = !X_.data.sparse() && !Z_.data.sparse() && X_.data.d <= kFew && k.kind != KernelKind::callable;
    const bool given = k.kind == KernelKind::precomputed;
    const Index held = given || few                       ? 0
                       : fit < static_cast<double>(whole) ? static_cast<Index>(fit) / kTile * kTile
                                                          : whole;
    auto room = empty<T>(dtype, held * m);
    room_ = nb::cast(room);
    pass = std::make_unique<LandmarkPass<T>>(p_, Z_.data, X_.data, k, span(landmarks_), room.data(), held);
  }

  template <class T>
  nb::tuple some_as(LandmarkPass<T>& pass, const char* dtype, const Vector<Index>& which, const Vector<double>& U,
                    const Vector<double>& b, double smoothing) {
    auto K = empty<T>(dtype, span(landmarks_).size, which.size());
    auto a = empty<double>("float64", which.size(), p_.loss.classes);
    {
      const nb::gil_scoped_release free;
      pass.some(span(which), U.data(), b.data(), smoothing, K.data(), a.data(), team_);
    }
    return nb::make_tuple(K, a);
  }

  void check_point(const Vector<double>& U, const Vector<double>& b, double smoothing) const {
    if (!is_product(span(U).size, p_.loss.classes, span(landmarks_).size) || span(b).size != p_.loss.classes)
      refuse("U needs one entry per class and landmark, b one per class");
    check_numbers(span(U), -kLargest, kLargest, "U");
    check_numbers(span(b), -kLargest, kLargest, "b");
    check_numbers({&smoothing, 1}, std::numeric_limits<double>::min(), kLargest, "smoothing");
  }

  HeldData X_, Z_;
  nb::dict kernel_;
  Vector<Index> landmarks_, rows_, label_;
  Vector<double> strength_;
  Team team_;
  LandmarkProblem p_;
  nb::object room_;  // for kernel values
  std::unique_ptr<LandmarkPass<double>> wide_;
  std::unique_ptr<LandmarkPass<float>> narrow_;
};

template <class T>
using Table = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class T>
Array product(Table<T> phi, Table<double> d, Vector<Index> label, Table<T> first, Table<T> second, Vector<T> scale,
              const std::string& reference) {
  const Index m = static_cast<Index>(phi.shape(0)), n = static_cast<Index>(phi.shape(1));
  const Index classes = static_cast<Index>(d.shape(0));
  auto is = [](const auto& a, Index rows, Index columns) {
    return static_cast<Index>(a.shape(0)) == rows && static_cast<Index>(a.shape(1)) == columns;
  };
  if (!is(d, classes, m + 1)) refuse("d needs one entry per class and feature, and one more per class");
  if (!is(first, classes, n) || !(is(second, classes, n) || is(second, 0, n)))
    refuse("first needs one entry per class and row, second as many or none");
  if (span(label).size != n || span(scale).size != n) refuse("label and scale need one entry per row");
  check_indices(span(label), classes, "label");
  const CurvedRows<T> rows{n,
                           m,
                           classes,
                           phi.data(),
                           first.data(),
                           second.shape(0) ? second.data() : nullptr,
                           scale.data(),
                           span(label),
                           reference_of(reference)};
  std::vector<double> out;
  {
    const nb::gil_scoped_release free;
    out = curvature_product(rows, d.data());
  }
  return as_vector(std::move(out));
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
