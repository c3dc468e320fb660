// Solves all columns of a code (code_problem.hpp): those whose kernel values are held side by side, each by one thread,
// and the large ones one after the other by all threads.
#pragma once
#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "base/team.hpp"
#include "codes/code_problem.hpp"
#include "codes/column.hpp"
#include "kernels/row_cache.hpp"

namespace polymargin {

// Columns of coefficients: column l is the range [offsets[l], offsets[l + 1]) of `at` (increasing rows) and `b`.
struct Coefficients {
  Span<const Index> offsets, at;
  Span<const double> b, bias;  // `bias` of a start may be empty
  bool empty() const { return offsets.size == 0; }
  Span<const Index> rows(Index l) const { return empty() ? at : at.sub(offsets[l], offsets[l + 1]); }
  Span<const double> values(Index l) const { return empty() ? b : b.sub(offsets[l], offsets[l + 1]); }
};

// What is worth holding for all columns: the whole matrix, the block of each class with itself (then the columns are
// pairs), or nothing. All values of columns of up to `whole` rows are computed.
enum class Hold { all, classes, nothing };
Hold worth_holding(const CodeProblem& problem, double bytes_per_value, double memory, int threads, bool serial,
                   Index whole);

// Columns that are solved at a time; a serial kernel has one caller.
inline Index at_a_time(const CodeProblem& problem, int threads, bool serial) {
  return serial ? 1 : std::min<Index>(threads, problem.columns());
}
// Null columns were not started: something ended them all.
struct CodeSolution {
  std::vector<std::unique_ptr<ColumnSolution>> columns;
  Status ended = Status::solved;
};

// Columns that were not started. Without a start a column knows nothing but its labels: it has no coefficients, and its
// bias is their mean. But pairs of classes vote: there the class wins that has won less often, so that such votes are
// almost the same number for and against every class, and the other pairs decide. Called once per column, in order.
class Unbegun {
 public:
  Unbegun(const CodeProblem& p, const std::vector<double>& diagonal, const Coefficients& start)
      : p_(p), diagonal_(diagonal), start_(start), weight_(p.classes(), 0.0), balance_(p.classes(), 0) {
    squared_ = std::any_of(p.ridge.begin(), p.ridge.end(), [](double r) { return r > 0; });
    for (Index c = 0; c < p.classes(); ++c)
      for (Index i = p.segments[c]; i < p.segments[c + 1]; ++i) weight_[c] += weight(i);
  }

  // Coefficients of a column.
  Index size(Index l) const { return start_.rows(l).size; }

  // `out` may be what was made of another column.
  void make(Index l, Status status, ColumnSolution& out) {
    out.at.clear(), out.b.clear();
    out.violation = 2;
    out.status = status;
    const ColumnEntries entries = column(l);
    double side[2] = {0, 0};
    for (Index entry : entries) side[entry > 0] += weight_[CodeProblem::class_of(entry)];
    const double all = side[0] + side[1];
    out.bias = all > 0 ? (side[1] - side[0]) / all : 0;
    if (entries.size == 2) {
      Index &first = balance_[CodeProblem::class_of(entries[0])], &second = balance_[CodeProblem::class_of(entries[1])];
      const Index won = first <= second ? 1 : -1;
      first += won, second -= won;
      out.bias = won == (entries[0] > 0 ? 1 : -1) ? 1 : -1;
    }
    out.primal = side[1] * loss(1 - out.bias) + side[0] * loss(1 + out.bias);
    if (start_.rows(l).size > 0) bound(l, out);
  }

 private:
  // Of all pairs, those of a class with later ones are the columns [first_, end_): quicker than to find the class.
  ColumnEntries column(Index l) {
    if (!p_.all_pairs) return p_.column(l);
    while (l >= end_) first_ = end_, end_ += p_.classes() - 1 - ++class_;
    return {nullptr, 2, {class_ + 1, -(class_ + 2 + l - first_)}};
  }

  double weight(Index i) const { return !squared_ ? p_.upper[i] : p_.upper[i] > 0 ? 1 / p_.ridge[i] : 0; }
  double loss(double slack) const { return squared_ ? 0.5 * slack * slack : slack; }

  // The start as it is; no kernel values are known.
  void bound(Index l, ColumnSolution& out) const {
    const Span<const Index> at = start_.rows(l);
    const Span<const double> b = start_.values(l);
    out.at.assign(at.begin(), at.end()), out.b.assign(b.begin(), b.end());
    if (start_.bias.size > 0) out.bias = start_.bias[l];
    double length = 0;
    for (Index e = 0; e < at.size; ++e) length += std::abs(b[e]) * std::sqrt(std::max(diagonal_[at[e]], 0.0));
    ColumnRows rows;
    rows.list(p_, l, diagonal_);
    rows.bound(length, out);
  }

  const CodeProblem& p_;
  const std::vector<double>& diagonal_;
  const Coefficients& start_;
  bool squared_ = false;
  Index class_ = -1, first_ = 0, end_ = 0;
  std::vector<double> weight_;  // of the losses of a class
  std::vector<Index> balance_;  // votes for a class minus those against it
};

// From `start`, which may be empty. max_iter counts the steps of one column. Where time is limited, every column gets
// its share of it, and what others leave.
template <class T>
CodeSolution solve_columns(const CodeProblem& problem, const SharedValues<T>& shared, const Coefficients& start,
                           const Settings& settings, Team& team);

}  // namespace polymargin
