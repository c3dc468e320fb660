#include "codes/code_paths.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <mutex>

#include "dual/box_bias.hpp"
#include "dual/pair_steps.hpp"

namespace polymargin {

namespace {

constexpr Index kCopied = 600;  // rows: up to this many, steps on a copy that stays in cache pay for the copy
// Up to this many training rows, solutions are refined to rounding error, as in single fits (code_solver.cpp).
constexpr Index kPolished = 256;
constexpr double kPolishedTol = 1e-12;

Index class_of(Span<const Index> segments, Index row) {
  return std::upper_bound(segments.begin(), segments.end(), row) - segments.begin() - 1;
}

struct Run {  // adjacent rows
  Index row, at, size;
};
std::vector<Run> runs(const std::vector<Index>& rows) {
  std::vector<Run> out;
  for (std::size_t k = 0; k < rows.size(); ++k) {
    if (out.empty() || out.back().row + out.back().size != rows[k]) out.push_back({rows[k], static_cast<Index>(k), 0});
    ++out.back().size;
  }
  return out;
}

// One column on one training set, along all C.
class Path {
 public:
  Path(const CodePaths& paths, const CodePaths::Fold& fold, Index column, const double* K, Index n)
      : p_(paths), K_(K), n_(n), goal_(fold.train.size <= kPolished ? std::min(p_.tol, kPolishedTol) : p_.tol) {
    std::vector<Index>& rows = index_;
    for (Index k = 0; k < fold.train.size; ++k) {
      const Index c = class_of(p_.segments, fold.train[k]);
      const int sign = p_.code[c * p_.columns() + column];
      if (sign == 0) continue;
      rows.push_back(fold.train[k]);
      sign_.push_back(sign);
      weight_.push_back(fold.weight[k]);
    }
    const Index m = static_cast<Index>(rows.size());
    std::vector<Run> parts = runs(rows);
    DenseQp<double>& q = steps_.qp;
    if (m <= kCopied) {
      copy_.resize(m * m);
      for (Index k = 0; k < m; ++k)
        for (const Run& part : parts)
          std::copy_n(K + rows[k] * n + part.row, part.size, copy_.data() + k * m + part.at);
      q.reset({m}, {0, 1});
      q.blocks = {{copy_.data(), m}};
    } else {
      std::vector<Index> sizes;
      for (const Run& part : parts) sizes.push_back(part.size);
      q.reset(sizes, {0, static_cast<Index>(sizes.size())});
      for (const Run& a : parts)
        for (const Run& b : parts) q.blocks.push_back({K + a.row * n + b.row, n});
    }
    for (Index k = 0; k < m; ++k) q.diagonal[k] = K[rows[k] * n + rows[k]];
    test_ = runs({fold.test.begin(), fold.test.end()});
    upper_.resize(sign_.size());
  }

  // Solves for the k-th C. A solution at the bounds scales with C, one inside them stays.
  Status solve(Index k, const std::function<bool()>& stop) {
    const double C = p_.C[k], infinity = std::numeric_limits<double>::infinity();
    DenseQp<double>& q = steps_.qp;
    Index n_free = 0, n_bound = 0;
    for (Index i = 0; k > 0 && i < q.size(); ++i)
      if (q.z[i] != 0) ++(q.can_grow(i) && q.can_fall(i) ? n_free : n_bound);
    const double scale = n_bound > n_free ? C / p_.C[k - 1] : 1.0;
    for (Index i = 0; i < q.size(); ++i) {
      const double most = p_.squared ? infinity : C * weight_[i];
      upper_[i] = most;
      (sign_[i] > 0 ? q.high : q.low)[i] = sign_[i] > 0 ? most : -most;
      q.ridge[i] = p_.squared ? 1 / (C * weight_[i]) : 0;
      q.z[i] = std::clamp(scale * q.z[i], q.low[i], q.high[i]);  // rounding
      q.gradient[i] = -sign_[i];
    }
    q.add_change(std::vector<double>(q.size(), 0.0), q.gradient);
    steps_.begin();
    return steps_.run(p_.tol, goal_, p_.max_iter, [&] { return !stop(); }) ? steps_.status() : Status::interrupted;
  }

  double violation() const { return steps_.violation(); }

  // f = K z + b of the test rows.
  void scores(double* f) {
    rows_.clear(), coef_.clear();
    const std::vector<double>& z = steps_.qp.z;
    for (std::size_t k = 0; k < z.size(); ++k)
      if (z[k] != 0) rows_.push_back(K_ + index_[k] * n_), coef_.push_back(z[k]);
    steps_.finish();
    const double b = p_.squared ? -steps_.multipliers()[0] : box_bias(sign_, upper_, steps_.qp.gradient);
    std::vector<const double*> shifted(rows_.size());
    for (const Run& part : test_) {
      std::fill_n(f + part.at, part.size, b);
      for (std::size_t r = 0; r < rows_.size(); ++r) shifted[r] = rows_[r] + part.row;
      steps<double>().add_rows(shifted.data(), coef_.data(), static_cast<Index>(rows_.size()), 0, part.size,
                               f + part.at);
    }
  }

 private:
  const CodePaths& p_;
  const double* K_;
  Index n_;
  double goal_;
  std::vector<Index> index_;  // the row of each variable
  std::vector<double> copy_;
  PairSteps<double> steps_;
  std::vector<double> sign_, weight_, upper_, coef_;
  std::vector<const double*> rows_;
  std::vector<Run> test_;
};

}  // namespace

PathReport run_paths(const CodePaths& p, const double* K, Index n, double* F, const std::function<bool()>& stop,
                     Team& team) {
  using Clock = std::chrono::steady_clock;
  const Index n_folds = static_cast<Index>(p.folds.size()), n_C = p.C.size;
  std::vector<Index> first(n_folds + 1, 0);
  for (Index f = 0; f < n_folds; ++f) first[f + 1] = first[f] + p.folds[f].test.size;
  PathReport report;
  report.seconds.assign(n_folds * n_C, 0.0);
  std::mutex mutex;
  std::atomic<bool> ended{false};
  team.run(p.columns() * n_folds, [&](Index task) {
    const Index column = task / n_folds, f = task % n_folds;
    Path path(p, p.folds[f], column, K, n);
    for (Index k = 0; k < n_C && !ended; ++k) {
      const auto begun = Clock::now();
      const Status status = path.solve(k, stop);
      const double seconds = std::chrono::duration<double>(Clock::now() - begun).count();
      path.scores(F + (column * n_C + k) * first[n_folds] + first[f]);
      const bool end = status == Status::interrupted || stop();
      const std::lock_guard<std::mutex> lock(mutex);
      report.seconds[f * n_C + k] += seconds;
      report.violation = std::max(report.violation, path.violation());
      if (status != Status::solved && report.status != Status::interrupted) report.status = status;
      if (end) ended = true, report.status = Status::interrupted;
    }
  });
  return report;
}

}  // namespace polymargin
