#include "criterion.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <numeric>

#include "tile.hpp"

namespace polymargin {

namespace {

constexpr Index kChunk = 1024;    // steps between two looks at the clock
constexpr Index kRowsAtOnce = 8;  // of one task

// task(first row, last row) for all of 0 .. n - 1
template <class Task>
void by_rows(Index n, Team& team, const Task& task) {
  team.run((n + kRowsAtOnce - 1) / kRowsAtOnce,
           [&](Index k) { task(k * kRowsAtOnce, std::min(n, (k + 1) * kRowsAtOnce)); });
}

}  // namespace

void rbf_of_distances(const double* D, Index n, double gamma, double* K, Team& team) {
  const TileOps<double>& ops = tile_ops<double>();
  // The exponential of a distance times -gamma is what the Laplacian kernel makes of its tile.
  const Formula<double> formula{KernelKind::laplacian, gamma, 0, 0, 0};
  by_rows(n, team, [&](Index from, Index to) {
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
    margin_.push_back(problem.margin);
    problems_.emplace_back(segments, problem.classes, problem.margin);
    ClassQp& qp = problems_.back();
    for (std::size_t t = 0; t < qp.parts().size(); ++t) {
      const ClassQp::Part& p = qp.parts()[t];
      const bool negative = problem.margin && t == 1;
      const double share = 1.0 / double(problem.margin ? p.size : qp.size());
      std::fill_n(qp.z.begin() + p.at, p.size, negative ? -share : share);
      std::fill_n((negative ? qp.low : qp.high).begin() + p.at, p.size, negative ? -infinity : infinity);
    }
  }
  order_.resize(problems_.size());
  std::iota(order_.begin(), order_.end(), Index(0));
  std::stable_sort(order_.begin(), order_.end(),
                   [&](Index a, Index b) { return problems_[a].size() > problems_[b].size(); });
}

Criterion::Report Criterion::solve(const double* K, double r, double tol, Index max_steps,
                                   const std::function<bool()>& stop, Team& team) {
  Report report;
  report.minimum.resize(problems_.size());
  report.squares.resize(problems_.size());
  std::atomic<bool> stopped{false}, unfinished{false};
  std::atomic<Index> n_steps{0};
  team.run(size(), [&](Index k) {
    const Index p = order_[k];
    ClassQp& qp = problems_[p];
    double squares = 0;
    for (const ClassQp::Part& part : qp.parts())
      for (Index i = 0; i < part.size; ++i) qp.ridge[part.at + i] = r * ridge_[part.row + i];
    qp.begin(K, n_);
    for (Index made = 0; !stopped;) {
      const double q = qp.quadratic();
      const double eps = tol * (margin_[p] ? 0.5 * q : std::max(1 + r - q, 0.0));
      const Index steps = qp.steps(eps, kChunk);
      made += steps, n_steps += steps;
      if (steps < kChunk && (steps == 0 || qp.violation() > eps)) break;  // solved, or nothing left to gain
      if (made >= max_steps) {
        unfinished = true;
        break;
      }
      if (stop()) stopped = true;
    }
    report.minimum[p] = qp.quadratic();
    for (Index i = 0; i < qp.size(); ++i) squares += qp.ridge[i] / r * qp.z[i] * qp.z[i];
    report.squares[p] = squares;
  });
  report.n_steps = n_steps;
  report.status = stopped ? Status::interrupted : unfinished ? Status::max_iter : Status::solved;
  return report;
}

// use(i, S_i): the rows of S one after another, by all of the team.
template <class Use>
void Criterion::each_row(Span<const double> weight, Team& team, const Use& use) const {
  by_rows(n_, team, [&](Index from, Index to) {
    std::vector<double> S(n_);
    for (Index i = from; i < to; ++i) {
      const Index c = std::upper_bound(segments_.begin(), segments_.end(), i) - segments_.begin() - 1;
      std::fill(S.begin(), S.end(), 0.0);
      for (Index p : in_class_[c]) {
        const ClassQp& qp = problems_[p];
        const auto own = std::find_if(qp.parts().begin(), qp.parts().end(),
                                      [&](const ClassQp::Part& part) { return part.row == segments_[c]; });
        const double coef = weight[p] * qp.z[own->at + i - own->row];
        if (coef == 0) continue;
        for (const ClassQp::Part& part : qp.parts()) {
          const double* z = qp.z.data() + part.at;
          double* s = S.data() + part.row;
          for (Index k = 0; k < part.size; ++k) s[k] += coef * z[k];
        }
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

void Criterion::weigh(double* K, Span<const double> weight, Team& team) const {
  each_row(weight, team, [&](Index i, const double* S) {
    double* k = K + i * n_;
    for (Index j = 0; j < n_; ++j) k[j] *= S[j];
  });
}

}  // namespace polymargin
