#include "code_solver.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <limits>
#include <mutex>
#include <numeric>
#include <thread>

#include "watch.hpp"

namespace polymargin {

namespace {

constexpr double kSlice = 0.05;   // seconds between two questions
constexpr double kLeastTime = 1e-3;  // seconds that another round is worth
constexpr Index kPolished = 256;  // up to so many rows a solved problem is carried on to rounding error
constexpr double kPolishedTol = 1e-12;
constexpr double kSmallGram = 64e6;  // bytes that are held whatever the code
constexpr Index kLargeClass = 64;    // rows: blocks of smaller classes are not worth a call
constexpr Index kLeastRows = 64;     // of a cache

// A number without a common divisor with n, about 0.618 n: its multiples visit all of n, evenly at any time.
Index even_stride(Index n) {
  Index stride = std::max<Index>(1, static_cast<Index>(0.6180339887 * static_cast<double>(n)));
  while (std::gcd(stride, n) != 1) ++stride;
  return stride;
}

// Columns in turn, by as many workers as there are threads. The thread that called asks now and then whether to go on,
// while it works on its column. As long as it does, the others need not wait for it; where it has no column left, or
// is long about something, they pause, keep their columns, and it asks between two such slices of time.
//
// Where time is limited, a column ends when its share of what is left is over, a column of many rows as much earlier as
// its solution takes, and the next one begins. Columns that ended so go on in further rounds while time is left.
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
    for (n_todo_ = p_.columns(); n_todo_ > 0; next_round()) {
      while (n_done_ < n_todo_ && !halted_) {
        until_ = in_slices(1);
        team_.run(n_workers_, [&](Index w) { work(workers[w]); });
        double violation = 0;
        Index n_iter = 0;
        for (const Worker& w : workers)
          if (w.column >= 0) violation = std::max(violation, w.work.violation()), n_iter += w.work.n_iter();
        if (n_done_ < n_todo_ && !halted_) ask(violation, n_iter);
      }
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
    double opening;  // seconds that going on takes before the first step
  };

  static Settings without_steps(Settings settings) {
    settings.max_iter = std::numeric_limits<Index>::max();
    return settings;
  }

  Clock::rep in_slices(int n) const {
    const std::chrono::duration<double> time(std::max(std::min(n * kSlice, watch_.left()), 1e-4));
    return (Clock::now() + std::chrono::duration_cast<Clock::duration>(time)).time_since_epoch().count();
  }

  // `violation` and `n_iter` of the columns that are being solved, as far as the thread that called knows them.
  void ask(double violation, Index n_iter) {
    state_.n_iter = n_iter_ + n_iter;
    if (watch_.halted(state_, violation, -dual_.load())) halted_ = true;
  }

