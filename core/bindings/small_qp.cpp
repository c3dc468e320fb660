// The small dense quadratic program of the solvers, on its own: for cutting planes.
#include "arguments.hpp"
#include "dual/pair_steps.hpp"

namespace polymargin {
namespace {

Array solve_qp(Matrix<double> Q, Vector<double> linear, Vector<double> upper, Vector<Index> groups,
               Vector<double> alpha, double tol, Index max_steps) {
  const Index m = length(Q, 0);
  if (!is_shape(Q, m, m)) refuse("Q must be square");
  for (Index size : {span(linear).size, span(upper).size, span(alpha).size})
    if (size != m) refuse("linear, upper and alpha need one entry per row of Q");
  check_numbers(span(linear), -kLargest, kLargest, "linear");
  check_numbers(span(upper), 0, kInfinite, "upper");
  check_numbers(span(alpha), -kLargest, kLargest, "alpha");
  check_run(tol, max_steps, 0);
  const Span<const Index> g = span(groups);
  check_offsets(g, m, "groups", "variables");
  return as_vector(without_gil([&] {
    PairSteps<double> steps;
    DenseQp<double>& qp = steps.qp;
    std::vector<Index> sizes, parts{0};
    for (Index k = 0; k + 1 < g.size; ++k) sizes.push_back(g[k + 1] - g[k]), parts.push_back(k + 1);
    qp.reset(std::move(sizes), std::move(parts));
    qp.blocks = {{Q.data(), m}};
    for (Index i = 0; i < m; ++i) {
      qp.high[i] = upper.data()[i], qp.diagonal[i] = Q.data()[i * m + i];
      qp.z[i] = alpha.data()[i], qp.gradient[i] = -linear.data()[i];
    }
    qp.add_change(std::vector<double>(m, 0.0), qp.gradient);
    steps.begin();
    steps.run_working_set(tol, max_steps, [] { return true; });
    return qp.z;
  }));
}

}  // namespace

void bind_small_qp(nb::module_& m) {
  using namespace nb::literals;
  m.def("solve_qp", &solve_qp, "Q"_a, "linear"_a, "upper"_a, "groups"_a, "alpha"_a, "tol"_a, "max_steps"_a,
        "min 1/2 a'Qa - linear'a, 0 <= a <= upper, the sum of each group (offsets) kept as it is in alpha.");
}

}  // namespace polymargin
