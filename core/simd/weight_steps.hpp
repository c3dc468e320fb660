// The vector passes over weights W, d x P: the P classes of one feature are adjacent, P is 2, 4 or a multiple of 8. A
// row of data is `count` values x at the features `at` (dense rows: all features). One table of functions per
// instruction set and type of x; in it, one function per type of `at`.
#pragma once
#include "base/data.hpp"

namespace polymargin {

enum Features { dense_row, int32_row, int64_row };

struct Slope {
  double up, down;
};

// f = sum_k x_k W[at_k]
using ScoresPass = void (*)(const void* x, const void* at, Index count, const double* W, Index P, double* f);
// W[at_k] += x_k change
using AddPass = void (*)(const void* x, const void* at, Index count, const double* change, double* W, Index P);
// Asks for the weights of a row ahead of time.
using ExpectPass = void (*)(const void* at, Index count, const double* W, Index P);
// The largest gain rates of an example: g = f - ref + t + ridge a of growing where a > low, -g of falling where a < 0.
using SlopePass = Slope (*)(const double* f, const double* a, const double* t, double ref, double ridge, double low,
                            Index P);
// One example solved exactly, all others fixed. With v = (f - ref + t - k (a + sum a)) / (k + ridge), rho = k / (k +
// ridge): a = -clip(v - theta, 0, u), where theta = rho sum |a|, or capped the larger value at which sum |a| = u.
// `change` becomes the change of a; what the dual objective falls by is returned, besides sum |a| and the sum of all
// changes.
struct Step {
  double gain, size, sum;
};
using StepPass = Step (*)(const double* f, double* a, const double* t, double ref, double k, double ridge, double u,
                          bool capped, Index P, double* v, double* change);

struct WeightPasses {
  ScoresPass scores[3];  // by Features
  AddPass add[3];
  ExpectPass expect[3];
  SlopePass slope;
  StepPass step;
};
template <class T>
struct WeightSteps : WeightPasses {};

template <class T>
const WeightSteps<T>& weight_steps();

inline Index padded_classes(Index classes) { return classes <= 2 ? 2 : classes <= 4 ? 4 : (classes + 7) / 8 * 8; }

}  // namespace polymargin
