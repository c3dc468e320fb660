#include "margins/linear_margins.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "base/pages.hpp"
#include "base/watch.hpp"
#include "margins/margin_problem.hpp"
#include "simd/steps.hpp"
#include "simd/weight_steps.hpp"

namespace polymargin {

namespace {

constexpr Index kTile = 512;      // examples of one task when all are looked at
constexpr Index kAskEvery = 256;  // examples between two looks at the clock
constexpr Index kAhead = 8;       // examples between the first word of one and its turn
constexpr Index kPatience = 10;   // slow progress is progress: this many times as patient as a solver with working sets
constexpr double kStage = 0.1;    // share of the violation at its start that is left at the end of a stage

struct Row {
  const void *x, *at;
  Index size;
};

// Scores and variables of one example, padded to P: padding and the own class never move.
struct Bench {
  explicit Bench(Index P) : f(P), a(P), v(P), change(P) {}
  std::vector<double> f, a, v, change;
  double ref = 0;  // the own score
};

class LinearMarginSolver {
 public:
  LinearMarginSolver(const LinearMargins& problem, double* D, std::uint64_t seed, const Settings& settings, Team& team)
      : p_(problem),
        D_(D),
        set_(settings),
        team_(team),
        n_(problem.rows.size),
        T_(problem.classes),
        P_(padded_classes(problem.classes)),
        weights_(pages<double>(static_cast<std::size_t>(problem.X.d * P_), true)),
        W_(weights_.get()),
        watch_(settings),
        random_(seed),
        bench_(P_),
        features_(!problem.X.sparse()    ? dense_row
                  : problem.X.wide_index ? int64_row
                                         : int32_row),
        pass_(problem.X.wide ? static_cast<const WeightPasses&>(weight_steps<double>()) : weight_steps<float>()),
        b_(P_, 0.0),
        targets_(T_ * P_, 0.0),
        square_(n_),
        violation_(n_) {
    std::fill(W_, W_ + p_.X.d * P_, 0.0);
    for (Index y = 0; y < T_; ++y)
      for (Index c = 0; c < T_; ++c) targets_[y * P_ + c] = p_.target.size ? p_.target[y * T_ + c] : 1;
    for (Index i = 0; i < n_; ++i) square_[i] = p_.offset + squares(row(i));
  }

  Solution run(double* w, double* b) {
    begin();
    look();
    while (out_.violation > set_.tol && !stage(std::max(0.7 * set_.tol, kStage * out_.violation))) look();
    if (out_.status != Status::solved) look();
    if (out_.status == Status::stalled && out_.violation <= set_.tol) out_.status = Status::solved;
    for (Index c = 0; c < T_; ++c) {
      b[c] = p_.offset * b_[c];
      for (Index j = 0; j < p_.X.d; ++j) w[c * p_.X.d + j] = W_[j * P_ + c];
    }
    return std::move(out_);
  }

 private:
  Row row(Index i) const {
    const Data& X = p_.X;
    const Index r = p_.rows[i];
    if (!X.sparse()) return {X.at(r), nullptr, X.d};
    const Index from = X.begin(r);
    return {static_cast<const char*>(X.values) + from * (X.wide ? 8 : 4),
            static_cast<const char*>(X.indices) + from * (X.wide_index ? 8 : 4), X.end(r) - from};
  }
  double squares(const Row& r) const {
    double sum = 0;
    for (Index k = 0; k < r.size; ++k) {
      const double x = p_.X.wide ? static_cast<const double*>(r.x)[k] : static_cast<const float*>(r.x)[k];
      sum += x * x;
    }
    return sum;
  }

  void begin() {
    for (Index i = 0; i < n_; ++i) {
      const double* d = D_ + i * T_;
      if (std::all_of(d, d + T_, [](double a) { return a == 0; })) continue;
      std::copy(d, d + T_, bench_.change.begin());
      move(row(i), bench_.change.data());
    }
    order_.resize(n_);
  }

  void move(const Row& r, const double* change) {
    pass_.add[features_](r.x, r.at, r.size, change, W_, P_);
    if (p_.offset > 0)
      for (Index c = 0; c < T_; ++c) b_[c] += change[c];
  }

  // Scores and variables of example i, and its gain rates.
  Slope read(Index i, const Row& r, Bench& at) const {
    const Index y = p_.label[i];
    pass_.scores[features_](r.x, r.at, r.size, W_, P_, at.f.data());
    if (p_.offset > 0)
      for (Index c = 0; c < T_; ++c) at.f[c] += p_.offset * b_[c];
    at.ref = at.f[y];
    at.f[y] = -kBlocked;
    std::fill(at.f.begin() + T_, at.f.end(), -kBlocked);
    std::copy(D_ + i * T_, D_ + (i + 1) * T_, at.a.begin());
    at.a[y] = 0;
    return pass_.slope(at.f.data(), at.a.data(), targets_.data() + y * P_, at.ref, p_.ridge[i],
                       -std::min(p_.upper[i], 1e30), P_);
  }
  double violation(Index i, const Slope& s) const {
    const bool at_cap = p_.capped && D_[i * T_ + p_.label[i]] >= kAtCap * p_.upper[i];
    return example_violation(at_cap, s.up, s.down);
  }

