#include "dual/newton.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "base/watch.hpp"
#include "dual/label_kernel.hpp"
#include "dual/landmark_model.hpp"
#include "dual/newton_point.hpp"
#include "kernels/packed_gram.hpp"
#include "kernels/row_store.hpp"

namespace polymargin {

namespace {

constexpr Index kLeastRows = 6144;      // fewer are solved by working sets as fast
constexpr double kLandmarks = 4;        // times the root of n
constexpr double kSettled = 0.01;       // of the rows: so few change sides when the landmarks' problem is solved
constexpr double kFewSupport = 0.25;    // of the rows: with fewer support vectors, working sets find them sooner
constexpr double kOpening = 0.3;        // of the time, where it is limited, until the kernel values must be there
constexpr double kPairSeconds = 3e-9;   // that this takes for each pair of rows, roughly
constexpr double kBand = 0.03;          // rows that have more than this beyond their margin are left out at first ...
constexpr double kFirstViolation = 1;   // ... until the others violate the conditions by no more than this,
constexpr double kFirstBand = 0.2;      // and come in then if they have less than this part of it beyond their margin
constexpr double kNear = 0.4;           // of the tolerance: solved
constexpr double kClose = 5;            // times the tolerance: from here on changes are small, and so are their errors
constexpr double kForcing = 0.1;        // of the violation, that conjugate gradients leave
constexpr double kLeastForcing = 1e-3;  // if that does not descend either, it is left to the engine
constexpr double kPatience = 2e10;      // multiply-adds in a product for values that are not held: nobody is asked then
constexpr int kMostSteps = 40;
constexpr Index kMostProducts = 400;
constexpr int kGrowths = 4;  // times that rows left out may come in

template <class T>
class Newton : NewtonPoint {
 public:
  Newton(const DualProblem& problem, const KernelBlocks<T>& K, const Settings& settings, Team& team)
      : NewtonPoint(problem),
        K_(K),
        set_(settings),
        team_(team),
        M_(problem, K, team),
        watch_(settings),
        n_(problem.rows.size),
        m_(std::min(n_ / 4, static_cast<Index>(kLandmarks * std::sqrt(double(n_))))) {}

