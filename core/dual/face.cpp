#include "dual/face.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "dual/dense_qp.hpp"
#include "simd/steps.hpp"

namespace polymargin {

namespace {

constexpr Index kStopEvery = 16;       // steps between two looks at the clock
constexpr int kRepairs = 3;            // of a factor that has lost its accuracy
constexpr double kSumError = 1e-12;    // relative to the variables
constexpr double kAboveRounding = 20;  // times a residual: violations that are told from it,
constexpr double kCoarsest = 1;        // and the largest of them
constexpr double kLeastLift = 0.01;    // of the way that gradients rise along: so little of it is none
constexpr Index kApart = 64;           // of the factor, that reading a row, value by value, takes as long as
constexpr double kAnew = 0.1;          // work of a new factor, relative to its size cubed
constexpr std::size_t kTogether = 32;  // variables that come into the factor at once
constexpr std::size_t kBlock = 16;     // variables set free together, at least,
constexpr std::size_t kShare = 8;      // and one for so many that are free
constexpr std::size_t kPart = 64;      // of a new factor, between two looks at its work

}  // namespace

void Face::set_free(const std::vector<Index>& list) {
  for (std::size_t from = 0; from < list.size() && !lost_; from += kTogether) {
    const Index n = factor_.size(), count = static_cast<Index>(std::min(list.size() - from, kTogether)), ld = n + count;
    rows_.assign(static_cast<std::size_t>(count * ld), 0.0);
    for (Index v = 0; v < count; ++v) {
      const Index i = list[from + v];
      rows_[v * ld + n + v] = qp_->values(i, free_, rows_.data() + v * ld);
      free_.push_back(i), is_free_[i] = 1;
    }
    const Index done = factor_.append(rows_.data(), count, ld);
    lost_ |= done < count;
    for (; static_cast<Index>(free_.size()) > factor_.size(); free_.pop_back()) is_free_[free_.back()] = 0;
    for (Index k = n; k < factor_.size(); ++k) {
      const double* L = rows_.data() + (k - n) * ld;
      y_.push_back(-(slope_of(k) + steps<double>().dot(L, y_.data(), k)) / L[k]);
    }
    work_ += double(count) * double(n) * double(n);
  }
}

// By rotations for each of them, or a new factor from the first on, whichever is less work.
void Face::set_fixed(std::vector<Index> list) {
  if (list.empty()) return;
  const double n = double(factor_.size());
  double work = 0;
  std::sort(list.begin(), list.end());
  for (Index at : list) is_free_[free_[at]] = 0, work += 3 * (n - double(at)) * (n - double(at));
  const Index first = list[0];
  const auto rest = std::stable_partition(free_.begin() + first, free_.end(), [&](Index i) { return is_free_[i]; });
  free_.erase(rest, free_.end());
  if (work < kAnew * (n * n * n - double(first * first * first))) {
    factor_.remove(list, y_.data());
    y_.resize(free_.size());
    work_ += work;
    return;
  }
  const std::vector<Index> again(free_.begin() + first, free_.end());
  free_.resize(first), y_.resize(first), factor_.cut(first);
  set_free(again);
}

void Face::factorize() {
  std::vector<Index> list = std::move(free_);
  free_.clear(), y_.clear();
  std::sort(list.begin(), list.end(), [&](Index i, Index j) { return qp_->room(i) > qp_->room(j); });
  factor_.begin(qp_->has_sum(), qp_->jitter(), static_cast<Index>(list.size()));
  for (std::size_t from = 0; from < list.size() && !lost_ && work_ < most_work_; from += kPart)
    set_free({list.begin() + from, list.begin() + std::min(from + kPart, list.size())});
}

// d_ and lambda_ from y_.
void Face::direction() {
  d_ = y_;
  if (qp_->has_sum()) hold_sum();
  lifted_ = d_;
  factor_.backward(d_.data());
  work_ += 0.5 * double(d_.size()) * double(d_.size());
  ++n_steps_;
}

// d += w lambda with w = L^-1 1, so that the sum is what it was at the start.
void Face::hold_sum() {
  const Index f = factor_.size();
  double all = 0;
  lambda_ = -excess_;
  for (Index k = 0; k < f; ++k) {
    const double w = factor_.ones(k);
    lambda_ -= w * d_[k], all += w * w;
  }
  lambda_ = all > 0 ? lambda_ / all : 0;
  for (Index k = 0; k < f; ++k) d_[k] += factor_.ones(k) * lambda_;
}

// A step along d_, to its end (true) or along the bounds that it meets: a variable stays where it meets one, the others
// go on as long as the objective falls, and all that stayed leave the factor together. With ties it ends at a base that
// meets a bound. The gradient of the free variables follows: H d = -g + lambda - jitter d, where ties count it from
// their bases.
bool Face::advance() {
  const Index f = factor_.size();
  FaceProgram& q = *qp_;
  rate_.resize(f), column_.resize(f), lift_.clear();
  for (Index k = 0; k < f; ++k) {
    const Index i = free_[k];
    rate_[k] = (q.has_sum() ? lambda_ : origin(i)) - q.gradient[i] - factor_.jitter() * d_[k];
    if (q.tied()) taken_[q.tie_of[i]] += d_[k];
  }
  std::vector<Index> met;
  std::vector<std::pair<double, double>> left;  // how far they came, and their part of d_
  Index spent = -1;
  double done = 0;
  for (bool goes_on = true; goes_on;) {
    const auto [end, k] = next_bound(1 - done);
    const double step = met.empty() ? end : std::min(end, lowest());
    done += go(step, spent);
    if (spent >= 0 || k < 0 || step < end) break;
    met.push_back(k), left.push_back({done, d_[k]});
    q.z[free_[k]] = d_[k] > 0 ? q.high[free_[k]] : q.low[free_[k]];
    goes_on = bend(k);
  }
  std::fill(taken_.begin(), taken_.end(), 0.0);
  excess_ *= 1 - done;
  const bool whole = met.empty() && spent < 0;
  if (!met.empty() && (q.has_sum() || kApart * static_cast<Index>(met.size()) > f)) {
    see_slopes();
  } else {
    steps<double>().axpy(-done, lifted_.data(), y_.data(), f);
    // The slopes lack their columns of H = L L' from there on.
    for (std::size_t r = 0; r < met.size() && !q.has_sum(); ++r)
      factor_.add_row(met[r], (done - left[r].first) * left[r].second, y_.data());
  }
  set_fixed(std::move(met));
  if (spent >= 0) new_base(spent);
  return whole;
}

// How far along d_ the first bound is, if it is not beyond `most`, and whose; else `most` and nobody's.
std::pair<double, Index> Face::next_bound(double most) const {
  std::pair<double, Index> first{most, -1};
  for (Index k = 0; k < factor_.size(); ++k) {
    const Index i = free_[k];
    const double room = d_[k] > 0 ? qp_->high[i] - qp_->z[i] : qp_->z[i] - qp_->low[i];
    if (room < first.first * std::abs(d_[k])) first = {room / std::abs(d_[k]), k};
  }
  return first;
}

// From here on d_ leaves out variable k. What it would have added to the sum is shared out along the way on which all
// gradients rise alike, u = H^-1 1 without those that have met their bounds. False where that is no way.
bool Face::bend(Index k) {
  const Index f = factor_.size();
  const Steps<double>& pass = steps<double>();
  const double d = std::exchange(d_[k], 0.0);
  qp_->values(free_[k], free_, column_.data());
  pass.axpy(-d, column_.data(), rate_.data(), f);
  if (qp_->tied()) taken_[qp_->tie_of[free_[k]]] -= d;
  if (!qp_->has_sum()) return true;
  if (lift_.empty()) begin_lift();
  const double u = std::exchange(lift_[k], 0.0);
  pass.axpy(-u, column_.data(), lift_rate_.data(), f);
  const double sum = std::accumulate(lift_.begin(), lift_.end(), 0.0);
  if (!(sum > kLeastLift * lift_sum_)) return false;
  pass.axpy(d / sum, lift_.data(), d_.data(), f);
  pass.axpy(d / sum, lift_rate_.data(), rate_.data(), f);
  return true;
}

void Face::begin_lift() {
  const Index f = factor_.size();
  lift_.resize(f), lift_rate_.resize(f);
  for (Index k = 0; k < f; ++k) lift_[k] = factor_.ones(k);
  factor_.backward(lift_.data());
  for (Index k = 0; k < f; ++k) lift_rate_[k] = 1 - factor_.jitter() * lift_[k];
  lift_sum_ = std::accumulate(lift_.begin(), lift_.end(), 0.0);
  work_ += 0.5 * double(f) * double(f);
}

// How far along d_ the objective falls.
double Face::lowest() const {
  double fall = 0, curvature = 0;
  for (Index k = 0; k < factor_.size(); ++k) fall -= slope_of(k) * d_[k], curvature += rate_[k] * d_[k];
  if (fall <= 0) return 0;
  return curvature > 0 ? fall / curvature : std::numeric_limits<double>::infinity();
}

// Moves the free variables and their bases, at most until one of these meets a bound; returns how far.
double Face::go(double step, Index& spent) {
  FaceProgram& q = *qp_;
  for (Index t = 0; t < static_cast<Index>(taken_.size()); ++t) {
    const Index b = q.base[t];
    const double room = taken_[t] > 0 ? q.z[b] - q.low[b] : q.high[b] - q.z[b], way = std::abs(taken_[t]);
    if (room < step * way) step = room / way, spent = t;
  }
  for (Index k = 0; k < factor_.size(); ++k) {
    const Index i = free_[k];
    q.z[i] = std::clamp(q.z[i] + step * d_[k], q.low[i], q.high[i]);
    q.gradient[i] += step * rate_[k];
  }
  for (std::size_t t = 0; t < taken_.size(); ++t) {
    const Index b = q.base[t];
    q.z[b] = std::clamp(q.z[b] - step * taken_[t], q.low[b], q.high[b]);
  }
  if (spent >= 0) q.z[q.base[spent]] = (taken_[spent] > 0 ? q.low : q.high)[q.base[spent]];
  return step;
}

// The base of a tie has met a bound: the free variable with the most room takes its place.
void Face::new_base(Index tie) {
  std::vector<Index> members, at;
  for (Index k = 0; k < factor_.size(); ++k)
    if (qp_->tie_of[free_[k]] == tie) members.push_back(free_[k]), at.push_back(k);
  if (members.empty()) return;  // what it gave is rounding
  set_fixed(std::move(at));
  const auto most =
      std::max_element(members.begin(), members.end(), [&](Index i, Index j) { return qp_->room(i) < qp_->room(j); });
  qp_->base[tie] = *most;
  members.erase(most);
  set_free(members);
}

// The gradient of all variables at z: that of the old point, and what the changes since then add.
void Face::follow() {
  std::vector<double> g = old_g_;
  qp_->add_change(old_z_, g);
  double changed = 0;
  for (Index i = 0; i < qp_->size(); ++i) {
    changed += qp_->z[i] != old_z_[i];
    gain_ += 0.5 * (old_z_[i] - qp_->z[i]) * (old_g_[i] + g[i]);
  }
  qp_->gradient = g, old_g_ = std::move(g), old_z_ = qp_->z;
  see_slopes();
  see_sum();
  if (kept_sum()) safe_z_ = qp_->z, safe_g_ = qp_->gradient;
  work_ += double(qp_->size()) * changed;
}

void Face::see_slopes() {
  y_.clear();
  for (Index k = 0; k < factor_.size(); ++k) y_.push_back(-slope_of(k));
  factor_.forward(y_.data());
  work_ += 0.5 * double(y_.size()) * double(y_.size());
}

void Face::see_sum() { excess_ = qp_->has_sum() ? std::accumulate(qp_->z.begin(), qp_->z.end(), -sum_) : 0; }

bool Face::kept_sum() const {
  double size = 0;
  for (double z : qp_->z) size += std::abs(z);
  return !qp_->has_sum() || std::abs(excess_) <= kSumError * size;
}

// The multiplier of the sum; returns how far a free variable's gradient is from its own.
double Face::see_level() {
  Level of_sum;
  for (Index i = 0; i < qp_->size() && qp_->has_sum(); ++i)
    of_sum.see(qp_->can_grow(i), qp_->can_fall(i), qp_->gradient[i]);
  level_ = of_sum.value(), n_free_ = of_sum.n_free;
  double residual = 0;
  for (Index i : free_) residual = std::max(residual, std::abs(qp_->gradient[i] - level(i)));
  return residual;
}

// Sets the worst of the variables at bounds free; false where none violates its condition by more than tol / 2, so that
// no two differ by more than tol.
bool Face::widen(double tol) {
  const std::vector<double>& g = qp_->gradient;
  std::vector<std::pair<double, Index>> worst;
  for (Index i = 0; i < qp_->size(); ++i) {
    const double grow = qp_->can_grow(i) ? level(i) - g[i] : 0, fall = qp_->can_fall(i) ? g[i] - level(i) : 0;
    if (!is_free_[i] && !is_base(i) && std::max(grow, fall) > 0.5 * tol) worst.push_back({-std::max(grow, fall), i});
  }
  if (worst.empty()) return false;
  // Several at once may keep each other from moving; the worst alone always can move.
  const std::size_t left = static_cast<std::size_t>(std::max<Index>(most_free_ - factor_.size(), 1));
  const std::size_t block = gain_ > 0 ? std::min(std::max(kBlock, free_.size() / kShare), left) : 1;
  gain_ = 0;
  const auto end = worst.begin() + std::min(block, worst.size());
  std::partial_sort(worst.begin(), end, worst.end());
  std::vector<Index> fresh;
  for (auto one = worst.begin(); one != end; ++one) fresh.push_back(one->second);
  set_free(fresh);
  // A sum without free variables needs one that grows and one that falls.
  for (bool grows : {true, false}) {
    if (!qp_->has_sum() || n_free_ > 0) break;
    std::pair<double, Index> most{0, -1};
    for (const auto& one : worst)
      if ((g[one.second] < level_) == grows) most = std::min(most, one);
    if (most.second >= 0 && !is_free_[most.second]) set_free({most.second});
  }
  return true;
}

double Face::independence() const {
  double sum = 0;
  for (Index k = 0; k < factor_.size(); ++k) sum += factor_.pivot(k) / qp_->values(free_[k], {}, nullptr);
  return free_.empty() ? 1 : sum / double(free_.size());
}

bool Face::solve(FaceProgram& qp, double tol, double work, const std::function<bool()>& stop) {
  qp_ = &qp;
  work_ = 0, most_work_ = work, n_steps_ = 0, gain_ = 1, lost_ = settled_ = false;
  safe_z_ = old_z_ = qp.z, safe_g_ = old_g_ = qp.gradient;
  is_free_.assign(qp.size(), 0), taken_.assign(qp.base.size(), 0.0);
  free_.clear();
  for (Index i = 0; i < qp.size(); ++i)
    if (qp.can_grow(i) && qp.can_fall(i) && !is_base(i)) free_.push_back(i);
  sum_ = 0;
  see_sum();
  sum_ = excess_, excess_ = 0;
  if (static_cast<Index>(free_.size()) > most_free_) return false;
  factorize();
  int repairs = 0;
  bool reached = true;  // the tolerance that was asked for
  double last = std::numeric_limits<double>::infinity();
  while (!lost_ && work_ < most_work_ && static_cast<Index>(free_.size()) <= most_free_) {
    if (n_steps_ % kStopEvery == kStopEvery - 1 && stop()) break;
    if (!free_.empty()) {
      direction();
      if (!advance()) continue;
    }
    std::vector<Index> at_bounds;
    for (Index k = 0; k < factor_.size(); ++k)
      if (!qp.can_grow(free_[k]) || !qp.can_fall(free_[k])) at_bounds.push_back(k);
    set_fixed(std::move(at_bounds));
    follow();
    const double residual = see_level();
    const bool kept = kept_sum();
    if (residual > 0.1 * tol || !kept) {  // rounding: once more, then with a new factor, then to what it allows
      const bool worse = !kept || !(residual <= 0.5 * last);
      last = residual;
      if (!worse || ++repairs <= kRepairs) {
        if (worse) factorize();
        continue;
      }
      lost_ |= !kept || kAboveRounding * residual > kCoarsest;
      if (lost_) continue;
      tol = kAboveRounding * residual, reached = false, repairs = 0;
    }
    last = std::numeric_limits<double>::infinity();
    if (!widen(tol)) {
      settled_ = !reached && !lost_;
      return reached && !lost_;
    }
  }
  follow();
  if (!kept_sum()) qp.z = safe_z_, qp.gradient = safe_g_;
  return false;
}

}  // namespace polymargin
