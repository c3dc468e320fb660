#include "dual/solve.hpp"

#include <algorithm>

#include "dual/levels.hpp"
#include "dual/row_policy.hpp"

namespace polymargin {

namespace {

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

}  // namespace

template <class T>
Solution solve(const DualProblem& problem, const KernelBlocks<T>& K, std::unique_ptr<RowCache<T>>& cache,
               std::vector<double> alpha, const Settings& settings, Team& team) {
  RowPolicy<T> policy(problem, K, alpha, settings, team);
  return by_levels<ThinRows>(problem, policy, K, cache, std::move(alpha), settings, team);
}

#define POLYMARGIN_INSTANTIATE(T)                                                                    \
  template Solution solve(const DualProblem&, const KernelBlocks<T>&, std::unique_ptr<RowCache<T>>&, \
                          std::vector<double>, const Settings&, Team&);
POLYMARGIN_INSTANTIATE(float)
POLYMARGIN_INSTANTIATE(double)
#undef POLYMARGIN_INSTANTIATE

}  // namespace polymargin
