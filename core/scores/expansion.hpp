// Scores of a model whose support vectors are sorted by class:
//
//   f[i,c] = sum_{segments[c] <= j < segments[c+1]} alpha_j k(x_j, z_i) + b_c
//
// or, without segments, of a model whose support vectors have a coefficient for every class, alpha a T x n_SV matrix:
//
//   f[i,c] = sum_j alpha[c,j] k(x_j, z_i) + b_c
//
// Blocks of test rows are the lanes of the vector arithmetic, so classes of any size, down to one support vector, are
// vectorized alike. Kernel values are T, sums are float64 over chunks of T of at most 256 terms. precomputed: Z is m x
// n_train. callable: it is called with rows of Z and rows of SV, in this order.
#pragma once
#include "scores/scored_rows.hpp"

namespace polymargin {

struct Expansion : SupportVectors {
  Span<const Index> segments;
  Span<const double> alpha, intercept;
  Index classes() const { return intercept.size; }
};

// out: m x T row by row.
template <class T>
void scores(const Data& Z, const Expansion& model, double* out, Team& team);

// out[i] = argmax_c f[i,c], ties to the smaller class; nothing of size m x T is allocated.
template <class T>
void argmax_scores(const Data& Z, const Expansion& model, Index* out, Team& team);

// out[i] = same f[i, labels[i]] + other sum_{c != labels[i]} f[i,c], with b: what row i scores under a label kernel.
template <class T>
void own_scores(const Data& Z, const Expansion& model, Span<const Index> labels, double same, double other, double* out,
                Team& team);

}  // namespace polymargin
