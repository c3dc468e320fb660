// When a solver must stop early: its limits, the caller's request, or no more progress.
#pragma once
#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "base/solution.hpp"

namespace polymargin {

class Watch {
 public:
  explicit Watch(const Settings& settings) : set_(settings), start_(Clock::now()) {}

  bool late() const { return seconds() >= set_.time_limit - reserved_ - closing_; }
  // Reserves time for the end, as much as the start took: both pass over all variables.
  void reserve(double starts) { reserved_ = starts * seconds(); }
  // And this many seconds for what must still be computed then.
  void keep(double seconds) { closing_ = seconds; }
  double left() const { return set_.time_limit - seconds(); }

  // Asks the caller, at most about ten times a second.
  bool asked(Index n_iter, double violation, double objective) {
    if (interrupted_) return true;
    const double now = seconds();
    if (!set_.stop || now - last_asked_ < 0.08) return false;
    last_asked_ = now;
    return interrupted_ = set_.stop({n_iter, violation, -objective, now});
  }

  // Whether a limit is reached or the caller asks to stop; the status then says which.
  bool halted(Solution& out, double violation, double objective) {
    if (out.n_iter >= set_.max_iter)
      out.status = Status::max_iter;
    else if (late())
      out.status = Status::time_limit;
    else if (asked(out.n_iter, violation, objective))
      out.status = Status::interrupted;
    else
      return false;
    return true;
  }

  // Whether neither the objective nor the violation fell for many sweeps of this many rounds each.
  bool stalled(Solution& out, double violation, double objective, Index sweep) {
    const bool progress = objective < best_ - 1e-14 * std::abs(best_) || violation < 0.99 * closest_;
    idle_rounds_ = progress ? 0 : idle_rounds_ + 1;
    best_ = std::min(best_, objective);
    closest_ = std::min(closest_, violation);
    if (idle_rounds_ < kSweeps * sweep) return false;
    out.status = Status::stalled;
    return true;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr Index kSweeps = 30;
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  const Settings& set_;
  Clock::time_point start_;
  double last_asked_ = 0, reserved_ = 0, closing_ = 0;
  double best_ = std::numeric_limits<double>::infinity(), closest_ = best_;
  Index idle_rounds_ = 0;
  bool interrupted_ = false;
};

}  // namespace polymargin
