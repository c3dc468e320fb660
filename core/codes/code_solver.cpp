#include "codes/code_solver.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <limits>
#include <mutex>
#include <numeric>
#include <thread>

#include "base/watch.hpp"
#include "dual/solve.hpp"
#include "kernels/row_store.hpp"

namespace polymargin {

namespace {

constexpr double kSlice = 0.05;      // seconds between two polls of a thread that has a column
constexpr double kStored = 2.2e-6;   // seconds for what follows on a column that was begun: its part of a model
constexpr double kLeastTime = 1e-3;  // fewest seconds for another round

// A number coprime to n, about 0.618 n: its multiples visit all of n, evenly at any time.
Index even_stride(Index n) {
  Index stride = std::max<Index>(1, static_cast<Index>(0.6180339887 * static_cast<double>(n)));
  while (std::gcd(stride, n) != 1) ++stride;
  return stride;
}

// First the large columns, each by the engine; then the others in turn, by as many workers as there are threads. The
// thread that called asks now and then whether to go on, while it works on its column or waits for the others.
//
// Where time is limited, a column stops when its share of the remaining time is over, and the next one begins. Such
// columns continue in further rounds while time is left.
template <class T>
class Columns {
 public:
  Columns(const CodeProblem& problem, const SharedValues<T>& shared, const Coefficients& start,
          const Settings& settings, Team& team)
      : p_(problem),
        shared_(shared),
        start_(start),
        set_(settings),
        team_(team),
        limits_(without_steps(settings)),
        watch_(limits_),
        out_(problem.columns()),
        stride_(even_stride(problem.columns())) {}

  CodeSolution run() {
    std::vector<Worker> workers(at_a_time(p_, team_.size(), shared_.K && shared_.K->serial() && !shared_.gram.values));
    n_workers_ = static_cast<Index>(workers.size());
    for (first_round(); n_todo_ > 0; next_round()) {
      solve_all_large();
      next_ = n_large_;
      if (!halted_) by_workers([&](Index w) { work(workers[w]); });
      if (n_done_ < n_todo_) ask(0, 0);
      if (halted_) {
        halt(workers, state_.status);
        break;
      }
    }
    return {std::move(out_), halted_ ? state_.status : Status::solved};
  }

 private:
  using Clock = std::chrono::steady_clock;
  struct Worker {
    Column<T> work;
    Index column = -1;
    Clock::rep end = 0;  // of its share of the time
    double opening = 0;  // seconds
  };
  struct Stopped {
    Index column;
    double opening;  // seconds that resuming takes before the first step
  };

  static Settings without_steps(Settings settings) {
    settings.max_iter = std::numeric_limits<Index>::max();
    return settings;
  }

  // task(0), task(1), ..., for every worker. An exception ends the others.
  template <class Task>
  void by_workers(const Task& task) {
    const auto guarded = [this](const auto& call) {
      try {
        call();
      } catch (...) {
        halted_ = true;
        throw;
      }
    };
    const auto one = [&](Index w) { guarded([&] { task(w); }); };
    team_.run(n_workers_, one, false, [&] { guarded([this] { ask(state_.violation, 0); }); });
  }

  // `violation` and `n_iter` of the column of the thread that called.
  void ask(double violation, Index n_iter) {
    state_.violation = violation, state_.n_iter = n_iter_ + n_iter;
    n_begun_ = std::max(n_begun_, n_done_.load());
    watch_.keep(kStored * static_cast<double>(n_begun_));
    if (!halted_ && watch_.halted(state_, violation, -dual_.load())) halted_ = true;
  }

  static Clock::rep ticks(double seconds) {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds)).count();
  }
  static Clock::rep now() { return Clock::now().time_since_epoch().count(); }
  static double since(Clock::rep then) { return std::chrono::duration<double>(Clock::duration(now() - then)).count(); }

  bool is_large(Index l) const { return !is_held(shared_, size(l)); }

  // No column has more. To look at millions of them, one here and one there, takes seconds.
  Index most_rows() const {
    Index entries = 2, rows = 0;
    for (Index l = 0; l < p_.columns() && !p_.all_pairs; ++l) entries = std::max(entries, p_.column(l).size);
    for (Index c = 0; c < p_.classes(); ++c) rows = std::max(rows, p_.segments[c + 1] - p_.segments[c]);
    return std::min(entries * rows, p_.rows());
  }

  // Where time is limited, in an order that is even at any time.
  Index in_order(Index k) const {
    return timed() ? static_cast<Index>(static_cast<std::uint64_t>(k) * stride_ % p_.columns()) : k;
  }
  void first_round() {
    none_large_ = is_held(shared_, most_rows());
    n_todo_ = p_.columns();
    if (none_large_) return;  // of millions of small columns there is no list
    for (Index k = 0; k < n_todo_; ++k) todo_.push_back({in_order(k), 0});
    large_first();
  }
  void large_first() {
    auto end = todo_.begin();
    if (!none_large_)
      end = std::stable_partition(todo_.begin(), todo_.end(), [&](const Stopped& s) { return is_large(s.column); });
    n_large_ = end - todo_.begin(), n_todo_ = static_cast<Index>(todo_.size());
    next_ = n_done_ = 0;
  }
  // The k-th column of this round.
  Index column(Index k) const { return todo_.empty() ? in_order(k) : todo_[k].column; }
  bool timed() const { return std::isfinite(set_.time_limit); }

