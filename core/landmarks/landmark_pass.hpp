// Sums over rows in the space of landmarks z_1, ..., z_m. Scores and losses of T classes,
//
//   f_c(x) = sum_l U[c,l] k(z_l, x) + b_c,      q_c = 1 + f_c - ref for c != y,      q_y = own_target - (f_y - ref)
//
// as in margin_loss.hpp; u = C weight. The hinge of a row is u sum_c (q_c)_+ or, capped, u max_c (q_c)_+. Both are max
// over a of sum_c a_c q_c with 0 <= a_c <= u and, capped, sum_c a_c <= u: the dual's own variables. s times the entropy
// of a / u makes them smooth,
//
//   u s sum_c log(1 + e^(q_c / s)),  a_c = u / (1 + e^(-q_c / s)),   or
//   u s log(1 + sum_c e^(q_c / s)),  a = u softmax(0, q / s)
//
// and the maximizer a is still a point of the dual of the hinge itself. So one pass gives the value and the slope of
// the smooth problem, the value of the true one, and a point of its dual. Why entropy and not squares of a, whose
// maximizers are projections: their curvature is 0 or 1 / s, so that Newton steps overshoot, and took twice as many
// passes. The squared hinge square u sum_c (q_c)_+^2 needs no smoothing.
//
// Kernel values come in tiles of all landmarks by kTile rows. Those of the first rows, as many as memory allows, are
// kept from the first pass on. Sums do not depend on the number of threads.
#pragma once
#include <cstdint>
#include <vector>

#include "base/pages.hpp"
#include "base/team.hpp"
#include "kernels/kernel_rows.hpp"
#include "simd/landmark_steps.hpp"

namespace polymargin {

struct LandmarkProblem {
  Span<const Index> rows, label;  // data row and class of each example, in any order
  Span<const double> strength;    // C weight
  MarginLoss loss;
};

struct LandmarkSums {
  LossSums losses;           // the linear part, with the true r, is the dual value without -1/2 |sum_i V'a phi(x_i)|^2
  std::vector<double> G, g;  // sum_i (V'a)_c k(z_l, x_i), classes x landmarks; sum_i (V'a)_c
};

template <class T>  // float or double: the type of kernel values
class LandmarkPass {
 public:
  static constexpr Index kTile = 256;

  // Z: what kernel values are taken of; `landmarks` are numbers of its rows. `memory`: bytes for tiles that are kept.
  LandmarkPass(const LandmarkProblem& problem, const Data& Z, const Data& X, const Kernel& kernel,
               Span<const Index> landmarks, double memory);

  // Of the examples from..to; `from` is a multiple of kTile. curvature[i - from]: trace of the smooth second
  // derivative.
  LandmarkSums sums(Index from, Index to, const double* U, const double* b, double s, float* curvature, Team& team);
  // Kernel values, landmarks x examples, and variables, examples x classes, a_c for the own class, else -a_c, of some.
  void some(Span<const Index> which, const double* U, const double* b, double s, T* K, double* a, Team& team);

  std::uint64_t evaluations() const { return blocks_.evaluations(); }

 private:
  struct Bench;
  void fill(Span<const Index> columns, T* tile) const;
  const T* tile(Index from, Index to, Bench& at);
  LossSums slopes(const T* tile, const double* b, double s, Bench& at) const;
  void set_weights(const double* U);

  LandmarkProblem p_;
  KernelBlocks<T> blocks_;
  const LandmarkSteps<T>& steps_;
  Span<const Index> landmarks_;
  Index m_;
  std::vector<T> U_;
  std::vector<char> filled_;  // of the tiles that are kept
  Pages<T> kept_;
};

extern template class LandmarkPass<float>;
extern template class LandmarkPass<double>;

}  // namespace polymargin
