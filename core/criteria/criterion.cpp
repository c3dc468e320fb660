#include "criteria/criterion.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <numeric>

#include "simd/tile.hpp"

namespace polymargin {

namespace {

constexpr Index kChunk = 1024;    // steps between two looks at the clock
constexpr Index kRowsAtOnce = 8;  // of one task

}  // namespace

void rbf_of_distances(const double* D, Index n, double gamma, double* K, Team& team) {
  const TileOps<double>& ops = tile_ops<double>();
  // exp(-gamma distance) is what the Laplacian kernel computes from its tile.
  const Formula<double> formula{KernelKind::laplacian, gamma, 0, 0, 0};
  team.parts(n, kRowsAtOnce, [&](Index from, Index to) {
    std::vector<double> row(n + 2 * kLanes, 0.0);  // `finish` reads whole panels
    for (Index i = from; i < to; ++i) {
      std::copy(D + i * n, D + (i + 1) * n, row.begin());
      ops.finish(formula, row.data(), 0, 1, n, nullptr, nullptr, K + i * n, n);
    }
  });
}

Criterion::Criterion(Span<const Index> segments, const std::vector<Problem>& problems, Span<const double> ridge)
    : n_(segments[segments.size - 1]),
      ridge_(ridge.begin(), ridge.end()),
      in_class_(segments.size - 1),
      segments_(segments.begin(), segments.end()) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const Problem& problem : problems) {
    for (Index c : problem.classes) in_class_[c].push_back(static_cast<Index>(problems_.size()));
    problems_.push_back({{}, {}, problem.margin});
    Inner& inner = problems_.back();
    std::vector<Index> sizes, groups{0};
    for (Index c : problem.classes) {
      inner.rows.push_back(segments[c]);
      sizes.push_back(segments[c + 1] - segments[c]);
      groups.push_back(static_cast<Index>(sizes.size()));
    }
    // The sums of both classes of a margin are fixed, of a radius that of all rows.
    DenseQp<double>& qp = inner.steps.qp;
    qp.reset(sizes, problem.margin ? groups : std::vector<Index>{0, groups.back()});
    for (Index i = 0; i < qp.size(); ++i) {
      const bool negative = problem.margin && qp.part_of[i] == 1;
      const double share = 1.0 / double(problem.margin ? sizes[qp.part_of[i]] : qp.size());
      qp.z[i] = negative ? -share : share;
      (negative ? qp.low : qp.high)[i] = negative ? -infinity : infinity;
    }
  }
  order_.resize(problems_.size());
  std::iota(order_.begin(), order_.end(), Index(0));
  std::stable_sort(order_.begin(), order_.end(),
                   [&](Index a, Index b) { return problems_[a].steps.qp.size() > problems_[b].steps.qp.size(); });
}

Criterion::Report Criterion::solve(const double* K, double r, double tol, Index max_steps,
                                   const std::function<bool()>& stop, Team& team) {
  Report report;
  report.minimum.resize(problems_.size());
  report.squares.resize(problems_.size());
  std::atomic<bool> stopped{false}, unfinished{false};
  std::atomic<Index> n_steps{0};
  const auto one = [&](Index k) {
    const Index p = order_[k];
    Inner& inner = problems_[p];
    PairSteps<double>& steps = inner.steps;
    DenseQp<double>& qp = steps.qp;
    qp.blocks.clear();
    for (Index a : inner.rows)
      for (Index b : inner.rows) qp.blocks.push_back({K + a * n_ + b, n_});
    for (Index i = 0; i < qp.size(); ++i) {
      const Index row = inner.rows[qp.part_of[i]] + i - qp.first[qp.part_of[i]];
      qp.ridge[i] = r * ridge_[row], qp.diagonal[i] = K[row * n_ + row], qp.gradient[i] = 0;
    }
    qp.add_change(std::vector<double>(qp.size(), 0.0), qp.gradient);
    auto minimum = [&] { return std::inner_product(qp.z.begin(), qp.z.end(), qp.gradient.begin(), 0.0); };
    steps.begin();
    for (double q = minimum();;) {
      const double eps = tol * (inner.margin ? 0.5 * q : std::max(1 + r - q, 0.0));
      steps.run(eps, eps, std::min(steps.n_iter() + kChunk, max_steps), [] { return true; });
      const double now = minimum();
      // The tolerance falls with the minimum; it is reached when the minimum has settled.
      if (steps.status() == Status::stalled || (steps.status() == Status::solved && !(now < q))) break;
      q = now;
      if (steps.n_iter() >= max_steps && steps.status() != Status::solved) {
        unfinished = true;
        break;
      }
      if (stopped || stop()) {
        stopped = true;
        break;
      }
    }
    n_steps += steps.n_iter();
    double squares = 0;
    for (Index i = 0; i < qp.size(); ++i) squares += qp.ridge[i] / r * qp.z[i] * qp.z[i];
    report.minimum[p] = minimum();
    report.squares[p] = squares;
  };
  team.run(size(), one, false, [&] { stop(); });
  report.n_steps = n_steps;
  report.status = stopped ? Status::interrupted : unfinished ? Status::max_iter : Status::solved;
  return report;
}

