// A solver as Python runs it: it polls signals and the caller's stop function, and says how it ended.
#pragma once
#include <algorithm>
#include <chrono>
#include <functional>

#include "arguments.hpp"
#include "base/kernel.hpp"
#include "base/team.hpp"
#include "dual/dual_problem.hpp"

namespace polymargin {

// stop(n_iter, violation, dual, seconds) -> bool and signals are polled about ten times a second. Both arguments must outlive
// the run.
inline std::function<bool(const Progress&)> asking(const nb::object& stop, bool& signalled) {
  return [&stop, &signalled](const Progress& now) {
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

inline const char* name_of(Status status) {
  static const char* const names[] = {"solved", "max_iter", "time_limit", "stalled", "interrupted"};
  return names[static_cast<int>(status)];
}

inline nb::dict report(const Solution& out, bool signalled) {
  nb::dict result;
  result["status"] = name_of(out.status);
  result["n_iter"] = out.n_iter;
  result["violation"] = out.violation;
  result["primal"] = out.primal;
  result["dual"] = out.dual;
  result["signalled"] = signalled;
  return result;
}

// run(rows of Z, first row, team) over batches of rows; signals are polled between them. Batches grow until one takes a
// tenth of a second: each of them prepares the support vectors again, and a signal should not wait long. Results must
// not depend on the batch. A callable counts rows from the first of Z, and Python polls signals for it: one batch.
template <class Run>
void in_batches(const Data& Z, const Kernel& kernel, int threads, Run run) {
  using Clock = std::chrono::steady_clock;
  Team team(threads);
  Index batch = kernel.kind == KernelKind::callable ? Z.n : Index(256) * team.size();
  for (Index from = 0, to = 0; from < Z.n; from = to) {
    if (from > 0 && PyErr_CheckSignals() != 0) throw nb::python_error();
    to = std::min(from + batch, Z.n);
    const nb::gil_scoped_release free;
    const Clock::time_point start = Clock::now();
    run(rows_of(Z, from, to), from, team);
    if (Clock::now() - start < std::chrono::milliseconds(100)) batch *= 4;
  }
}

}  // namespace polymargin
