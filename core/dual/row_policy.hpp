// One variable per row (dual_problem.hpp), as a policy of the engine (working_sets.hpp).
#pragma once
#include <functional>
#include <utility>
#include <vector>

#include "dual/entropy_steps.hpp"
#include "dual/label_kernel.hpp"
#include "dual/pair_steps.hpp"
#include "dual/working_sets.hpp"

namespace polymargin {

template <class T>
class RowPolicy {
 public:
  using Value = T;
  static constexpr Index kSteps = 50;      // in a working set, per row
  static constexpr Index kPolishing = 50;  // the same in a solved one, besides as many as before
  static constexpr bool kPolishesAtOnce = false;
  static constexpr bool kKeepsSquare = false;  // `load` makes Q of the kernel values in their place

  RowPolicy(const DualProblem& problem, const KernelBlocks<T>& K, const std::vector<double>& start,
            const Settings& settings, Team& team);

  Index width() const { return 1; }
  Index most_rows() const { return p_.rows.size; }
  // Rows off their bounds may be more than a working set has: then their face is that of all rows.
  Index most_at_once() const;
  double curvature(Index i) const { return diagonal_[i]; }

  void set_up(const std::vector<Index>& active, const double* A);
  void moved(Index, const double*) {}
  double measure(const double* F, const double* A, double* excess);
  bool wants_to_fall(Index k) const { return !groups_.empty() && falls_[k]; }
  double tolerance() const;
  double objective(const std::vector<double>& alpha, const std::vector<double>& scores) const;
  double slope(Index k, const double* F, const double* A, const double* old, bool before) const;

  std::pair<T*, Index> square(Index q);
  void load(const std::vector<Index>& at, const double* F, const double* A);
  Index solve(double target, Index budget, const std::function<bool()>& stop);
  double value(Index r, Index) const { return p_.entropy ? logistic_.a[r] : steps_.qp.z[r]; }
  // Pair steps do this (pair_steps.hpp).
  std::vector<Index> together(const double*, const double*, Index, Index) const { return {}; }
  Index descend(double, const std::function<bool()>&) { return 0; }

  void add_rows(const std::vector<const T*>& rows, const Moves& moves, Span<const Index> columns, double* F) const {
    M_.add_rows(rows, span(moves.row), change(moves).data(), columns, F);
  }
  void add_blocks(const Moves& moves, Span<const Index> columns, double* F) const {
    M_.add_blocks(span(moves.row), change(moves).data(), columns, F);
  }
  void weigh(const std::vector<double>& alpha, std::vector<double>& scores) const {
    linear_part(p_, K_, alpha, scores);
  }

  // For a start from a coarser problem (levels.hpp).
  bool reduce(Index i, double scale, double* a) const;
  void choose_bias(const std::vector<double>& scores, std::vector<double>& multiplier) const;
  double respond(Index i, const std::vector<double>& multiplier, const double* f, double* a) const;
  void balance(const std::vector<Index>& near, std::vector<double>& alpha) const;

  void lose(const double* F, const double* A, Solution& out);
  void finish(Solution& out);

 private:
  bool can_grow(Index i, double a) const { return p_.entropy ? t_[i] < kFull : a < p_.upper[i]; }
  bool can_fall(Index i, double a) const { return p_.entropy ? t_[i] > -kFull : a > p_.low(i); }
  double gradient(Index i, double f, double a) const {
    return f - p_.linear[i] + p_.ridge[i] * a + (p_.entropy ? t_[i] : 0);
  }
  Level level(Index g, const double* F, const double* A) const;
  bool new_group(Index i, Index before) const { return p_.sum == Sum::per_class && M_.label(i) != M_.label(before); }
  static std::vector<double> change(const Moves& moves) {
    std::vector<double> change(moves.now);
    for (std::size_t r = 0; r < change.size(); ++r) change[r] -= moves.old[r];
    return change;
  }
  void settle(Solution& out);

  const DualProblem& p_;
  const KernelBlocks<T>& K_;
  const Settings& settings_;
  LabelKernel<T> M_;
  std::vector<double> diagonal_, t_;  // Q_ii; logits of the entropy
  double smallest_margin_ = 0;
  const std::vector<Index>* active_ = nullptr;
  std::vector<Index> groups_;  // offsets in the active rows
  std::vector<double> multiplier_;
  std::vector<char> falls_;         // per active row
  std::vector<Index> set_, sizes_;  // the rows of the working set, and of each of its groups
  Room<T> square_;
  PairSteps<T> steps_;
  EntropyQp<T> logistic_;
};

extern template class RowPolicy<float>;
extern template class RowPolicy<double>;

}  // namespace polymargin
