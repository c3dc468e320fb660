#include "code_solver.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <thread>

#include "watch.hpp"

namespace polymargin {

namespace {

constexpr double kSlice = 0.05;   // seconds between two questions
constexpr Index kPolished = 256;  // up to so many rows a solved problem is carried on to rounding error
constexpr double kPolishedTol = 1e-12;
constexpr double kSmallGram = 64e6;  // bytes that are held whatever the code
constexpr Index kLargeClass = 64;    // rows: blocks of smaller classes are not worth a call
constexpr Index kLeastRows = 64;     // of a cache

ColumnSolution at_start(const Coefficients& start, Index column, Status status) {
  const Span<const Index> at = start.rows(column);
  const Span<const double> b = start.values(column);
  ColumnSolution out;
  out.at.assign(at.begin(), at.end());
  out.b.assign(b.begin(), b.end());
  out.violation = 2;
  out.primal = std::numeric_limits<double>::infinity();
  out.status = status;
  return out;
}

// Columns in turn, by as many workers as there are threads. The thread that called asks now and then whether to go on,
// while it works on its column. As long as it does, the others need not wait for it; where it has no column left, or
// is long about something, they pause, keep their columns, and it asks between two such slices of time.
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
        out_(problem.columns()) {}

  std::vector<ColumnSolution> run() {
    std::vector<Worker> workers(at_a_time(p_, team_.size(), shared_.K && shared_.K->serial() && !shared_.gram.values));
    const Index n = static_cast<Index>(workers.size());
    while (n_done_ < p_.columns() && !halted_) {
      until_ = in_slices(1);
      team_.run(n, [&](Index w) { work(workers[w]); });
      double violation = 0;
      Index n_iter = 0;
      for (const Worker& w : workers)
        if (w.column >= 0) violation = std::max(violation, w.work.violation()), n_iter += w.work.n_iter();
      if (n_done_ < p_.columns() && !halted_) ask(violation, n_iter);
    }
    if (halted_) halt(workers, state_.status);
    return std::move(out_);
  }

 private:
  using Clock = std::chrono::steady_clock;
  struct Worker {
    Column<T> work;
    Index column = -1;
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

  void work(Worker& w) {
    const bool caller = std::this_thread::get_id() == caller_;
    Clock::rep next = caller ? in_slices(1) : 0;
    auto more = [&] {
      const Clock::rep now = Clock::now().time_since_epoch().count();
      if (caller && now >= next) {
        ask(w.column < 0 ? 0 : w.work.violation(), w.column < 0 ? 0 : w.work.n_iter());
        next = in_slices(1), until_ = in_slices(4);
      }
      return !halted_ && now < until_;
    };
    const double goal = p_.rows() <= kPolished ? std::min(set_.tol, kPolishedTol) : set_.tol;
    do {
      if (w.column < 0) {
        const Index l = next_.fetch_add(1);
        if (l >= p_.columns()) return;
        w.column = l;
        w.work.begin(p_, shared_, l, start_.rows(l), start_.values(l));
      }
      if (!w.work.run(set_.tol, goal, set_.max_iter, more)) return;
      finish(w);
    } while (more());
  }

  void finish(Worker& w) {
    ColumnSolution& out = out_[w.column];
    out = w.work.solution(set_.tol);
    n_iter_ += out.n_iter;
    double dual = dual_.load();
    while (!dual_.compare_exchange_weak(dual, dual + out.dual)) {
    }
    w.column = -1;
    ++n_done_;
  }

  void halt(std::vector<Worker>& workers, Status status) {
    for (Worker& w : workers) {
      if (w.column < 0) continue;
      ColumnSolution& out = out_[w.column];
      out = w.work.solution(set_.tol);
      // A limit may end the polishing of a solution.
      out.status = status != Status::interrupted && out.violation <= set_.tol ? Status::solved : status;
    }
    for (Index l = std::min(next_.load(), p_.columns()); l < p_.columns(); ++l) out_[l] = at_start(start_, l, status);
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
  std::atomic<Index> next_{0}, n_done_{0}, n_iter_{0};
  std::atomic<double> dual_{0};
};

}  // namespace

std::vector<ColumnSolution> unsolved(const CodeProblem& problem, const Coefficients& start, Status status) {
  std::vector<ColumnSolution> out;
  for (Index l = 0; l < problem.columns(); ++l) out.push_back(at_start(start, l, status));
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
