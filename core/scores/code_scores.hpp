// Scores of the columns of a code (code_problem.hpp) and the decisions of pairs of classes.
//
//   f[i,l] = sum_e b_e k(x_e, z_i) + bias_l     over the entries e of column l
//
// For a block of test rows all kernel values are computed once, then every column is summed from them; nothing of
// size rows x columns is allocated beyond a block unless requested.
#pragma once
#include "codes/code_solver.hpp"
#include "scores/scored_rows.hpp"

namespace polymargin {

struct CodeModel : SupportVectors {
  Coefficients coef;  // their `at` are numbers into sv_rows
  Span<const double> bias;
  Index columns() const { return bias.size; }
};

// out: m x L row by row.
template <class T>
void code_scores(const Data& Z, const CodeModel& model, double* out, Team& team);

// One-versus-one: columns (a, b), a < b, in the order (0, 1), (0, 2), ...; f > 0 is a vote for a, else for b.
// out: m x classes, votes plus s / (3 (|s| + 1)), s the sum of f over the pairs of a class, with its sign: less than
// half a vote. Rows with an |f| below `doubt` get NaN.
template <class T>
void pair_votes(const Data& Z, const CodeModel& model, Index classes, double doubt, double* out, Team& team);

// The decision graph of Platt, Cristianini and Shawe-Taylor (2000): first and last class left meet, the loser leaves.
template <class T>
void dag_winners(const Data& Z, const CodeModel& model, Index classes, Index* out, Team& team);

}  // namespace polymargin