  void begin(Worker& w, Index k) {
    const Index l = w.column = column(k);
    const Clock::rep begun = now();
    w.end = std::numeric_limits<Clock::rep>::max();
    if (timed()) w.end = begun + ticks(std::max(watch_.left(), 0.0) * share(n_todo_ - k));
    if (out_[l])
      w.work.begin(p_, shared_, l, span(out_[l]->at), span(out_[l]->b));
    else
      w.work.begin(p_, shared_, l, start_.rows(l), start_.values(l));
    if (timed()) w.opening = since(begun);
  }
  // A share of the remaining time, for this many columns.
  double share(Index columns) const { return std::min(1.0, double(n_workers_) / double(columns)); }

  Index size(Index l) const {
    Index m = 0;
    for (Index entry : p_.column(l)) m += p_.size(entry);
    return m;
  }

  // Side by side, if that keeps all threads busy: where few rows become support vectors, most of what the engine does
  // is too little to be shared. One after the other where columns over all rows share their kernel rows, and where a
  // part of the memory would be felt: a model must not depend on the number of threads.
  void solve_all_large() {
    double all = 0, most = 0;
    for (Index k = 0; k < n_large_; ++k) {
      const double m = static_cast<double>(size(column(k)));
      all += m, most = std::max(most, m);
    }
    const double values = (shared_.few ? kFew : 1) * most * most * sizeof(T), part = set_.memory / double(n_workers_);
    if (all < most * double(n_workers_) || most == double(p_.rows()) || values > RowStore<T>::kActiveShare * part) {
      for (; n_done_ < n_large_ && !halted_; ++n_done_) solve_large(n_done_, 1, team_);
      return;
    }
    by_workers([&](Index) {
      Team alone(1);
      for (Index k; !halted_ && (k = next_.fetch_add(1)) < n_large_; ++n_done_) solve_large(k, n_workers_, alone);
    });
  }
  bool is_caller() const { return std::this_thread::get_id() == caller_; }

  // Column k of this round as a dual problem with signed variables, all of one class, whose sum is zero; by one of this
  // many teams.
  void solve_large(Index k, Index n_teams, Team& team) {
    const Index l = column(k);
    const Clock::rep begun = now();
    ColumnRows rows;
    rows.list(p_, l, shared_.diagonal);
    const Index m = rows.size();
    std::vector<Index> data, segments = {0, m};
    std::vector<double> low, high;
    for (Index v = 0; v < m; ++v) {
      data.push_back(shared_.rows[rows.row[v]]);
      low.push_back(rows.low(v)), high.push_back(rows.high(v));
    }
    DualProblem q;
    q.rows = span(data), q.segments = span(segments);
    q.same = q.other = 1, q.sum = Sum::total;
    q.linear = span(rows.y), q.ridge = span(rows.ridge), q.lower = span(low), q.upper = span(high);
    Settings settings = set_;
    settings.max_iter -= out_[l] ? out_[l]->n_iter : 0;
    settings.time_limit =
        timed() ? std::max(watch_.left(), 0.0) * std::min(1.0, double(n_teams) / double(n_todo_ - k)) : set_.time_limit;
    settings.memory /= double(n_teams);
    settings.keeps_rows = n_large_ > 1 && m == p_.rows();
    settings.stop = [&](const Progress& at) {
      if (is_caller()) ask(at.violation, at.n_iter);
      return halted_.load();
    };
    std::unique_ptr<RowCache<T>> own;
    const ColumnSolution* before = out_[l] && out_[l]->feasible ? out_[l].get() : nullptr;
    std::vector<double> start =
        before ? rows.start(span(before->at), span(before->b)) : rows.start(start_.rows(l), start_.values(l));
    const double opening = since(begun);
    const Solution found = solve(q, *shared_.K, settings.keeps_rows ? cache_ : own, std::move(start), settings, team);
    auto out = std::make_unique<ColumnSolution>();
    out->bias = found.multiplier.empty() ? 0 : -found.multiplier[0];
    out->feasible = found.exact;
    found.exact ? rows.certify(found.alpha, found.gradient, *out) : rows.bound(found.alpha, *out);
    n_iter_ += found.n_iter;
    out->n_iter = found.n_iter + (out_[l] ? out_[l]->n_iter : 0);
    // The end of everybody's time stops a column as a signal does.
    const bool late = found.status == Status::interrupted && state_.status != Status::interrupted;
    out->status = late ? Status::time_limit : found.status;
    if (out->violation <= set_.tol && out->status != Status::interrupted) out->status = Status::solved;
    if (out->status == Status::solved && out->violation > set_.tol) out->status = Status::stalled;
    if (out->status == Status::time_limit) {
      const std::lock_guard<std::mutex> lock(mutex_);
      stopped_.push_back({l, opening});
    }
    // Zero is feasible too, but no machine.
    const bool better = !out_[l] || (!out->feasible      ? !out_[l]->feasible
                                     : out_[l]->feasible ? out->dual >= out_[l]->dual
                                                         : out->dual > out_[l]->dual);
    if (better) {
      add_dual(out->dual - (out_[l] ? out_[l]->dual : 0));
      out_[l] = std::move(out);
    }
    if (is_caller()) ask(0, 0);
  }

