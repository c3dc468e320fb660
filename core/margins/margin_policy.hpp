// A variable per row and class (margin_problem.hpp), as a policy of the engine (dual/working_sets.hpp): exact steps on
// whole rows inside a working set (local_margins.hpp), and where these become many, the free variables together
// (margin_qp.hpp).
#pragma once
#include <functional>
#include <utility>
#include <vector>

#include "dual/face.hpp"
#include "dual/working_sets.hpp"
#include "margins/local_margins.hpp"
#include "margins/margin_qp.hpp"
#include "margins/margin_splitting.hpp"
#include "margins/score_kernel.hpp"

namespace polymargin {

template <class T>
class MarginPolicy {
 public:
  using Value = T;
  static constexpr Index kSteps = 8;      // in a working set, per row
  static constexpr Index kPolishing = 3;  // the same in a small problem, solved to rounding
  static constexpr bool kPolishesAtOnce = true;
  static constexpr bool kKeepsSquare = true;

  MarginPolicy(const MarginProblem& problem, const KernelBlocks<T>& K, const Settings& settings, Team& team);

  Index width() const { return T_; }
  Index most_rows() const;
  Index most_at_once() const { return 0; }  // `together` says what is
  double curvature(Index i) const { return diagonal_[i]; }

  void set_up(const std::vector<Index>& active, const double* A);
  void moved(Index k, const double* A);
  double measure(const double* F, const double* A, double* excess);
  bool wants_to_fall(Index) const { return false; }
  double tolerance() const { return settings_.tol; }
  double objective(const std::vector<double>& b, const std::vector<double>& scores) const;
  double slope(Index k, const double* F, const double* A, const double* old, bool before) const;

  std::pair<T*, Index> square(Index q);
  void load(const std::vector<Index>& at, const double* F, const double* A);
  Index solve(double target, Index budget, const std::function<bool()>& stop);
  double value(Index r, Index c) const { return local_.b[r * T_ + c]; }
  std::vector<Index> together(const double* F, const double* A, Index steps, Index rows);
  Index descend(double target, const std::function<bool()>& stop);

  void add_rows(const std::vector<const T*>& rows, const Moves& moves, Span<const Index> columns, double* F) const {
    M_.add_rows(rows, change(moves), columns.size, F);
  }
  void add_blocks(const Moves& moves, Span<const Index> columns, double* F) const {
    M_.add_blocks(change(moves), columns, F);
  }
  void weigh(const std::vector<double>& b, std::vector<double>& scores) const { linear_part(p_, K_, b, scores, team_); }

  // For a start from a coarser problem (dual/levels.hpp).
  double reduce(Index i, double scale, double* b) const;
  void choose_bias(const std::vector<double>&, std::vector<double>&) const {}
  double respond(Index i, const std::vector<double>&, const double* f, double* b) const;
  void balance(const std::vector<Index>&, std::vector<double>&) const {}

  void lose(const double*, const double*, Solution&) {}
  void finish(Solution& out);

 private:
  Index due() const;
  bool narrow_serves(double target) const;
  Index solve_narrow(double target, Index budget, const std::function<bool()>& stop);
  bool separate() const { return p_.reference == Reference::none && !p_.capped; }  // classes do not see each other
  Index split(double eps, std::vector<double>& b, const std::function<bool()>& stop);
  bool face(double eps, double work, const std::function<bool()>& stop);
  ScoreChange change(const Moves& moves) const {
    ScoreChange change(T_);
    for (std::size_t r = 0; r < moves.row.size(); ++r)
      M_.add(change, moves.row[r], moves.now.data() + r * T_, moves.old.data() + r * T_, 1);
    return change;
  }

  const MarginProblem& p_;
  const KernelBlocks<T>& K_;
  const Settings& settings_;
  Team& team_;
  ScoreKernel<T> M_;
  const Index T_;
  std::vector<double> diagonal_;
  const std::vector<Index>* active_ = nullptr;
  Index m_ = 0;
  std::vector<char> at_cap_;  // per active row, as the following
  std::vector<double> ref_, low_, ridge_, label_, up_, down_;
  LocalMargins<T> local_;
  LocalMargins<float> narrow_;  // the same in float32, where that is enough: half the time of a step
  bool narrowed_ = false;       // its kernel values are those of local_
  bool trusted_ = true;         // its steps lead on
  MarginQp<T> qp_;
  Face face_;
  MarginSplitting<T> splitting_;
  const bool can_split_;
  bool splits_ = false;           // the next descent is a splitting, or the last one was
  bool few_come_ = true;          // it has all rows that violate the conditions, and most were in the last one
  std::vector<Index> set_;        // rows of the working set
  std::vector<double> scores_;    // theirs, class by class
  Index since_ = 0, waited_ = 0;  // steps since a face was thought of, and since there was one
  Index spare_ = 0;               // steps before the next one can pay
  Index patience_ = 1;            // grows where faces cannot be solved
  bool first_ = true;             // there was no face yet
  bool independent_ = false;      // as the last face saw the variables
  double work_ = 0;               // multiply-adds of the steps since the last face
  Index face_steps_ = 0;
  bool lost_ = false;  // a face ended because rounding leaves nothing to gain
};

extern template class MarginPolicy<float>;
extern template class MarginPolicy<double>;

}  // namespace polymargin
