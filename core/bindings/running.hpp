// A solver as Python runs it: it hears signals and the caller's wish to stop, and says how it ended.
#pragma once
#include <functional>

#include "arguments.hpp"
#include "dual_problem.hpp"

namespace polymargin {

// stop(n_iter, violation, dual, seconds) -> bool is asked some ten times a second; so are signals. Both arguments must outlive
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

inline nb::dict report(const Solution& out, bool signalled) {
  static const char* const names[] = {"solved", "max_iter", "time_limit", "stalled", "interrupted"};
  nb::dict result;
  result["status"] = names[static_cast<int>(out.status)];
  result["n_iter"] = out.n_iter;
  result["violation"] = out.violation;
  result["primal"] = out.primal;
  result["dual"] = out.dual;
  result["signalled"] = signalled;
  return result;
}

}  // namespace polymargin
