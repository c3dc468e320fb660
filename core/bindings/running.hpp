// A solver as Python runs it: it polls signals and the caller's stop function, and says how it ended.
#pragma once
#include <chrono>

#include "arguments.hpp"
#include "base/margin_loss.hpp"
#include "base/solution.hpp"

namespace polymargin {

inline const char* name_of(Status status) {
  static const char* const names[] = {"solved", "max_iter", "time_limit", "stalled", "interrupted"};
  return names[static_cast<int>(status)];
}

// The limits of a run. stop(n_iter, violation, dual, seconds) -> bool and signals are polled about ten times a second.
struct Run {
  Run(double tol, Index max_iter, double time_limit, const nb::object& stop = nb::none()) {
    check_run(tol, max_iter, time_limit, stop);
    settings.tol = tol, settings.max_iter = max_iter, settings.time_limit = time_limit;
    settings.stop = [this, stop = nb::handle(stop)](const Progress& now) {  // no copies without the GIL
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

  // What a call does before its solver counts, and the `share` of that which it does afterwards: both pass over the
  // same arrays, and where these are fresh memory, they may take longer than a short fit.
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

inline Reference reference_of(const std::string& name) {
  return static_cast<Reference>(which(name, "reference", {"own", "mean", "none"}));
}

}  // namespace polymargin
