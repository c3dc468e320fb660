// What a machine with margins asks of the scores f of a row of class y: the slacks
//
//   q_c = 1 + f_c - ref  for c != y,      q_y = own_target - (f_y - ref)
//
// ref the own score, the mean of all, or 0. Its loss is sum_c (q_c)_+, capped max_c (q_c)_+, or square sum_c (q_c)_+^2.
#pragma once
#include <algorithm>

#include "base/data.hpp"

namespace polymargin {

enum class Reference { own, mean, none };

// ref of n rows, row i of class label(i); the scores of class c begin at f + c * ld.
template <class Label>
void references(Reference kind, Index classes, const double* f, Index ld, Index n, const Label& label, double* ref) {
  std::fill_n(ref, n, 0.0);
  for (Index i = 0; kind == Reference::own && i < n; ++i) ref[i] = f[label(i) * ld + i];
  for (Index c = 0; kind == Reference::mean && c < classes; ++c)
    for (Index i = 0; i < n; ++i) ref[i] += f[c * ld + i] / static_cast<double>(classes);
}
// The same for one row of class y.
inline double reference_score(Reference kind, Index classes, const double* f, Index ld, Index y) {
  double ref;
  references(kind, classes, f, ld, 1, [&](Index) { return y; }, &ref);
  return ref;
}

struct MarginLoss {
  Index classes = 0;
  Reference reference = Reference::own;
  double own_target = 0;  // 0: no margin for the own class
  bool others = true;     // margins for the other classes
  bool capped = false;    // the loss is the largest slack, not the sum of all
  double square = 0;      // 0: the hinge
};

}  // namespace polymargin
