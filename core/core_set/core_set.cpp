#include "core_set/core_set.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/watch.hpp"
#include "simd/steps.hpp"

namespace polymargin {
namespace {

template <class T>
class CoreSolver {
 public:
  CoreSolver(const SimplexProblem& problem, const KernelBlocks<T>& K, RowCache<T>& cache, std::vector<double> alpha,
             const Settings& settings)
      : p_(problem),
        n_(problem.rows.size),
        cache_(cache),
        set_(settings),
        watch_(settings),
        alpha_(std::move(alpha)),
        diagonal_(n_),
        label_(problem.label.begin(), problem.label.end()),
        g_(n_) {
    K.diagonal(p_.rows, diagonal_.data());
    for (Index i = 0; i < n_; ++i) diagonal_[i] = p_.same * diagonal_[i] + p_.ridge[i];
    for (Index i = 0; i < n_; ++i)
      if (alpha_[i] > 0) core_.push_back(i);
    refresh();
  }

  Solution run() {
    Solution out;
    double refreshed = std::numeric_limits<double>::infinity();
    for (;; ++out.n_iter) {
      measure();
      if (gap() <= set_.tol) {
        // Rounding errors of many steps must not decide: look again with a fresh gradient, as long as that helps.
        if (fresh_ || gap() >= refreshed) break;
        refreshed = gap();
        refresh();
        --out.n_iter;
        continue;
      }
      if (watch_.halted(out, gap(), objective_)) break;
      if (out.n_iter % 64 == 63 && watch_.stalled(out, gap(), objective_, 4)) break;
      if (!step()) {
        if (fresh_) {
          out.status = Status::stalled;
          break;
        }
        refresh();
      }
    }
    out.gradient.assign(g_.begin(), g_.end());
    out.multiplier = {low_.value};
    out.violation = gap();
    out.dual = -objective_;
    out.primal = -objective_ + 2 * (mean_ - low_.value);
    out.alpha = std::move(alpha_);
    return out;
  }

 private:
  double M(Index i, Index j) const { return label_[i] == label_[j] ? p_.same : p_.other; }

  // a'g and the objective a'g - h'a, from the core vectors.
  void measure() {
    mean_ = objective_ = 0;
    for (Index j : core_) {
      mean_ += alpha_[j] * g_[j];
      objective_ -= alpha_[j] * p_.linear[j];
    }
    objective_ += mean_;
  }
  double gap() const {
    const double size = std::abs(objective_);
    return 2 * (mean_ - low_.value) / std::max(size, 1e-300);
  }

  // g from scratch, in float64.
  void refresh() {
    std::vector<double> sum(n_);
    for (Index k = 0; k < n_; ++k) sum[k] = p_.ridge[k] * alpha_[k] - p_.linear[k];
    const Index size = static_cast<Index>(core_.size());
    const Index high = std::max<Index>(1, std::min<Index>(256, cache_.capacity()));
    for (Index r = 0; r < size; r += high) {
      const Index m = std::min(high, size - r);
      cache_.fetch({core_.data() + r, m}, rows_);
      for (Index q = 0; q < m; ++q) {
        const Index i = core_[r + q];
        const T* row = rows_[q];
        const double same = p_.same * alpha_[i], other = p_.other * alpha_[i];
        const T label = label_[i];
        for (Index k = 0; k < n_; ++k) sum[k] += (label_[k] == label ? same : other) * row[k];
      }
    }
    std::copy(sum.begin(), sum.end(), g_.begin());
    low_ = {};
    for (Index k = 0; k < n_; ++k)
      if (g_[k] < low_.value) low_ = {k, g_[k]};
    fresh_ = true;
  }

  // One step; false where no pair gains.
  bool step() {
    const Index i = low_.at;
    if (i < 0) return false;
    cache_.fetch({&i, 1}, rows_);
    const T* Ki = rows_[0];
    Index j = -1;
    double best = 0, move = 0;
    for (Index k : core_) {
      const double difference = static_cast<double>(g_[k]) - g_[i];
      if (difference <= 0) continue;
      const double curve = std::max(diagonal_[i] + diagonal_[k] - 2 * M(i, k) * Ki[k], 1e-12 * diagonal_[i]);
      const double s = std::min(difference / curve, alpha_[k]), gain = s * (difference - 0.5 * s * curve);
      if (k != i && gain > best) best = gain, j = k, move = s;
    }
    if (j < 0) return false;
    const Index both[] = {i, j};
    cache_.fetch({both, 2}, rows_);
    low_ = steps<T>().shift(g_.data(), rows_[0], rows_[1], label_.data(), label_[i], label_[j],
                            static_cast<T>(move * p_.same), static_cast<T>(move * p_.other), n_);
    g_[i] += static_cast<T>(move * p_.ridge[i]);
    g_[j] -= static_cast<T>(move * p_.ridge[j]);
    if (low_.at == i || g_[j] < low_.value) lowest();
    if (alpha_[i] == 0) core_.push_back(i);
    alpha_[i] += move;
    alpha_[j] -= move;
    if (alpha_[j] <= 1e-15) {
      alpha_[i] += alpha_[j];
      alpha_[j] = 0;
      core_.erase(std::find(core_.begin(), core_.end(), j));
    }
    fresh_ = false;
    return true;
  }

  void lowest() {
    low_ = {};
    for (Index k = 0; k < n_; ++k)
      if (g_[k] < low_.value) low_ = {k, g_[k]};
  }

  const SimplexProblem& p_;
  Index n_;
  RowCache<T>& cache_;
  const Settings& set_;
  Watch watch_;
  std::vector<double> alpha_, diagonal_;
  std::vector<T> label_, g_;  // labels as numbers of T: they are compared in vectors
  std::vector<Index> core_;   // the variables with alpha > 0
  std::vector<const T*> rows_;
  Lowest low_;
  double mean_ = 0, objective_ = 0;
  bool fresh_ = false;
};

}  // namespace

template <class T>
Solution solve(const SimplexProblem& problem, const KernelBlocks<T>& K, std::unique_ptr<RowCache<T>>& cache,
               std::vector<double> alpha, const Settings& settings, Team& team) {
  constexpr Index least = 64;
  if (!cache) {
    cache = std::make_unique<RowCache<T>>(K, problem.rows.size, settings.memory, least, team);
    cache->reset({problem.rows.begin(), problem.rows.end()});
  }
  return CoreSolver<T>(problem, K, *cache, std::move(alpha), settings).run();
}

template Solution solve<float>(const SimplexProblem&, const KernelBlocks<float>&, std::unique_ptr<RowCache<float>>&,
                               std::vector<double>, const Settings&, Team&);
template Solution solve<double>(const SimplexProblem&, const KernelBlocks<double>&, std::unique_ptr<RowCache<double>>&,
                                std::vector<double>, const Settings&, Team&);

}  // namespace polymargin
