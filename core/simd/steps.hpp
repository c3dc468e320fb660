// The vector passes of the solvers, one table of functions per instruction set.
#pragma once
#include "base/data.hpp"

namespace polymargin {

constexpr Index kLanes = 16;       // local arrays are padded to a multiple of this
constexpr double kBlocked = 1e30;  // added to the gradient of a variable that may not move that way

struct Pick {
  Index at = -1;
  double key = 0;        // gain of the best candidate
  double violation = 0;  // largest violation seen
};

struct Range {  // of the gradient in one group
  Index lowest = -1;
  double low = kBlocked, high = -kBlocked;  // min over those that may grow, max over those that may fall
};

template <class T>
struct Steps {
  Index lanes;  // of a vector
  // G += di Qi + dj Qj, then the variable with the largest gain violation^2 / Q_kk.
  Pick (*box_first)(T* G, const T* Qi, const T* Qj, T di, T dj, const T* up, const T* down, const T* inverse, Index n);
  // After the step s on i: the variable k with the largest further gain; c = 1 / Q_ii where i stays free, else 0.
  Pick (*box_second)(const T* G, const T* Qi, T s, T c, const T* up, const T* down, const T* diagonal, Index n);
  void (*update)(T* G, const T* Qi, const T* Qj, T di, T dj, Index n);
  // The k that may fall with the largest (G_k - gi)^2 / (Q_ii + Q_kk - 2 Q_ik), to a few digits: as good a choice.
  Pick (*pair_second)(const T* G, const T* Ki, T gi, T dii, const T* down, const T* diagonal, Index n);
  // G += t (Ki - Kj), then the range of the gradient.
  Range (*pair_step)(T* G, const T* Ki, const T* Kj, T t, const T* up, const T* down, Index n);
  // G[k] += sum_r coef[r] row_r[k] for k in [begin, end)
  void (*add_rows)(const T* const* rows, const double* coef, Index n_rows, Index begin, Index end, double* G);
  // y[r] += sum_k A[r * ld + k] x[k]
  void (*add_dots)(const T* A, Index ld, Index n_rows, Index n_cols, const double* x, double* y);
  // A tile of a symmetric matrix stands for two: y_rows += A x_cols and y_cols += A' x_rows in one pass over A.
  void (*both_ways)(const T* A, Index ld, Index n_rows, Index n_cols, const T* x_rows, const T* x_cols, double* y_rows,
                    T* y_cols);
  // The margins of n examples, margin_problem.hpp, class c at F + c * ld: for the classes other than `label`, g = F -
  // ref + 1 + ridge A is the gain rate of growing (where A > low) and -g of falling (where A < 0). up and down become
  // the largest of them.
  void (*margins)(const T* F, const T* A, Index ld, Index classes, const T* ref, const T* ridge, const T* low,
                  const T* label, Index n, T* up, T* down);
  // The example with the largest v^2 / (diagonal - min(c row^2, most diagonal)), v its violation; `at` is -1 if none.
  Pick (*worst_example)(const T* up, const T* down, const T* at_cap, const T* diagonal, const T* row, T c, T most,
                        Index skip, Index n);
  // own[k] = F[k] where label[k] == c
  void (*own_scores)(const T* F, const T* label, T c, Index n, T* own);
  // The exact step of an example of class y (margins/example_step.hpp) with the own score as reference: all b lie in
  // [-u, 0]. f and b of n classes, a whole number of vectors; beyond the last class f is -kBlocked and b is 0. D
  // becomes what the step adds to the scores per kernel value. Returns how much b has changed, or -1, with b as it was,
  // where a cap holds or Newton's steps do not end.
  T (*row_step)(const T* f, Index n, Index y, T k, T ridge, T u, bool capped, T* b, T* D);
  // f[s * n + c] += k[s] D[c] for s < rows
  void (*add_outer)(const T* k, Index rows, const T* D, Index n, T* f);
  T (*dot)(const T* x, const T* y, Index n);
  void (*axpy)(T c, const T* x, T* y, Index n);  // y += c x
  // out = c x + s y and y = c y - s x; out may begin before x.
  void (*rotate)(const T* x, T* y, T c, T s, T* out, Index n);
  // As add_rows to four G, one every ld, with coef[v * n_rows + r] for the v-th: a row is read once for all of them.
  void (*add_rows_to_four)(const T* const* rows, const double* coef, Index n_rows, Index begin, Index end, double* G,
                           Index ld);
};

template <class T>
const Steps<T>& steps();

}  // namespace polymargin
