// Which kernel, and its parameters. Values are computed in one place only: the function `value` of tile.inl.
//
//   rbf        exp(-gamma |x - z|^2), or exp(-sum_t gammas_t (x_t - z_t)^2)
//   linear     <x, z>                     poly       (gamma <x, z> + coef0)^degree
//   sigmoid    tanh(gamma <x, z> + coef0) cosine     <x, z> / (|x| |z|), 0 where a row is 0
//   laplacian  exp(-gamma |x - z|_1)     sqeuclidean  |x - z|^2, not a kernel, for graphs of neighbors
#pragma once
#include <functional>
#include <vector>

#include "base/data.hpp"

namespace polymargin {

enum class KernelKind { rbf, linear, poly, sigmoid, cosine, laplacian, precomputed, callable, sqeuclidean };

struct Kernel {
  KernelKind kind = KernelKind::rbf;
  double gamma = 1;
  int degree = 3;
  double coef0 = 0;
  std::vector<double> gammas;  // ellipsoidal RBF: one gamma per feature (then gamma is unused); empty otherwise
  bool centered = false;       // linear, dense rows: the mean row is subtracted from all of them
  double offset = 0;           // b0, added to every value: the regularized intercept in training, 0 at prediction
  // callable: fills out[r * ld + c] with k(A[rows[r]], B[cols[c]]). It takes the GIL itself and is never called from
  // two threads at once.
  std::function<void(Span<const Index> rows, Span<const Index> cols, double* out, Index ld)> call;
};

}  // namespace polymargin
