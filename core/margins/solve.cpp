#include "margins/solve.hpp"

#include "dual/levels.hpp"
#include "margins/margin_policy.hpp"

namespace polymargin {

namespace {

struct ThinMargins : Thinned {
  explicit ThinMargins(const MarginProblem& p)
      : Thinned(p.label),
        rows(of(p.rows)),
        label(of(p.label)),
        upper(of(p.upper, false)),
        ridge(of(p.ridge, true)),
        problem(p) {
    problem.rows = span(rows), problem.label = span(label), problem.upper = span(upper), problem.ridge = span(ridge);
  }

  void scores(Solution&) const {}

  std::vector<Index> rows, label;
  std::vector<double> upper, ridge;
  MarginProblem problem;
};

}  // namespace

template <class T>
Solution solve(const MarginProblem& problem, const KernelBlocks<T>& K, std::unique_ptr<RowCache<T>>& cache,
               std::vector<double> b, const Settings& settings, Team& team) {
  MarginPolicy<T> policy(problem, K, settings, team);
  return by_levels<ThinMargins>(problem, policy, K, cache, std::move(b), settings, team);
}

template Solution solve(const MarginProblem&, const KernelBlocks<float>&, std::unique_ptr<RowCache<float>>&,
                        std::vector<double>, const Settings&, Team&);
template Solution solve(const MarginProblem&, const KernelBlocks<double>&, std::unique_ptr<RowCache<double>>&,
                        std::vector<double>, const Settings&, Team&);

}  // namespace polymargin
