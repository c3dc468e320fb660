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

// Columns that were not begun. Without a start a column knows nothing but its labels: it has no coefficients, and its
// bias is their mean. Pairs of classes vote, so theirs are in favor of the first and the second class by turns.
class Unbegun {
 public:
  Unbegun(const CodeProblem& p, const std::vector<double>& diagonal, const Coefficients& start)
      : p_(p), diagonal_(diagonal), start_(start), weight_(p.classes(), 0.0) {
    squared_ = std::any_of(p.ridge.begin(), p.ridge.end(), [](double r) { return r > 0; });
    for (Index c = 0; c < p.classes(); ++c)
      for (Index i = p.segments[c]; i < p.segments[c + 1]; ++i) weight_[c] += weight(i);
  }

  ColumnSolution operator()(Index l, Status status) const {
    ColumnSolution out;
    out.violation = 2;
    out.status = status;
    const Span<const Index> entries = p_.column(l);
    double side[2] = {0, 0};
    for (Index entry : entries) side[entry > 0] += weight_[CodeProblem::class_of(entry)];
    const double all = side[0] + side[1];
    if (entries.size == 2)
      out.bias = (entries[0] + entries[1]) % 2 ? 1 : -1;
    else
      out.bias = all > 0 ? (side[1] - side[0]) / all : 0;
    out.primal = side[1] * loss(1 - out.bias) + side[0] * loss(1 + out.bias);
    if (start_.rows(l).size > 0) bound(l, out);
    return out;
  }

 private:
  double weight(Index i) const { return !squared_ ? p_.upper[i] : p_.upper[i] > 0 ? 1 / p_.ridge[i] : 0; }
  double loss(double slack) const { return squared_ ? 0.5 * slack * slack : slack; }

  // The start as it is. No kernel values are at hand: ||w|| <= r = sum |b| sqrt(k(x, x)), |f - bias| <= r sqrt(k(x, x)),
  // and the dual objective of 0, which is feasible whatever the start, is a lower bound.
  void bound(Index l, ColumnSolution& out) const {
    const Span<const Index> at = start_.rows(l);
    const Span<const double> b = start_.values(l);
    out.at.assign(at.begin(), at.end()), out.b.assign(b.begin(), b.end());
    if (start_.bias.size > 0) out.bias = start_.bias[l];
    auto length = [&](Index i) { return std::sqrt(std::max(diagonal_[i], 0.0)); };
    double r = 0;
    for (Index e = 0; e < at.size; ++e) r += std::abs(b[e]) * length(at[e]);
    out.primal = 0.5 * r * r;
    for (Index entry : p_.column(l)) {
      const Index c = CodeProblem::class_of(entry);
      for (Index i = p_.segments[c]; i < p_.segments[c + 1]; ++i) {
        const double off = r * length(i);
        out.primal += weight(i) * loss(std::max(1 - (entry > 0 ? 1 : -1) * out.bias + off, 0.0));
        out.violation = std::max(out.violation, 2 + 2 * off);
      }
    }
  }

  const CodeProblem& p_;
  const std::vector<double>& diagonal_;
  const Coefficients& start_;
  bool squared_ = false;
  std::vector<double> weight_;  // of the losses of a class
};

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

  std::vector<ColumnSolution> run() {
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
    return std::move(out_);
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
    const ColumnSolution& last = out_[l];
    if (n_rounds_ > 0)
      w.work.begin(p_, shared_, l, {last.at.data(), static_cast<Index>(last.at.size())},
                   {last.b.data(), static_cast<Index>(last.b.size())});
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
      if (w.work.run(set_.tol, goal, set_.max_iter - out_[w.column].n_iter, more))
        finish(w, false);
      else if (!halted_ && over(now()))
        finish(w, true);
      else
        return;
    } while (more());
  }

  void finish(Worker& w, bool stopped) {
    const Clock::rep begun = now();
    ColumnSolution& out = out_[w.column];
    const ColumnSolution last = std::move(out);
    out = w.work.solution(set_.tol, stopped && w.work.closing_seconds() > std::max(watch_.left(), 0.0));
    if (stopped) {
      if (out.violation > set_.tol) {  // a limit may end the polishing of a solution
        out.status = Status::time_limit;
        const std::lock_guard<std::mutex> lock(mutex_);
        stopped_.push_back({w.column, w.opening + since(begun)});
      } else
        out.status = Status::solved;
    }
    n_iter_ += out.n_iter;
    double dual = dual_.load();
    while (!dual_.compare_exchange_weak(dual, dual + out.dual - last.dual)) {
    }
    out.n_iter += last.n_iter;
    w.column = -1;
    ++n_done_;
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
      ColumnSolution& out = out_[w.column];
      const Index n_iter = out.n_iter;
      out = w.work.solution(set_.tol, status == Status::time_limit);
      out.n_iter += n_iter;
      // A limit may end the polishing of a solution.
      out.status = status != Status::interrupted && out.violation <= set_.tol ? Status::solved : status;
    }
    const Unbegun unbegun(p_, shared_.diagonal, start_);
    for (Index l = 0; l < p_.columns(); ++l)
      if (!out_[l].begun) out_[l] = unbegun(l, status);
    if (status != Status::interrupted) return;
    for (ColumnSolution& out : out_)
      if (out.status == Status::time_limit) out.status = status;
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
  std::vector<ColumnSolution> out_;
  const Index stride_;
  Index n_workers_ = 1, n_todo_ = 0, n_rounds_ = 0;
  std::mutex mutex_;
  std::vector<Stopped> todo_, stopped_;  // of this round (after the first), and for the next one
  std::atomic<Index> next_{0}, n_done_{0}, n_iter_{0};
  std::atomic<double> dual_{0};
};

}  // namespace

std::vector<ColumnSolution> unsolved(const CodeProblem& problem, const std::vector<double>& diagonal,
                                     const Coefficients& start, Status status) {
  const Unbegun unbegun(problem, diagonal, start);
  std::vector<ColumnSolution> out;
  for (Index l = 0; l < problem.columns(); ++l) out.push_back(unbegun(l, status));
  return out;
}

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
std::vector<ColumnSolution> solve_columns(const CodeProblem& problem, const SharedValues<T>& shared,
                                          const Coefficients& start, const Settings& settings, Team& team) {
  return Columns<T>(problem, shared, start, settings, team).run();
}

#define POLYMARGIN_INSTANTIATE(T)                                                                   \
  template std::vector<ColumnSolution> solve_columns<T>(const CodeProblem&, const SharedValues<T>&, \
                                                        const Coefficients&, const Settings&, Team&);
POLYMARGIN_INSTANTIATE(float)
POLYMARGIN_INSTANTIATE(double)
#undef POLYMARGIN_INSTANTIATE

}  // namespace polymargin
