// One column of a code whose kernel values are held, or can be (the pairs of classes of one-versus-one need their block
// once): one run of pair steps, by one thread.
#pragma once
#include <limits>
#include <vector>

#include "base/pages.hpp"
#include "codes/column_rows.hpp"
#include "dual/pair_steps.hpp"
#include "kernels/kernel_rows.hpp"

namespace polymargin {

constexpr double kFew = 0.35;  // share of support vectors among some rows below which most values are not needed

// Kernel values that the columns share.
template <class T>
struct SharedValues {
  const KernelBlocks<T>* K = nullptr;  // null where the matrix was given
  Span<const Index> rows;              // data rows of the sorted rows
  Block<T> gram;                       // between all rows, or null
  std::vector<Pages<T>> own;           // between the rows of each class, or empty
  std::vector<double> diagonal;
  Index most_rows = 0;                                    // of a column whose values may all be computed
  bool few = false;                                       // few of them are needed: they are computed when they are
  double room = std::numeric_limits<double>::infinity();  // bytes for the factor of a column's face
  Index hurry = 0;  // where a limit is near: steps on a sample, so that a column soon has a useful solution
};

// Rows of a column that is solved by pair steps, on all of its kernel values or on those that are needed: beyond, a
// pass over a kernel row for each step costs more than working sets do.
constexpr Index kWholeColumn = 6144;

// Whether the values of a column of m rows are held; else it is solved by the engine (dual/working_sets.hpp).
template <class T>
bool is_held(const SharedValues<T>& shared, Index m) {
  return shared.gram.values || m <= shared.most_rows;
}

template <class T>
class Column {
 public:
  // `at` and `b` are a start, which is moved into the feasible set.
  void begin(const CodeProblem& p, const SharedValues<T>& shared, Index column, Span<const Index> at,
             Span<const double> b);
  // Where the violation is at most tol but the gap too large, it goes on: small slacks times a large C are a gap.
  template <class More>
  bool run(double tol, double goal, double gap, Index max_iter, const More& more) {
    for (;; sharper_ *= 0.1) {
      if (!steps_.run(tol, sharper_ * goal, max_iter - n_sample_, more)) return false;
      if (sharper_ <= kSharpest || steps_.status() != Status::solved || !is_gap_above(gap)) return true;
    }
  }
  // The share of support vectors among some rows of a column; among all of them it is smaller.
  double support_share(const CodeProblem& p, const SharedValues<T>& shared, Index column);

  double violation() const { return steps_.violation(); }
  Index n_iter() const { return n_sample_ + steps_.n_iter(); }
  ColumnSolution solution(double tol);

 private:
  void hold_pair(Index column);
  void hold_own();
  void hold_needed();
  static constexpr double kSharpest = 2e-4;
  bool is_gap_above(double gap);
  std::vector<Index> solve_sample(Index steps);
  void start_from_sample(std::vector<double>& b);  // where a limit is near

  const CodeProblem* p_ = nullptr;
  const SharedValues<T>* shared_ = nullptr;
  PairSteps<T> steps_;
  ColumnRows rows_;
  typename KernelBlocks<T>::Columns columns_;
  Team alone_{1};
  Room<T> held_;            // values of this column alone, in memory that the next one uses again
  Index n_sample_ = 0;      // steps on it
  double sharper_ = 1;      // multiplies the goal
  ColumnSolution now_;      // what the point proves,
  bool certified_ = false;  // if that is known
  bool has_found_ = false;
  ColumnSolution found_;  // what the sample gave
};

extern template class Column<float>;
extern template class Column<double>;

}  // namespace polymargin