  void work(Worker& w) {
    Clock::rep next = is_caller() ? now() : std::numeric_limits<Clock::rep>::max();  // time to ask
    auto over = [&](Clock::rep at) { return timed() && at >= w.end; };
    auto more = [&] {
      const Clock::rep at = now();
      if (at >= next) {
        ask(w.column < 0 ? 0 : w.work.violation(), w.column < 0 ? 0 : w.work.n_iter());
        next = at + ticks(std::clamp(watch_.left(), kLeastTime, kSlice));
      }
      return !halted_ && watch_.left() > 0 && (w.column < 0 || !over(at));
    };
    const double goal = p_.rows() <= kPolished ? std::min(set_.tol, kPolishedTol) : set_.tol;
    do {
      if (w.column < 0) {
        const Index k = next_.fetch_add(1);
        if (k >= n_todo_) return;
        begin(w, k);
      }
      if (w.work.run(set_.tol, goal, set_.gap, set_.max_iter - steps_before(w), more))
        finish(w, false);
      else if (!halted_ && over(now()))
        finish(w, true);
      else
        return;
    } while (more());
  }

  void finish(Worker& w, bool stopped) {
    const Clock::rep begun = now();
    const double dual_before = out_[w.column] ? out_[w.column]->dual : 0;
    ColumnSolution& out = take(w);
    if (stopped) {
      if (out.violation > set_.tol) {  // a limit may end the polishing of a solution
        out.status = Status::time_limit;
        const std::lock_guard<std::mutex> lock(mutex_);
        stopped_.push_back({w.column, w.opening + since(begun)});
      } else
        out.status = Status::solved;
    }
    add_dual(out.dual - dual_before);
    w.column = -1;
    ++n_done_;
  }

  void add_dual(double change) {
    double dual = dual_.load();
    while (!dual_.compare_exchange_weak(dual, dual + change)) {
    }
  }

  Index steps_before(const Worker& w) const { return out_[w.column] ? out_[w.column]->n_iter : 0; }

  ColumnSolution& take(Worker& w) {
    auto out = std::make_unique<ColumnSolution>(w.work.solution(set_.tol));
    n_iter_ += out->n_iter;
    out->n_iter += steps_before(w);
    return *(out_[w.column] = std::move(out));
  }

  // Columns whose share would be spent on preparation have come as far as they can.
  void next_round() {
    const double left = std::max(watch_.left(), 0.0);
    todo_.clear();
    for (const Stopped& s : stopped_)
      if (left > kLeastTime && 4 * s.opening < left * share(static_cast<Index>(stopped_.size()))) todo_.push_back(s);
    stopped_.clear();
    large_first();
  }

  void halt(std::vector<Worker>& workers, Status status) {
    for (Worker& w : workers) {
      if (w.column < 0) continue;
      ColumnSolution& out = take(w);
      // A limit may end the polishing of a solution.
      out.status = status != Status::interrupted && out.violation <= set_.tol ? Status::solved : status;
    }
    if (status != Status::interrupted) return;
    for (std::unique_ptr<ColumnSolution>& out : out_)
      if (out && out->status == Status::time_limit) out->status = status;
  }

  const CodeProblem& p_;
  const SharedValues<T>& shared_;
  const Coefficients& start_;
  const Settings& set_;
  Team& team_;
  const Settings limits_;  // those of all columns together
  Watch watch_;
  Solution state_;
  const std::thread::id caller_ = std::this_thread::get_id();
  std::atomic<bool> halted_{false};
  std::vector<std::unique_ptr<ColumnSolution>> out_;
  const Index stride_;
  bool none_large_ = false;                         // of all columns
  Index n_begun_ = 0;                               // columns, at least
  Index n_workers_ = 1, n_todo_ = 0, n_large_ = 0;  // the large columns come first
  std::mutex mutex_;
  std::vector<Stopped> todo_, stopped_;  // of this round (empty: all of them, in order), and for the next one
  std::unique_ptr<RowCache<T>> cache_;   // kernel rows over all rows, for one large column after another
  std::atomic<Index> next_{0}, n_done_{0}, n_iter_{0};
  std::atomic<double> dual_{0};
};

}  // namespace

template <class T>
CodeSolution solve_columns(const CodeProblem& problem, const SharedValues<T>& shared, const Coefficients& start,
                           const Settings& settings, Team& team) {
  return Columns<T>(problem, shared, start, settings, team).run();
}

template CodeSolution solve_columns(const CodeProblem&, const SharedValues<float>&, const Coefficients&,
                                    const Settings&, Team&);
template CodeSolution solve_columns(const CodeProblem&, const SharedValues<double>&, const Coefficients&,
                                    const Settings&, Team&);

}  // namespace polymargin