  // All examples at the current weights: their violations, and what the point proves.
  void look() {
    const Index n_tasks = (n_ + kTile - 1) / kTile;
    std::vector<double> worst(n_tasks, 0.0), loss(n_tasks, 0.0), linear(n_tasks, 0.0), ridge(n_tasks, 0.0);
    team_.parts(n_, kTile, [&](Index begin, Index end) {
      Bench at(P_);
      const Index task = begin / kTile;
      for (Index i = begin; i < end; ++i) {
        const double v = violation(i, read(i, row(i), at));
        violation_[i] = static_cast<float>(v);
        worst[task] = std::max(worst[task], v);
        const double *t = targets_.data() + p_.label[i] * P_, r = p_.ridge[i], u = p_.upper[i];
        double sum = 0, top = 0;
        for (Index c = 0; c < T_; ++c) {
          const double slack = std::max(at.f[c] - at.ref + t[c], 0.0);
          sum += r > 0 ? 0.5 * slack * slack / r : u * slack;
          top = std::max(top, u * slack);
          linear[task] -= t[c] * at.a[c];
          ridge[task] += r * at.a[c] * at.a[c];
        }
        loss[task] += p_.capped ? top : sum;
      }
    });
    auto total = [](const std::vector<double>& v) { return std::accumulate(v.begin(), v.end(), 0.0); };
    double quadratic = 0;
    for (Index k = 0; k < p_.X.d * P_; ++k) quadratic += W_[k] * W_[k];
    for (double b : b_) quadratic += p_.offset * b * b;
    out_.primal = 0.5 * quadratic + total(loss);
    out_.dual = total(linear) - 0.5 * (quadratic + total(ridge));
    out_.violation = *std::max_element(worst.begin(), worst.end());
    objective_ = -out_.dual;
  }

  // Sweeps over the examples that are not held at their bounds, until none violates by more than eps. True: to end.
  bool stage(double eps) {
    order_.clear();
    for (Index i = 0; i < n_; ++i)
      if (violation_[i] > -out_.violation) order_.push_back(i);
    double last = out_.violation;
    for (;;) {
      if (watch_.halted(out_, last, objective_) || watch_.stalled(out_, last, objective_, kPatience)) return true;
      n_steps_ += std::max<Index>(1, static_cast<Index>(order_.size()));
      out_.n_iter = (n_steps_ + n_ - 1) / n_;  // in sweeps over all examples
      const double worst = sweep(last);
      if (worst < 0) return true;
      if (worst <= eps) return false;
      last = worst;
    }
  }

  // An exact step per active example in random order; the largest violation met. Those held by more than `hold` leave.
  double sweep(double hold) {
    const Index m = static_cast<Index>(order_.size());
    for (Index k = m - 1; k > 0; --k) std::swap(order_[k], order_[random_() % (k + 1)]);
    double worst = 0;
    Index kept = 0;
    for (Index k = 0; k < m; ++k) {
      if (k % kAskEvery == kAskEvery - 1 && (watch_.late() || watch_.asked(out_.n_iter, hold, objective_))) {
        watch_.halted(out_, hold, objective_);
        return -1;
      }
      prepare(k, m);
      const Index i = order_[k];
      const Row r = row(i);
      const double v = violation(i, read(i, r, bench_));
      if (v < -hold) continue;
      order_[kept++] = i;
      worst = std::max(worst, v);
      if (v > 1e-12) advance(i, r);
    }
    order_.resize(kept);
    return worst;
  }

  // Examples come in random order, so what the next ones need is prefetched: where a row is, the row, its weights.
  void prepare(Index k, Index m) const {
    if (k + kAhead < m) {
      const Index i = order_[k + kAhead];
      __builtin_prefetch(p_.rows.data + i), __builtin_prefetch(p_.label.data + i);
      __builtin_prefetch(p_.upper.data + i), __builtin_prefetch(p_.ridge.data + i);
      for (Index c = 0; c < T_; c += 8) __builtin_prefetch(D_ + i * T_ + c, 1);
      __builtin_prefetch(D_ + (i + 1) * T_ - 1, 1);
    }
    if (!p_.X.sparse()) return;
    if (k + kAhead / 2 < m) {
      const Row r = row(order_[k + kAhead / 2]);
      const Index x = r.size * (p_.X.wide ? 8 : 4), at = r.size * (p_.X.wide_index ? 8 : 4);
      for (Index b = 0; b < x; b += 64) __builtin_prefetch(static_cast<const char*>(r.x) + b);
      for (Index b = 0; b < at; b += 64) __builtin_prefetch(static_cast<const char*>(r.at) + b);
    }
    if (k + 1 < m) {
      const Row r = row(order_[k + 1]);
      pass_.expect[features_](r.at, r.size, W_, P_);
    }
  }

  void advance(Index i, const Row& r) {
    const Index y = p_.label[i];
    double *d = D_ + i * T_, *change = bench_.change.data();
    const Step s = pass_.step(bench_.f.data(), bench_.a.data(), targets_.data() + y * P_, bench_.ref, square_[i],
                              p_.ridge[i], p_.upper[i], p_.capped, P_, bench_.v.data(), change);
    change[y] = -s.sum;
    std::copy(bench_.a.begin(), bench_.a.begin() + T_, d);
    d[y] = s.size;
    objective_ -= s.gain;
    move(r, change);
  }

  const LinearMargins& p_;
  double* D_;
  const Settings& set_;
  Team& team_;
  Index n_, T_, P_;  // P_: classes padded, so that one feature is a run of whole vectors
  Pages<double> weights_;
  double* W_;
  Watch watch_;
  std::mt19937_64 random_;  // the same order of examples on every machine
  Bench bench_;
  const Features features_;
  const WeightPasses& pass_;
  std::vector<double> b_, targets_, square_;
  std::vector<float> violation_;
  std::vector<Index> order_;
  double objective_ = 0;
  Index n_steps_ = 0;
  Solution out_;
};

}  // namespace

Solution solve(const LinearMargins& problem, double* D, double* w, double* b, std::uint64_t seed,
               const Settings& settings, Team& team) {
  return LinearMarginSolver(problem, D, seed, settings, team).run(w, b);
}

}  // namespace polymargin
