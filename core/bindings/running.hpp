// A solver as Python runs it: it polls signals and the caller's stop function, and says how it ended.
#pragma once
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "arguments.hpp"
#include "base/margin_loss.hpp"
#include "base/solution.hpp"

namespace polymargin {

inline const char* name_of(Status status) {
  static const char* const names[] = {"solved", "max_iter", "time_limit", "stalled", "interrupted"};
  return names[static_cast<int>(status)];
}

// The limits of a run. stop(n_iter, violation, dual, seconds) -> bool, which must outlive it, and signals are polled about ten
// times a second.
struct Run {
  Run(double tol, Index max_iter, double time_limit, const nb::object& stop) {
    check_run(tol, max_iter, time_limit, stop);
    settings.tol = tol, settings.max_iter = max_iter, settings.time_limit = time_limit;
    settings.stop = [this, &stop](const Progress& now) {
      const nb::gil_scoped_acquire gil;
      try {
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
        return !stop.is_none() && nb::cast<bool>(stop(now.n_iter, now.violation, now.dual, now.seconds));
      } catch (nb::python_error& error) {
        if (!error.matches(PyExc_KeyboardInterrupt)) throw;
        return signalled = true;
      }
    };
  }
  Run(const Run&) = delete;

  // What a call does before its solver counts, and the `share` of that which it does afterwards: both pass over the same
  // arrays, and where these are fresh memory, they may take longer than a short fit.
  void charge(double share) {
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begun_;
    settings.time_limit = std::max(settings.time_limit - (1 + share) * taken.count(), 0.5 * settings.time_limit);
  }

  nb::dict report(const Solution& out) const {
    nb::dict result;
    result["status"] = name_of(out.status);
    result["n_iter"] = out.n_iter;
    result["violation"] = out.violation;
    result["primal"] = out.primal;
    result["dual"] = out.dual;
    result["signalled"] = signalled;
    return result;
  }

  Settings settings;
  bool signalled = false;

 private:
  const std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

// Asked by all threads of a team, after every small problem: is it too late, or has a signal come?
class Alarm {
 public:
  explicit Alarm(double time_limit) : limit_(time_limit) {}

  bool operator()() {
    const Clock::time_point now = Clock::now();
    if (std::chrono::duration<double>(now - begun_).count() >= limit_) return late_ = true;
    // Signals arrive in the main thread only.
    if (std::this_thread::get_id() != caller_ || now - polled_ < std::chrono::milliseconds(50)) return false;
    polled_ = now;
    const nb::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() == 0) return false;
    PyErr_Clear();
    return signalled_ = true;
  }
  // How a run ended that would have ended like this.
  const char* status(Status without) const {
    return signalled_ ? name_of(Status::interrupted) : late_ ? name_of(Status::time_limit) : name_of(without);
  }

 private:
  using Clock = std::chrono::steady_clock;
  const double limit_;
  const Clock::time_point begun_ = Clock::now();
  const std::thread::id caller_ = std::this_thread::get_id();
  Clock::time_point polled_ = begun_;
  std::atomic<bool> late_{false};
  bool signalled_ = false;
};

inline Reference reference_of(const std::string& name) {
  return static_cast<Reference>(which(name, "reference", {"own", "mean", "none"}));
}

}  // namespace polymargin
