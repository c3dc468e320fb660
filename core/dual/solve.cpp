#include "dual/solve.hpp"

#include <algorithm>

#include "dual/levels.hpp"
#include "dual/newton.hpp"
#include "dual/row_policy.hpp"

namespace polymargin {

namespace {

struct ThinRows : Thinned {
  explicit ThinRows(const DualProblem& p)
      : Thinned(span(p.labels())),
        rows(of(p.rows)),
        linear(p.linear.begin(), p.linear.end()),
        upper(of(p.upper, false)),
        lower(of(p.lower, false)),
        ridge(of(p.ridge, true)),
        problem(p) {
    for (std::size_t k = 0; k < at.size(); ++k) linear[k] = p.linear[at[k]];
    linear.resize(at.size());
    for (Index s : p.segments) segments.push_back(std::lower_bound(at.begin(), at.end(), s) - at.begin());
    problem.rows = span(rows), problem.segments = span(segments), problem.linear = span(linear);
    problem.upper = span(upper), problem.lower = span(lower), problem.ridge = span(ridge);
  }

  // The kernel's part of the gradient.
  void scores(Solution& s) const {
    for (std::size_t k = 0; k < at.size(); ++k) s.gradient[k] += linear[k] - ridge[k] * s.alpha[k];
  }

  std::vector<Index> rows, segments;
  std::vector<double> linear, upper, lower, ridge;
  DualProblem problem;
};

constexpr Index kProbe = 2048;         // rows of a problem thinned for a look at it
constexpr double kManySupport = 0.25;  // of them: with fewer support vectors, working sets find them soonest

// Whether many rows are support vectors, by the look of some.
template <class T>
bool has_many_support(const DualProblem& problem, const KernelBlocks<T>& K, const Settings& settings, Team& team) {
  const ThinRows thin(problem);
  const Index n = static_cast<Index>(thin.at.size());
  if (2 * n > problem.rows.size) return false;  // many small classes
  if (n > kProbe) return has_many_support(thin.problem, K, settings, team);
  std::unique_ptr<RowCache<T>> own;
  const Solution found = solve(thin.problem, K, own, std::vector<double>(n, 0.0), coarse(settings), team);
  const auto rest = std::count(found.alpha.begin(), found.alpha.end(), 0.0);
  return double(n - rest) >= kManySupport * double(n);
}

}  // namespace

template <class T>
Solution solve(const DualProblem& problem, const KernelBlocks<T>& K, std::unique_ptr<RowCache<T>>& cache,
               std::vector<double> alpha, const Settings& settings, Team& team) {
  Settings rest = settings;
  NewtonStart start;
  if (suits_newton(problem, K.serial(), K.cost(), alpha, settings) && has_many_support(problem, K, settings, team)) {
    start = newton_start(problem, K, cache, settings, team);
    if (!start.alpha.empty()) alpha = std::move(start.alpha);
    rest.max_iter -= start.n_iter, rest.time_limit -= start.seconds;
    if (start.interrupted) rest.stop = [](const Progress&) { return true; };
  }
  RowPolicy<T> policy(problem, K, alpha, rest, team);
  Solution out = by_levels<ThinRows>(problem, policy, K, cache, std::move(alpha), rest, team);
  out.n_iter += start.n_iter;
  return out;
}

template Solution solve(const DualProblem&, const KernelBlocks<float>&, std::unique_ptr<RowCache<float>>&,
                        std::vector<double>, const Settings&, Team&);
template Solution solve(const DualProblem&, const KernelBlocks<double>&, std::unique_ptr<RowCache<double>>&,
                        std::vector<double>, const Settings&, Team&);

}  // namespace polymargin
