#include "dual/solve.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "dual/levels.hpp"
#include "dual/row_policy.hpp"
#include "margin_policy.hpp"

namespace polymargin {

namespace {

constexpr Index kLarge = 8192;   // rows from which on a problem begins with some of them ...
constexpr Index kHurried = 512;  // ... and where time is limited, so that there is soon a machine of use

// The thinned problem owns what its record points to.
struct ThinRows : Thinned {
  explicit ThinRows(const DualProblem& p)
      : Thinned(p.rows.size, Labels(p)),
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

 private:
  struct Labels {
    explicit Labels(const DualProblem& p) : label(p.rows.size) {
      for (Index c = 0; c + 1 < p.segments.size; ++c)
        std::fill(label.begin() + p.segments[c], label.begin() + p.segments[c + 1], c);
    }
    Index operator()(Index i) const { return label[i]; }
    std::vector<Index> label;
  };
};

struct ThinMargins : Thinned {
  explicit ThinMargins(const MarginProblem& p)
      : Thinned(p.rows.size, [&](Index i) { return p.label[i]; }),
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

// A start that is not zero is near the solution already, or the only feasible point at hand.
bool begins_small(Index n, const std::vector<double>& alpha, const Settings& settings) {
  return n > (std::isfinite(settings.time_limit) ? kHurried : kLarge) &&
         std::all_of(alpha.begin(), alpha.end(), [](double a) { return a == 0; });
}

// There was no time for more than a part of the rows: its machine is that of them all as well as it can be known, with bounds
// that are beyond those of the whole.
Solution scattered(const Thinned& thin, const Solution& found, Index n) {
  Solution out = found;
  const std::size_t h = thin.at.size(), w = found.alpha.size() / h;
  out.alpha.assign(n * w, 0.0), out.gradient.assign(n * w, 0.0);
  for (std::size_t c = 0; c < w; ++c)
    for (std::size_t k = 0; k < h; ++k) out.alpha[c * n + thin.at[k]] = found.alpha[c * h + k];
  out.exact = false;
  out.violation = out.primal = std::numeric_limits<double>::infinity();
  out.dual = -out.primal;
  return out;
}

template <class ThinProblem, class Policy, class Problem, class T>
Solution by_levels(const Problem& problem, Policy& policy, const KernelBlocks<T>& K,
                   std::unique_ptr<RowCache<T>>& cache, std::vector<double> alpha, const Settings& settings,
                   Team& team) {
  const Index n = problem.rows.size;
  WorkingSets<Policy> engine(policy, K, problem.rows, cache, settings, team);
  if (!begins_small(n, alpha, settings)) return engine.run(std::move(alpha), {}, 0);
  const ThinProblem thin(problem);
  if (2 * static_cast<Index>(thin.at.size()) > n) return engine.run(std::move(alpha), {}, 0);  // many small classes
  Settings coarse = settings;
  coarse.keeps_rows = false;
  coarse.tol = std::max(settings.tol, kCoarseTol);
  std::unique_ptr<RowCache<T>> own;
  Solution found = solve(thin.problem, K, own, std::vector<double>(thin.at.size() * policy.width(), 0.0), coarse, team);
  own.reset();
  if (found.status != Status::solved && found.status != Status::stalled) return scattered(thin, found, n);
  thin.scores(found);
  Start start = start_from(engine, policy, thin, found, n);
  Solution out = engine.run(std::move(start.alpha), std::move(start.active), found.n_iter);
  // Zero, where all began, is better than a point that was left on the way.
  const bool done = out.status == Status::solved || out.status == Status::stalled;
  if (out.exact && (done || out.dual >= 0)) return out;
  found.status = out.status, found.n_iter = out.n_iter;
  return scattered(thin, found, n);
}

}  // namespace

template <class T>
Solution solve(const DualProblem& problem, const KernelBlocks<T>& K, std::unique_ptr<RowCache<T>>& cache,
               std::vector<double> alpha, const Settings& settings, Team& team) {
  RowPolicy<T> policy(problem, K, alpha, settings, team);
  return by_levels<ThinRows>(problem, policy, K, cache, std::move(alpha), settings, team);
}

template <class T>
Solution solve(const MarginProblem& problem, const KernelBlocks<T>& K, std::unique_ptr<RowCache<T>>& cache,
               std::vector<double> alpha, const Settings& settings, Team& team) {
  MarginPolicy<T> policy(problem, K, settings, team);
  return by_levels<ThinMargins>(problem, policy, K, cache, std::move(alpha), settings, team);
}

#define POLYMARGIN_INSTANTIATE(Problem, T)                                                                            \
  template Solution solve(const Problem&, const KernelBlocks<T>&, std::unique_ptr<RowCache<T>>&, std::vector<double>, \
                          const Settings&, Team&);
POLYMARGIN_INSTANTIATE(DualProblem, float)
POLYMARGIN_INSTANTIATE(DualProblem, double)
POLYMARGIN_INSTANTIATE(MarginProblem, float)
POLYMARGIN_INSTANTIATE(MarginProblem, double)
#undef POLYMARGIN_INSTANTIATE

}  // namespace polymargin
