// One column of a code, from its rows to its solution, by one thread.
//
// Where its kernel values are held, or can be (the pairs of classes of one-versus-one need their block once), it is
// one run of steps. A column of many rows works on an active set: it is solved there, then the gradient of all rows
// shows which of them violate the optimality conditions, and they come in while rows at zero leave. Only rows with a
// coefficient are ever computed in full, and columns of many rows find there what other columns have computed.
#pragma once
#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "code_problem.hpp"
#include "column_smo.hpp"
#include "kernel_rows.hpp"
#include "shared_rows.hpp"

namespace polymargin {

// Kernel values that the columns share. Blocks of more values than `memory` bytes are not made.
template <class T>
struct SharedValues {
  const KernelBlocks<T>* K = nullptr;     // null where the matrix was given
  Span<const Index> rows;                 // data rows of the sorted rows
  Block<T> gram;                          // between all rows, or null
  std::vector<std::unique_ptr<T[]>> own;  // between the rows of each class, or empty
  std::vector<double> diagonal;
  SharedRows<T>* cache = nullptr;  // for columns with shares_rows, or null
  Block<T> sample;                 // between the first_rows of a column of all rows, or null
  bool hurry = false;              // time is limited: a column shall soon have a solution that is of use
  Team* team = nullptr;            // for the blocks of the only column, or null
  double memory = 0;               // bytes for one column
};

constexpr Index kWholePair = 6144;  // rows of a pair whose kernel values are all computed
constexpr Index kFirstSet = 1024;   // least size of the first active set
constexpr Index kHurry = 256;       // rows of it where time is limited; then it grows fourfold

// Whether a column of m rows and so many classes takes kernel rows over all rows, which others have use for, too. Of
// the rows of a pair of classes little is of use elsewhere.
inline bool shares_rows(const CodeProblem& p, Index m, Index classes) {
  return m > kFirstSet && (m == p.rows() || (classes > 2 && 4 * m >= p.rows()));
}

// Rows of an active set at most: its square takes half of the memory of a column.
template <class T>
Index most_rows(double memory) {
  return std::max<Index>(64, static_cast<Index>(std::sqrt(0.5 * memory / sizeof(T))));
}
// The first active set of m rows without a start: every so-manieth, at most so many.
std::vector<Index> first_rows(Index m, Index most);

template <class T>
class Column {
 public:
  // `at` and `b` are a start, which is moved into the feasible set.
  void begin(const CodeProblem& p, const SharedValues<T>& shared, Index column, Span<const Index> at,
             Span<const double> b);
  template <class More>
  bool run(double tol, double goal, Index max_iter, const More& more) {
    if (!active_) return smo_.run(tol, goal, max_iter - n_iter_, more);
    for (;;) {
      if (!in_stage_) {
        spent_ = n_iter_ >= max_iter;
        if (closed(tol) || spent_ || over_) return true;
        open_stage(tol);
      }
      if (!smo_.run(stage_tol_, stage_tol_, max_iter - n_iter_, more)) return false;
      close_stage();
      if (!more()) return false;
    }
  }
  double violation() const { return active_ ? violation_ : smo_.violation(); }
  Index n_iter() const { return n_iter_ + (!active_ || in_stage_ ? smo_.n_iter() : 0); }
  // `at_once`: without kernel rows, so that the primal objective and the violation may be upper bounds.
  ColumnSolution solution(double tol, bool at_once = false);
  // About the seconds that a solution takes which is not wanted at once.
  double closing_seconds() const { return in_stage_ ? row_seconds_ * double(set_.size()) : 0; }

 private:
  void list_rows(Index column);
  void set_start(Span<const Index> at, Span<const double> b);
  void hold_all();
  void hold_pair(Index column);
  void first_set();
  void set_active(const std::vector<Index>& used, const std::vector<const std::vector<Index>*>& others);
  void start_from_sample();
  void record();
  bool closed(double tol);
  void open_stage(double tol);
  void close_stage();
  void leave_stage(ColumnSolution& out);
  void fill_square();
  void block(Span<const Index> rows, Span<const Index> columns, T* out, Index ld) const;
  void find(Span<const Index> variables, std::vector<const T*>& rows);
  void fetch(Span<const Index> variables, std::vector<const T*>& rows);
  void release(const std::vector<const T*>& rows);
  Index strip() const;                                         // rows held together
  Index place(Index v) const { return cache_ ? row_[v] : v; }  // of a variable in a held row
  void add_to_gradient(const std::vector<Index>& changed, const std::vector<double>& change);
  bool can_grow(Index k) const { return b_[k] < (y_[k] > 0 ? upper_[k] : 0); }
  bool can_fall(Index k) const { return b_[k] > (y_[k] > 0 ? 0 : -upper_[k]); }
  double level() const;
  Index most() const { return most_rows<T>(shared_->memory); }

  const CodeProblem* p_ = nullptr;
  const SharedValues<T>* shared_ = nullptr;
  ColumnSmo<T> smo_;
  std::vector<Index> row_;  // of each variable
  std::vector<double> y_, upper_, ridge_, diagonal_, b_, g_;
  std::unique_ptr<T[]> pair_;  // blocks of a pair of classes
  std::size_t pair_room_ = 0;

  // The active set.
  bool active_ = false, in_stage_ = false, over_ = false, spent_ = false;
  Index n_iter_ = 0, n_stages_ = 0, n_idle_ = 0;
  double violation_ = 0, stage_tol_ = 0, best_ = 0, closest_ = 0;
  double row_seconds_ = 0;         // of the gradient, for one kernel row; 0: not known yet
  std::vector<Index> set_, data_;  // variables, the first n_used_ with a coefficient; data row of each variable
  Index n_used_ = 0, n_sample_ = 0;  // rows of the last sample
  std::vector<T> square_, strip_;
  bool has_found_ = false;
  ColumnSolution found_;  // the smallest primal objective and the largest dual one so far
  SharedRows<T>* cache_ = nullptr;  // where kernel rows come from, or null: then they are kept here
  bool from_sample_ = false;
  std::vector<Index> held_;                 // rows that are held in the cache
  std::vector<std::unique_ptr<T[]>> kept_;  // rows over all variables
  double kept_bytes_ = 0;
  Status stage_status_ = Status::solved;
};

extern template class Column<float>;
extern template class Column<double>;

}  // namespace polymargin