// use(i, S_i): the rows of S one after another, by all of the team.
template <class Use>
void Criterion::each_row(Span<const double> weight, Team& team, const Use& use) const {
  team.parts(n_, kRowsAtOnce, [&](Index from, Index to) {
    std::vector<double> S(n_);
    for (Index i = from; i < to; ++i) {
      const Index c = std::upper_bound(segments_.begin(), segments_.end(), i) - segments_.begin() - 1;
      std::fill(S.begin(), S.end(), 0.0);
      for (Index p : in_class_[c]) {
        const std::vector<Index>& rows = problems_[p].rows;
        const DenseQp<double>& qp = problems_[p].steps.qp;
        const Index own = std::find(rows.begin(), rows.end(), segments_[c]) - rows.begin();
        const double coef = weight[p] * qp.z[qp.first[own] + i - segments_[c]];
        if (coef == 0) continue;
        for (Index q = 0; q < qp.parts(); ++q)
          steps<double>().axpy(coef, qp.z.data() + qp.first[q], S.data() + rows[q], qp.sizes[q]);
      }
      use(i, S.data());
    }
  });
}

double Criterion::weighted_sum(const double* K, const double* D, Span<const double> weight, Team& team) const {
  std::vector<double> sums(n_, 0.0);
  each_row(weight, team, [&](Index i, const double* S) {
    const double *k = K + i * n_, *d = D + i * n_;
    double sum = 0;
    for (Index j = 0; j < n_; ++j) sum += S[j] * k[j] * d[j];
    sums[i] = sum;
  });
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

// With P = S o K:  sum_ij P_ij (x_i - x_j)^2 = 2 sum_i x_i^2 sum_{j != i} P_ij - 4 sum_i x_i sum_{j > i} P_ij x_j
// Few of the P_ij differ from zero, and rows of X are added up as they lie in memory. Sums of a task are kept apart and
// added in order: the result does not depend on the threads.
std::vector<double> Criterion::feature_sums(const double* K, const double* X, Index d, Span<const double> weight,
                                            Team& team) const {
  const Steps<double>& pass = steps<double>();
  std::vector<double> parts((n_ + kRowsAtOnce - 1) / kRowsAtOnce * d, 0.0);
  each_row(weight, team, [&](Index i, const double* S) {
    const double *k = K + i * n_, *x = X + i * d;
    std::vector<const double*> rows;
    std::vector<double> coef, M(d, 0.0);
    double r = 0;
    for (Index j = 0; j < n_; ++j) {
      if (S[j] == 0 || j == i) continue;
      const double P = S[j] * k[j];
      r += P;
      if (j > i) rows.push_back(X + j * d), coef.push_back(P);
    }
    pass.add_rows(rows.data(), coef.data(), static_cast<Index>(rows.size()), 0, d, M.data());
    double* part = parts.data() + i / kRowsAtOnce * d;
    for (Index t = 0; t < d; ++t) part[t] += x[t] * (2 * r * x[t] - 4 * M[t]);
  });
  std::vector<double> sums(d, 0.0);
  for (std::size_t at = 0; at < parts.size(); at += d)
    for (Index t = 0; t < d; ++t) sums[t] += parts[at + t];
  return sums;
}

}  // namespace polymargin
