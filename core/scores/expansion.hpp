// Scores of a model whose support vectors are sorted by class:
//
//   f[i,c] = sum_{segments[c] <= j < segments[c+1]} alpha_j k(x_j, z_i) + b_c,      x_j = SV[sv_rows[j]]
//
// or, without segments, of a model whose support vectors have a coefficient for every class, alpha a T x n_SV matrix:
//
//   f[i,c] = sum_j alpha[c,j] k(x_j, z_i) + b_c
//
// Blocks of test rows are the lanes of the vector arithmetic, so classes of any size, down to one support vector, are
// vectorized alike. Kernel values are T, sums are float64 over chunks of T of at most 256 terms. precomputed: Z is m x
// n_train and sv_rows are columns of it. callable: it is called with rows of Z and rows of SV, in this order.
#pragma once
#include "base/data.hpp"
#include "base/kernel.hpp"
#include "base/team.hpp"

namespace polymargin {

// out: m x T row by row.
template <class T>
void scores(const Data& Z, const Data& SV, const Kernel& kernel, Span<const Index> sv_rows, Span<const Index> segments,
            Span<const double> alpha, Span<const double> intercept, double* out, Team& team);

// out[i] = argmax_c f[i,c], ties to the smaller class; nothing of size m x T is allocated.
template <class T>
void argmax_scores(const Data& Z, const Data& SV, const Kernel& kernel, Span<const Index> sv_rows,
                   Span<const Index> segments, Span<const double> alpha, Span<const double> intercept, Index* out,
                   Team& team);

// out[i] = same f[i, labels[i]] + other sum_{c != labels[i]} f[i,c], b included: what row i scores under a label kernel.
template <class T>
void own_scores(const Data& Z, const Data& SV, const Kernel& kernel, Span<const Index> sv_rows,
                Span<const Index> segments, Span<const double> alpha, Span<const double> intercept,
                Span<const Index> labels, double same, double other, double* out, Team& team);

}  // namespace polymargin
