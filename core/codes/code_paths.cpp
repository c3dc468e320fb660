#include "codes/code_paths.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <mutex>

#include "codes/column_rows.hpp"
#include "dual/pair_steps.hpp"

namespace polymargin {

namespace {

constexpr Index kCopied = 600;  // rows: up to this many, steps on a copy that stays in cache pay for the copy

// One column on one training set, along all C.
class Path {
 public:
  Path(const CodePaths& paths, const CodePaths::Fold& fold, Index column, const double* K, Index n)
      : p_(paths),
        K_(K),
        n_(n),
        goal_(fold.train.size <= kPolished ? std::min(p_.tol, kPolishedTol) : p_.tol),
        test_(adjacent({fold.test.begin(), fold.test.end()})) {
    for (Index c = 0; c < p_.classes(); ++c) {  // of many classes, a pair has the rows of two
      const int sign = p_.code[c * p_.columns() + column];
      if (sign == 0) continue;
      const auto first = std::lower_bound(fold.train.begin(), fold.train.end(), p_.segments[c]);
      for (Index k = first - fold.train.begin(); k < fold.train.size && fold.train[k] < p_.segments[c + 1]; ++k) {
        const Index i = fold.train[k];
        rows_.row.push_back(i), rows_.y.push_back(sign), rows_.diagonal.push_back(K[i * n + i]);
        weight_.push_back(fold.weight[k]);
      }
    }
    const Index m = rows_.size();
    rows_.upper.resize(m), rows_.ridge.resize(m), copy_.resize(m <= kCopied ? m * m : 0);
    const std::vector<Adjacent> parts = adjacent(rows_.row);
    if (m <= kCopied)
      hold_copy<double>(parts, {K, n}, copy_.data(), steps_.qp);
    else
      hold_in_place<double>(parts, {K, n}, steps_.qp);
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
      rows_.upper[i] = p_.squared ? infinity : C * weight_[i], rows_.ridge[i] = p_.squared ? 1 / (C * weight_[i]) : 0;
      rows_.put(i, i, std::clamp(scale * q.z[i], rows_.low(i), rows_.high(i)), q);  // rounding
    }
    q.add_change(std::vector<double>(q.size(), 0.0), q.gradient);
    steps_.begin();
    return steps_.run(p_.tol, goal_, p_.max_iter, [&] { return !stop(); }) ? steps_.status() : Status::interrupted;
  }

  double violation() const { return steps_.violation(); }

  // f = K z + b of the test rows.
  void scores(double* f) {
    ColumnSolution out;
    steps_.finish();
    rows_.certify(steps_.qp.z, steps_.qp.gradient, out);
    std::vector<const double*> shifted(out.at.size());
    for (const Adjacent& part : test_) {
      std::fill_n(f + part.at, part.size, out.bias);
      for (std::size_t r = 0; r < shifted.size(); ++r) shifted[r] = K_ + out.at[r] * n_ + part.row;
      steps<double>().add_rows(shifted.data(), out.b.data(), static_cast<Index>(shifted.size()), 0, part.size,
                               f + part.at);
    }
  }

 private:
  const CodePaths& p_;
  const double* K_;
  Index n_;
  double goal_;
  std::vector<Adjacent> test_;
  ColumnRows rows_;
  std::vector<double> copy_, weight_;
  PairSteps<double> steps_;
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
  const auto one = [&](Index task) {
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
  };
  team.run(p.columns() * n_folds, one, false, [&] { stop(); });
  return report;
}

}  // namespace polymargin