  static Clock::rep ticks(double seconds) {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds)).count();
  }
  static Clock::rep now() { return Clock::now().time_since_epoch().count(); }
  static double since(Clock::rep then) {
    return std::chrono::duration<double>(Clock::duration(now() - then)).count();
  }

  // The k-th column of this round.
  Index column(Index k) const {
    if (n_rounds_ > 0) return todo_[k].column;
    return timed() ? static_cast<Index>(static_cast<std::uint64_t>(k) * stride_ % p_.columns()) : k;
  }
  bool timed() const { return std::isfinite(set_.time_limit); }

  void begin(Worker& w, Index k) {
    const Index l = w.column = column(k);
    const Clock::rep begun = now();
    w.end = std::numeric_limits<Clock::rep>::max();
    if (timed()) w.end = begun + ticks(std::max(watch_.left(), 0.0) * share(n_todo_ - k));
    if (out_[l])
      w.work.begin(p_, shared_, l, {out_[l]->at.data(), static_cast<Index>(out_[l]->at.size())},
                   {out_[l]->b.data(), static_cast<Index>(out_[l]->b.size())});
    else
      w.work.begin(p_, shared_, l, start_.rows(l), start_.values(l));
    if (timed()) w.opening = since(begun);
  }
  // Of the time that is left, where so many columns are.
  double share(Index columns) const { return std::min(1.0, double(n_workers_) / double(columns)); }

  void work(Worker& w) {
    const bool caller = std::this_thread::get_id() == caller_;
    Clock::rep next = caller ? in_slices(1) : 0;
    auto over = [&](Clock::rep at) { return timed() && at >= w.end - ticks(w.work.closing_seconds()); };
    auto more = [&] {
      const Clock::rep at = now();
      if (caller && at >= next) {
        ask(w.column < 0 ? 0 : w.work.violation(), w.column < 0 ? 0 : w.work.n_iter());
        next = in_slices(1), until_ = in_slices(4);
      }
      return !halted_ && at < until_ && (w.column < 0 || !over(at));
    };
    const double goal = p_.rows() <= kPolished ? std::min(set_.tol, kPolishedTol) : set_.tol;
    do {
      if (w.column < 0) {
        const Index k = next_.fetch_add(1);
        if (k >= n_todo_) return;
        begin(w, k);
      }
      if (w.work.run(set_.tol, goal, set_.max_iter - steps_before(w), more))
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
    ColumnSolution& out = take(w, stopped && w.work.closing_seconds() > std::max(watch_.left(), 0.0));
    if (stopped) {
      if (out.violation > set_.tol) {  // a limit may end the polishing of a solution
        out.status = Status::time_limit;
        const std::lock_guard<std::mutex> lock(mutex_);
        stopped_.push_back({w.column, w.opening + since(begun)});
      } else
        out.status = Status::solved;
    }
    double dual = dual_.load();
    while (!dual_.compare_exchange_weak(dual, dual + out.dual - dual_before)) {
    }
    w.column = -1;
    ++n_done_;
  }

  Index steps_before(const Worker& w) const { return out_[w.column] ? out_[w.column]->n_iter : 0; }

  ColumnSolution& take(Worker& w, bool at_once) {
    auto out = std::make_unique<ColumnSolution>(w.work.solution(set_.tol, at_once));
    n_iter_ += out->n_iter;
    out->n_iter += steps_before(w);
    return *(out_[w.column] = std::move(out));
  }

  // Columns whose share would go into getting ready have come as far as they can.
  void next_round() {
    const double left = std::max(watch_.left(), 0.0);
    todo_.clear();
    for (const Stopped& s : stopped_)
      if (left > kLeastTime && 4 * s.opening < left * share(static_cast<Index>(stopped_.size()))) todo_.push_back(s);
    stopped_.clear();
    ++n_rounds_;
    n_todo_ = static_cast<Index>(todo_.size());
    next_ = n_done_ = 0;
  }

  void halt(std::vector<Worker>& workers, Status status) {
    for (Worker& w : workers) {
      if (w.column < 0) continue;
      ColumnSolution& out = take(w, status == Status::time_limit);
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
  std::atomic<Clock::rep> until_{0};  // the end of the slice
  std::atomic<bool> halted_{false};
  std::vector<std::unique_ptr<ColumnSolution>> out_;
  const Index stride_;
  Index n_workers_ = 1, n_todo_ = 0, n_rounds_ = 0;
  std::mutex mutex_;
  std::vector<Stopped> todo_, stopped_;  // of this round (after the first), and for the next one
  std::atomic<Index> next_{0}, n_done_{0}, n_iter_{0};
  std::atomic<double> dual_{0};
};

}  // namespace

Hold worth_holding(const CodeProblem& p, double bytes, double memory, int threads, bool serial) {
  const double n = static_cast<double>(p.rows()), gram = bytes * n * n;
  bool pairs = !serial && n >= kLargeClass * static_cast<double>(p.classes());
  for (Index l = 0; l < p.columns() && pairs; ++l) pairs = p.column(l).size == 2;
  if (gram <= memory && (!pairs || gram <= kSmallGram)) return Hold::all;
  auto wants_rows = [&](Index l) {
    Index m = 0;
    for (Index entry : p.column(l)) m += p.size(entry);
    return shares_rows(p, m, p.column(l).size);
  };
  Hold otherwise = Hold::nothing;
  for (Index l = 0; l < p.columns() && rows_that_fit(p, bytes, memory) >= kLeastRows; ++l)
    if (wants_rows(l)) otherwise = Hold::rows;
  if (!pairs) return otherwise;
  double own = 0, largest = 0;
  for (Index c = 0; c < p.classes(); ++c) {
    const double size = static_cast<double>(p.segments[c + 1] - p.segments[c]);
    own += bytes * size * size, largest = std::max(largest, size);
  }
  const bool whole = 2 * largest <= kWholePair && own + 2 * bytes * threads * largest * largest <= memory;
  return whole ? Hold::classes : otherwise;
}

template <class T>
CodeSolution solve_columns(const CodeProblem& problem, const SharedValues<T>& shared,
                           const Coefficients& start, const Settings& settings, Team& team) {
  return Columns<T>(problem, shared, start, settings, team).run();
}

#define POLYMARGIN_INSTANTIATE(T)                                                                   \
  template CodeSolution solve_columns<T>(const CodeProblem&, const SharedValues<T>&, const Coefficients&, \
                                         const Settings&, Team&);
POLYMARGIN_INSTANTIATE(float)
POLYMARGIN_INSTANTIATE(double)
#undef POLYMARGIN_INSTANTIATE

}  // namespace polymargin