  NewtonStart run(std::unique_ptr<RowCache<T>>& cache) {
    NewtonStart out;
    if (begin() && hold()) {
      to_minimum(kForcing);
      for (int growth = 0; descend() && growth < kGrowths && !halted(); ++growth) {
        const bool first = std::exchange(first_, false);
        if (!look_at_rest() && !first) break;
      }
      if (!exact_) product(a_, f_, true);
      if (!rest_known_) score_rest();
      model_.reset(), gram_.reset();
      hand_over(cache, out);
    }
    out.n_iter = state_.n_iter;
    out.interrupted = state_.status == Status::interrupted;
    out.seconds = seconds_since(begun_);
    return out;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static double seconds_since(Clock::time_point then) {
    return std::chrono::duration<double>(Clock::now() - then).count();
  }

  // --- the rows at hand: first all, then those near the margin or short of it ---

  // Values of Q without the ridge.
  void values(Span<const Index> rows, Span<const Index> columns, T* out, Index ld) const {
    std::vector<Index> r(rows.size), c(columns.size);
    for (Index k = 0; k < rows.size; ++k) r[k] = p_.rows[rows[k]];
    for (Index k = 0; k < columns.size; ++k) c[k] = p_.rows[columns[k]];
    K_.block(span(r), span(c), out, ld);
    M_.multiply(rows, columns, out, ld);
  }
  void set_landmark_values(Index from) {
    constexpr Index wide = 512;
    team_.parts(size() - from, wide, [&](Index begin, Index end) {
      values(span(landmarks_), span(at_).sub(from + begin, from + end), model_->row(0) + from + begin, n_);
    });
  }

  bool halted() { return watch_.halted(state_, violation_, std::nan("")); }
  // Before there is anything to hand over: then the engine needs most of the time itself.
  bool late() { return halted() || watch_.left() < (1 - kOpening) * set_.time_limit; }

  // --- the landmarks' own problem ---

  // Whether it is solved, and many rows are support vectors.
  bool begin() {
    if (2 * LandmarkModel<T>::bytes(m_, n_) > set_.memory) return false;
    model_ = std::make_unique<LandmarkModel<T>>(m_, n_, team_);
    list(everything(n_));
    for (Index l = 0; l < m_; ++l) landmarks_.push_back(l * n_ / m_);
    set_landmark_values(0);
    if (late() || !model_->begin(landmarks_)) return false;
    return settle();
  }

  // Newton's method for f = B' c. It begins with all rows in S: those that leave it hardly come back.
  bool settle() {
    model_->empty();
    for (int step = 0; step < kMostSteps; ++step) {
      const Index changed = enter();
      if (late() || !model_->factorize()) return false;
      const double support = std::accumulate(in_.begin(), in_.end(), 0.0);
      if (support < kFewSupport * double(n_)) return false;
      std::vector<double> wg(n_, 0.0), w1(n_, 0.0), u(m_), v(m_), b(m_);
      double sum_g = 0, sum_1 = 0;
      for (Index k = 0; k < n_; ++k)
        if (in_[k]) sum_1 += w1[k] = w_[k], sum_g += wg[k] = w_[k] * g_[k];
      model_->down(wg.data(), n_, u.data());
      model_->solve_H(u.data());
      if (tied_) {
        model_->down(w1.data(), n_, b.data());
        v = b;
        model_->solve_H(v.data());
        level_ = -(sum_g - dot(b, u)) / (sum_1 - dot(b, v));
        add(level_, v, u);
      }
      model_->up(u.data(), n_, f_.data());
      if (double(changed) <= kSettled * double(n_)) break;
    }
    return std::isfinite(level_);
  }

  // Brings S up to date. Returns how many rows changed.
  Index enter() {
    std::vector<Index> changed;
    std::vector<double> weight;
    for (Index k = 0; k < size(); ++k) {
      const char now = missing(k, f_[k], level_) != 0;
      if (now == in_[k]) continue;
      changed.push_back(k), weight.push_back(now ? w_[k] : -w_[k]);
      in_[k] = now;
    }
    model_->change(changed, weight);
    return static_cast<Index>(changed.size());
  }

  // --- the kernel values ---

  bool hold() {
    fit_level();
    std::vector<Index> near;
    for (Index k = 0; k < n_; ++k)
      if (sign_[k] != 0 && sign_[k] * (g_[k] - f_[k] + level_) > -kBand) near.push_back(k);
    if (!fits(static_cast<Index>(near.size()))) return false;
    std::vector<double> f;
    std::vector<char> in;
    for (Index k : near) f.push_back(f_[k]), in.push_back(in_[k]);
    f_ = std::move(f), in_ = std::move(in);
    model_->keep(near);
    list(std::move(near));
    gram_ = std::make_unique<PackedGram<T>>(
        [this](Index row, Index n_rows, Index col, Index n_cols, T* out, Index ld) {
          values(span(at_).sub(row, row + n_rows), span(at_).sub(col, col + n_cols), out, ld);
        },
        room(), team_);
    const Clock::time_point before = Clock::now();
    if (!gram_->grow(size(), [this] { return late(); })) return false;
    // The scores of all rows at the end take about as long again, by the number of values.
    watch_.keep(seconds_since(before) * 2 * double(n_) / double(size()));
    // From zero to the solution on the landmarks' S, which is better than S at the point that the landmarks know.
    std::fill(f_.begin(), f_.end(), 0.0);
    violation_ = kFirstViolation;
    return true;
  }
  double room() const { return set_.memory - LandmarkModel<T>::bytes(m_, n_); }
  // Without a time limit some of the values may be computed in each product.
  bool fits(Index size) const {
    const double beyond = PackedGram<T>::bytes(size) - room();
    return beyond <= 0 || (beyond / sizeof(T) * K_.cost() < kPatience && std::isinf(set_.time_limit));
  }

  void product(const std::vector<double>& x, std::vector<double>& y, bool exact = false) {
    y.resize(size());
    gram_->product(x.data(), y.data(), exact);
    ++state_.n_iter;
  }

  // --- Newton's method ---

  // Whether the rows at hand are solved.
  bool descend() {
    double forcing = kForcing;
    for (int step = 0; step < kMostSteps; ++step) {
      fit_level();
      violation_ = largest_violation();
      if (violation_ <= kClose * set_.tol && !exact_) {
        product(a_, f_, true);
        exact_ = true;
        continue;
      }
      if (violation_ <= (first_ ? kFirstViolation : kNear * set_.tol)) return true;
      if (halted() || state_.n_iter > kMostProducts) return false;
      enter();
      if (!model_->factorize()) return false;
      const double t = to_minimum(forcing);
      if (t == 0 && forcing < kLeastForcing) return false;
      if (t < 0.1) forcing *= 0.1;
    }
    return false;
  }

  // z = (R + B' P^-1 B)^-1 v on S, where v is zero elsewhere.
  void precondition(const std::vector<double>& v, std::vector<double>& z) const {
    const Index n = size();
    std::vector<double> wv(n), c(m_);
    for (Index k = 0; k < n; ++k) wv[k] = in_[k] ? w_[k] * v[k] : 0;
    model_->down(wv.data(), n, c.data());
    model_->solve_H(c.data());
    z.resize(n);
    model_->up(c.data(), n, z.data());
    for (Index k = 0; k < n; ++k) z[k] = in_[k] ? wv[k] - w_[k] * z[k] : 0;
  }
  // One step; returns its length as a part of the way to the solution on S.
  double to_minimum(double forcing) {
    const Index n = size();
    std::vector<double> one, z, d(n, 0.0), Kd, rest(n, 0.0), residual(n, 0.0);
    if (tied_) precondition(std::vector<double>(n, 1.0), one);
    const double ones = tied_ ? sum(one) : 1;
    // What leaves S becomes zero; the landmarks know most of what that does to the others.
    bool leaves = false;
    for (Index k = 0; k < n; ++k)
      if (!in_[k] && a_[k] != 0) d[k] = -a_[k], leaves = true;
    if (leaves) {
      std::vector<double> c(m_);
      model_->down(d.data(), n, c.data());
      model_->solve_P(c.data());
      model_->up(c.data(), n, rest.data());
    }
    for (Index k = 0; k < n; ++k)
      if (in_[k]) residual[k] = g_[k] - f_[k] + level_ - a_[k] / w_[k] - rest[k];
    precondition(residual, z);
    if (tied_) add((-sum(a_) - sum(d) - sum(z)) / ones, one, z);
    add(1, z, d);
    product(d, Kd);
    for (Index k = 0; k < n; ++k) residual[k] = in_[k] ? g_[k] - f_[k] - Kd[k] - (a_[k] + d[k]) / w_[k] : 0;
    const double level = conjugate_gradients(one, ones, forcing, residual, d, Kd);
    return line_search(d, Kd, level - level_);
  }

  // Improves d and its product; returns the level that goes with it.
  double conjugate_gradients(const std::vector<double>& one, double ones, double forcing, std::vector<double>& residual,
                             std::vector<double>& d, std::vector<double>& Kd) {
    const Index n = size();
    std::vector<double> z, step, Kp;
    double before = 0;
    for (;;) {
      const double level = tied_ ? -dot(one, residual) / ones : 0;
      double worst = 0;
      for (Index k = 0; k < n; ++k)
        if (in_[k]) worst = std::max(worst, std::abs(residual[k] + level));
      if (worst <= std::max(forcing * violation_, 0.8 * kNear * set_.tol)) return level;
      if (halted() || state_.n_iter > kMostProducts) return level;
      precondition(residual, z);
      if (tied_) add(-sum(z) / ones, one, z);
      const double now = dot(residual, z);
      if (step.empty())
        step = z;
      else
        for (Index k = 0; k < n; ++k) step[k] = z[k] + now / before * step[k];
      before = now;
      product(step, Kp);
      double curvature = dot(step, Kp);
      for (Index k = 0; k < n; ++k) curvature += step[k] * step[k] / w_[k];
      if (!(curvature > 0) || !(now > 0)) return level;
      const double length = now / curvature;
      add(length, step, d), add(length, Kp, Kd);
      for (Index k = 0; k < n; ++k)
        if (in_[k]) residual[k] -= length * (Kp[k] + step[k] / w_[k]);
    }
  }

  // --- the end ---

  // The scores of the rows that were left out.
  void score_rest() {
    std::vector<Index> order = everything(size()), known = at_, used;
    std::sort(order.begin(), order.end(), [&](Index a, Index b) { return at_[a] < at_[b]; });
    std::sort(known.begin(), known.end());
    std::vector<double> change;
    for (Index k : order)
      if (a_[k] != 0) used.push_back(at_[k]), change.push_back(a_[k]);
    rest_ = the_rest(known, n_);
    rest_scores_.assign(rest_.size(), 0.0);
    rest_known_ = true;
    M_.add_blocks(span(used), change.data(), span(rest_), rest_scores_.data());
  }

  // Whether some of them lack their margin, or nearly, and are at hand now.
  bool look_at_rest() {
    score_rest();
    const Index before = size();
    const double band = violation_ > kNear * set_.tol ? kFirstBand * violation_ : -0.5 * kNear * set_.tol;
    std::vector<Index> next = at_;
    std::vector<double> scores;
    for (std::size_t k = 0; k < rest_.size(); ++k) {
      const Index i = rest_[k];
      const double s = p_.linear[i] - rest_scores_[k] + level_;
      if ((p_.upper[i] > 0 && s > -band) || (p_.low(i) < 0 && s < band))
        next.push_back(i), scores.push_back(rest_scores_[k]);
    }
    if (scores.empty() || !fits(static_cast<Index>(next.size()))) return false;
    list(std::move(next));
    std::copy(scores.begin(), scores.end(), f_.begin() + before);
    if (!gram_->grow(size(), [this] { return halted(); })) {
      at_.resize(before);
      list(std::move(at_));
      return false;
    }
    rest_known_ = false, exact_ = sizeof(T) == sizeof(double);
    set_landmark_values(before);
    return true;
  }

  // A feasible point: variables have their signs and add up to zero. The engine adds to the scores what that changes.
  void hand_over(std::unique_ptr<RowCache<T>>& cache, NewtonStart& out) {
    std::vector<double> point(n_, 0.0), scores(n_, 0.0);
    for (std::size_t k = 0; k < rest_.size(); ++k) scores[rest_[k]] = rest_scores_[k];
    for (Index k = 0; k < size(); ++k) point[at_[k]] = a_[k], scores[at_[k]] = f_[k];
    out.alpha = point;
    for (Index k = 0; k < size(); ++k)
      if (sign_[k] * a_[k] <= 0) out.alpha[at_[k]] = 0;
    double excess = tied_ ? sum(out.alpha) : 0;
    for (double part : {0.05 * set_.tol, std::numeric_limits<double>::infinity()})
      for (Index k = 0; k < size() && excess != 0; ++k) {
        double& a = out.alpha[at_[k]];
        if (a == 0 || (a > 0) != (excess > 0)) continue;
        const double give = std::min({std::abs(excess), std::abs(a), part * w_[k]});
        const double by = excess > 0 ? give : -give;
        a -= by, excess -= by;
      }
    RowCache<T>& all = RowStore<T>(K_, p_.rows, cache, set_.memory, team_).all();
    all.point = std::move(point), all.scores = std::move(scores);
  }

  const KernelBlocks<T>& K_;
  const Settings& set_;
  Team& team_;
  LabelKernel<T> M_;
  Watch watch_;
  const Clock::time_point begun_ = Clock::now();
  const Index n_, m_;
  std::unique_ptr<LandmarkModel<T>> model_;
  std::unique_ptr<PackedGram<T>> gram_;
  Solution state_;
  double violation_ = std::numeric_limits<double>::infinity();
  std::vector<Index> landmarks_;  // variables
  std::vector<Index> rest_;
  std::vector<double> rest_scores_;
  bool rest_known_ = false;
  bool exact_ = sizeof(T) == sizeof(double);  // whether f_ is as exact as kernel values are
  bool first_ = true;                         // the rows that were left out have not been looked at
};

}  // namespace

bool suits_newton(const DualProblem& p, bool serial, double cost, const std::vector<double>& alpha,
                  const Settings& settings) {
  if (p.rows.size <= kLeastRows || serial || p.entropy || settings.relative || p.sum == Sum::per_class) return false;
  const double opening = kPairSeconds * double(p.rows.size) * double(p.rows.size) * (1 + cost / 50);
  if (opening > kOpening * settings.time_limit) return false;
  for (Index i = 0; i < p.rows.size; ++i) {
    const double low = p.low(i);
    const bool one_side =
        (low == 0 && (p.upper[i] == 0 || std::isinf(p.upper[i]))) || (std::isinf(low) && p.upper[i] == 0);
    if (!one_side || !(p.ridge[i] > 0) || alpha[i] != 0) return false;
  }
  return true;
}

template <class T>
NewtonStart newton_start(const DualProblem& problem, const KernelBlocks<T>& K, std::unique_ptr<RowCache<T>>& cache,
                         const Settings& settings, Team& team) {
  return Newton<T>(problem, K, settings, team).run(cache);
}

template NewtonStart newton_start(const DualProblem&, const KernelBlocks<float>&, std::unique_ptr<RowCache<float>>&,
                                  const Settings&, Team&);
template NewtonStart newton_start(const DualProblem&, const KernelBlocks<double>&, std::unique_ptr<RowCache<double>>&,
                                  const Settings&, Team&);

}  // namespace polymargin
