// Kernel values for columns of codes on one set of rows: what of them is made beforehand and held, within a budget of
// memory and time, from one solve to the next.
#pragma once
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/team_watch.hpp"
#include "codes/code_solver.hpp"

namespace polymargin {

template <class T>
class CodeValues {
 public:
  // Of these rows of X; memory in bytes.
  CodeValues(const Data& X, const Kernel& kernel, Span<const Index> rows, double memory)
      : K_(X, X, kernel), rows_(rows), n_(rows.size), memory_(memory) {}

  // See solve_columns. Columns that end before they begin are null.
  CodeSolution solve(const CodeProblem& problem, const Coefficients& start, Settings settings, Team& team);

  const SharedValues<T>& shared() const { return shared_; }
  std::uint64_t evaluations() const { return K_.evaluations(); }

 private:
  void hold(const T* values);
  void make(Hold what, const CodeProblem& problem, Team& team, TeamWatch& watch);
  Index whole_column(const CodeProblem& problem);
  void know_diagonal();
  void set_limits(const CodeProblem& problem, const Settings& settings, int threads, Index whole);

  KernelBlocks<T> K_;
  Span<const Index> rows_;
  Index n_ = 0;
  double memory_ = 0;
  Pages<T> made_;
  SharedValues<T> shared_;
};

extern template class CodeValues<float>;
extern template class CodeValues<double>;

}  // namespace polymargin
