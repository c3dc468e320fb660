// Nearest rows under a dissimilarity of squared distances and labels, in blocks.
//
// Without labels D = d. With labels (Geng, Zhan and Zhou 2005; Silva and Ribeiro 2009, eq. 3 with its second line
// corrected)
//
//   D = sqrt(1 - exp(-d^2 / gamma))                  same class
//   D = S[a, b] (exp(d^2 / (2 gamma)) - alpha)       classes a and b; or alpha inside the root, as eq. 3 prints it:
//   D = S[a, b] sqrt(exp(d^2 / gamma) - alpha)
//
// For two given classes D grows with d, so a bound on D is a bound on d^2 for a whole class of columns: the search
// compares plain squared distances and computes D only for the few pairs below the bound.
//
// Where all rows are queries, every distance is computed once and used from both of its ends.
#pragma once
#include <functional>
#include <vector>

#include "kernels/kernel_rows.hpp"

namespace polymargin {

struct Dissimilarity {
  bool supervised = false;
  double gamma = 1, alpha = 0;
  bool inside = false;  // alpha is inside the root
  Index classes = 1;
  Span<const double> scale;  // S, classes x classes; empty: all 1

  double operator()(double squared, Index a, Index b) const;
  // The squared distance at which D is reached between the classes a and b; infinite where D never is.
  double inverse(double D, Index a, Index b) const;
};

// Neighbors of each query, nearest first, as the rows of a CSR matrix; and of each query the nearest row of another
// class (-1: none).
struct Neighbors {
  std::vector<Index> indptr, indices;
  std::vector<double> D;
  std::vector<Index> other;
  std::vector<double> other_D;
};

struct NeighborQuery {
  Data X;
  Dissimilarity D;
  Span<const Index> order;    // all rows, those of a class together
  Span<const Index> label;    // of every row
  Span<const Index> group;    // of every row: rows of one group are not neighbors; empty: only a row and itself
  Span<const Index> queries;  // rows whose neighbors are wanted
  Index k = 0;                // how many at most; 0: all within the radius
  double radius = 0;
};

// A search in float32 ends with the dissimilarities of the pairs found in float64. tell(share done) is called from time
// to time by the calling thread, and may throw.
template <class T>
Neighbors neighbors(const NeighborQuery& q, Team& team, const std::function<void(double)>& tell);

}  // namespace polymargin
