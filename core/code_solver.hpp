// Solves all columns of a code (code_problem.hpp): each by one thread, side by side on shared kernel values.
#pragma once
#include <algorithm>
#include <vector>

#include "code_problem.hpp"
#include "column.hpp"
#include "team.hpp"

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
// pairs), rows as they are asked for, or nothing.
enum class Hold { all, classes, rows, nothing };
Hold worth_holding(const CodeProblem& problem, double bytes_per_value, double memory, int threads, bool serial);

// Columns that are solved at a time; a serial kernel has one caller.
inline Index at_a_time(const CodeProblem& problem, int threads, bool serial) {
  return serial ? 1 : std::min<Index>(threads, problem.columns());
}
// Rows of the problem that are cached: half of the memory is for active sets, and a tenth for the first of them.
inline Index rows_that_fit(const CodeProblem& problem, double bytes_per_value, double memory) {
  const double n = static_cast<double>(problem.rows());
  return static_cast<Index>(std::min(n, 0.4 * memory / (bytes_per_value * n)));
}

// Columns that were not begun: the start as it is, with bounds of its objectives; `diagonal` is that of the kernel.
std::vector<ColumnSolution> unsolved(const CodeProblem& problem, const std::vector<double>& diagonal,
                                     const Coefficients& start, Status status);

// From `start`, which may be empty. max_iter counts the steps of one column. Where time is limited, every column gets
// its share of it, and what others leave.
template <class T>
std::vector<ColumnSolution> solve_columns(const CodeProblem& problem, const SharedValues<T>& shared,
                                          const Coefficients& start, const Settings& settings, Team& team);

}  // namespace polymargin
