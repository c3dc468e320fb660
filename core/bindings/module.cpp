#include "arguments.hpp"

NB_MODULE(_core, m) {
  using namespace polymargin;
  nb::set_leak_warnings(
      false);  // objects that an interpreter still holds in a traceback when it exits are not our leaks
  m.doc() = "The compiled core: kernel blocks, solvers and scores.";
  bind_codes(m);
  bind_criterion(m);
  bind_kernels(m);
  bind_landmarks(m);
  bind_linear(m);
  bind_neighbors(m);
  bind_scores(m);
  bind_small_qp(m);
  bind_solvers(m);
}
