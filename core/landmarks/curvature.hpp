// The second derivative of a smooth problem in the weights W of T classes and m features, from rows that stand for all:
//
//   d  ->  d + sum_i (V_i'J_i V_i d phi_i) phi_i',      J_i = scale_i (diag(first_i) - second_i second_i')
//
// V_i is what the margins of a row see of its scores (margin_loss.hpp): v_c = f_c - ref. All rows' last feature is 1.
#pragma once
#include <vector>

#include "base/margin_loss.hpp"

namespace polymargin {

template <class T>
struct CurvedRows {
  Index n, m, classes;
  const T* phi;                     // m x n, without the last feature
  const T *first, *second, *scale;  // classes x n; the same, or none; n
  Span<const Index> label;
  Reference reference;
};

// d and the product: classes x (m + 1).
template <class T>
std::vector<double> curvature_product(const CurvedRows<T>& rows, const double* d);

}  // namespace polymargin
