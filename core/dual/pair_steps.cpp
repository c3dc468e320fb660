#include "dual/pair_steps.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace polymargin {

namespace {

constexpr double kTiny = 1e-12;    // curvature of a flat or indefinite direction
constexpr Index kFewSteps = 100;   // that need no face, besides one for every four variables
constexpr double kFaceShare = 16;  // of the work of the steps before it: what a face may cost

double clip(double x, double low, double high) { return std::min(std::max(x, low), high); }

// min  g1 x + g2 z + 1/2 (q11 x^2 + 2 q12 x z + q22 z^2)  over a rectangle: the interior point if it lies inside, else
// the best edge. Two equal rows make the determinant vanish; an edge through the one-variable optimum then serves as
// well.
struct Pair {
  double g1, g2, q11, q22, q12, low1, high1, low2, high2;
  double x = 0, z = 0, best = 0;

  void offer(double x_, double z_) {
    double value = g1 * x_ + g2 * z_ + 0.5 * (q11 * x_ * x_ + q22 * z_ * z_) + q12 * x_ * z_;
    if (value < best) best = value, x = x_, z = z_;
  }
  void first_at(double x_) { offer(x_, clip(-(g2 + q12 * x_) / q22, low2, high2)); }
  void second_at(double z_) { offer(clip(-(g1 + q12 * z_) / q11, low1, high1), z_); }
  void solve() {
    double det = q11 * q22 - q12 * q12;
    if (det > kTiny * q11 * q22) {
      double x_ = (g2 * q12 - g1 * q22) / det, z_ = (g1 * q12 - g2 * q11) / det;
      if (x_ >= low1 && x_ <= high1 && z_ >= low2 && z_ <= high2) {
        x = x_, z = z_;
        return;
      }
    }
    first_at(clip(-g1 / q11, low1, high1));
    second_at(clip(-g2 / q22, low2, high2));
    for (double edge : {low1, high1})
      if (std::isfinite(edge)) first_at(edge);
    for (double edge : {low2, high2})
      if (std::isfinite(edge)) second_at(edge);
  }
};

// A step to a bound lands on it exactly: z + (high - z) may differ from high by a rounding error.
double moved(double z, double s, double low, double high) { return s >= high - z ? high : s <= low - z ? low : z + s; }

}  // namespace

template <class T>
void PairSteps<T>::begin() {
  const Index m = qp.size();
  for (std::vector<T>* v : {&G_, &up_, &down_, &diagonal_, &inverse_}) v->resize(m);
  for (Index i = 0; i < m; ++i) {
    diagonal_[i] = static_cast<T>(qp.diagonal[i] + qp.ridge[i]);
    inverse_[i] = T(1) / std::max(diagonal_[i], T(kTiny));
    set(i, qp.z[i]);
  }
  n_iter_ = 0, n_clipped_ = 0, last_face_ = 0, idle_ = 0, until_ = 0, lost_ = settled_ = false;
  next_face_ = kFewSteps + m / 4;
  face_.limit(room);
  next_check_ = check_every();
  status_ = Status::interrupted;
  start_z_ = qp.z, start_gradient_ = qp.gradient;
  refresh();
  best_ = 0, closest_ = violation();
}

// The gradient in float64, from that of the start.
template <class T>
void PairSteps<T>::refresh() {
  qp.gradient = start_gradient_;
  qp.add_change(start_z_, qp.gradient);
  std::copy(qp.gradient.begin(), qp.gradient.end(), G_.begin());
  change(0, 0, 0, 0);
  exact_ = true;
}

// Adds a step to the gradient and looks for the next one.
template <class T>
void PairSteps<T>::change(Index i, Index j, double si, double sj) {
  const Steps<T>& pass = steps<T>();
  exact_ = false;
  if (qp.size() == 0) {  // a column without rows: nothing is violated
    worst_.low = worst_.high = 0;
    return;
  }
  G_[i] += static_cast<T>(qp.ridge[i] * si);
  G_[j] += static_cast<T>(qp.ridge[j] * sj);
  worst_ = Range();
  if (qp.groups.empty()) {
    first_ = Pick();
    for (Index q = 0; q < qp.parts(); ++q) {
      const Index at = qp.first[q];
      const Pick pick =
          pass.box_first(G_.data() + at, qp.row(i, q), qp.row(j, q), static_cast<T>(si), static_cast<T>(sj),
                         up_.data() + at, down_.data() + at, inverse_.data() + at, qp.sizes[q]);
      if (pick.at >= 0 && pick.key > first_.key) first_.key = pick.key, first_.at = pick.at + at;
      first_.violation = std::max(first_.violation, pick.violation);
    }
    worst_.low = 0, worst_.high = first_.violation;
    return;
  }
  for (Index g = 0; g < qp.n_groups(); ++g) {
    Range range;
    for (Index q = qp.groups[g]; q < qp.groups[g + 1]; ++q) {
      const Index at = qp.first[q];
      const Range r = pass.pair_step(G_.data() + at, qp.row(i, q), qp.row(j, q), static_cast<T>(si), up_.data() + at,
                                     down_.data() + at, qp.sizes[q]);
      if (r.low < range.low) range.low = r.low, range.lowest = r.lowest + at;
      range.high = std::max(range.high, r.high);
    }
    if (g == 0 || range.high - range.low > violation()) worst_ = range, worst_group_ = g;
  }
}

// Values that are made when they are first read are made with those of the worst violators: most are read soon.
template <class T>
void PairSteps<T>::need(Index i) {
  if (!qp.make || qp.made[i]) return;
  std::vector<Index> list = {i};
  if (qp.at_once > 1 && n_iter_ >= kInformed) {
    std::vector<std::pair<double, Index>> worst;
    for (Index k = 0; k < qp.size(); ++k) {
      const double above = down_[k] == 0 ? double(G_[k]) - worst_.low : 0;
      const double below = up_[k] == 0 ? worst_.high - double(G_[k]) : 0, v = std::max(above, below);
      if (v > 0.5 * violation() && !qp.made[k] && k != i) worst.push_back({-v, k});
    }
    const std::size_t n = std::min(worst.size(), static_cast<std::size_t>(qp.at_once - 1));
    std::partial_sort(worst.begin(), worst.begin() + n, worst.end());
    for (std::size_t k = 0; k < n; ++k) list.push_back(worst[k].second);
  }
  qp.make(list);
}

// Now and then: whether neither the objective nor the violation fell for long.
template <class T>
void PairSteps<T>::check() {
  refresh();
  const double now = gain();
  const bool progress = now > best_ * (1 + 1e-13) || violation() < 0.99 * closest_;
  idle_ = progress ? 0 : idle_ + 1;
  best_ = std::max(best_, now), closest_ = std::min(closest_, violation());
  next_check_ = n_iter_ + check_every();
}

// Where most steps end at a bound, they are few: every one settles a variable. Else the free variables go together, if
// their factor costs no more than some times what the steps so far did.
template <class T>
void PairSteps<T>::try_face(double goal, const std::function<bool()>& more) {
  refresh();
  const double m = double(qp.size()), work = kFaceShare * 4 * m * double(n_iter_);
  double f = 0;
  for (Index i = 0; i < qp.size(); ++i) f += qp.can_grow(i) && qp.can_fall(i);
  const bool settles = 2 * n_clipped_ > n_iter_ - last_face_;
  if (!settles && f * f * f / 3 + 10 * m * f <= 0.5 * work) {
    qp.tie();
    const bool reached = face_.solve(qp, goal, work, [&] { return !more(); });
    for (Index i = 0; i < qp.size(); ++i) set(i, qp.z[i]);
    n_iter_ += face_.n_steps();
    refresh();
    // A violation that the face does not see is rounding of the gradient.
    lost_ = face_.lost(), settled_ = face_.settled() || (reached && violation() > goal);
  }
  last_face_ = n_iter_, n_clipped_ = 0;
  next_face_ = lost_ ? std::numeric_limits<Index>::max() : 2 * n_iter_;
}

// How far the objective has fallen.
template <class T>
double PairSteps<T>::gain() const {
  double sum = 0;
  for (Index i = 0; i < qp.size(); ++i) sum += 0.5 * (start_z_[i] - qp.z[i]) * (qp.gradient[i] + start_gradient_[i]);
  return sum;
}

template <class T>
bool PairSteps<T>::group_step() {
  const Index i = worst_.lowest;
  if (i < 0) return false;
  need(i);
  const T gi = G_[i];
  Pick best;
  for (Index q = qp.groups[worst_group_]; q < qp.groups[worst_group_ + 1]; ++q) {
    const Index at = qp.first[q];
    const Pick pick = steps<T>().pair_second(G_.data() + at, qp.row(i, q), gi, diagonal_[i], down_.data() + at,
                                             diagonal_.data() + at, qp.sizes[q]);
    if (pick.at >= 0 && pick.key > best.key) best = pick, best.at += at;
  }
  const Index j = best.at;
  if (j < 0) return false;
  need(j);
  // The kernel's part is never negative: the ridges are left where rounding of large values says otherwise.
  const double quad = std::max(
      {double(diagonal_[i]) + double(diagonal_[j]) - 2.0 * double(qp.value(i, j)), qp.ridge[i] + qp.ridge[j], kTiny});
  const double t = std::min({(double(G_[j]) - double(gi)) / quad, qp.high[i] - qp.z[i], qp.z[j] - qp.low[j]});
  set(i, moved(qp.z[i], t, qp.low[i], qp.high[i]));
  set(j, moved(qp.z[j], -t, qp.low[j], qp.high[j]));
  n_clipped_ += !(qp.can_grow(i) && qp.can_fall(i) && qp.can_grow(j) && qp.can_fall(j));
  change(i, j, t, -t);
  ++n_iter_;
  return true;
}

template <class T>
bool PairSteps<T>::box_step() {
  const Index i = first_.at;
  if (i < 0) return false;
  Index j = i;
  const double low = qp.low[i] - qp.z[i], high = qp.high[i] - qp.z[i], q = std::max<double>(diagonal_[i], kTiny);
  double si = clip(-G_[i] / q, low, high), sj = 0;
  const bool inside = si > low && si < high;
  const T up = up_[i], down = down_[i];
  up_[i] = down_[i] = T(kBlocked);
  Pick best;
  for (Index p = 0; p < qp.parts(); ++p) {
    const Index at = qp.first[p];
    const Pick pick = steps<T>().box_second(G_.data() + at, qp.row(i, p), T(si), inside ? T(1 / q) : T(0),
                                            up_.data() + at, down_.data() + at, diagonal_.data() + at, qp.sizes[p]);
    if (pick.at >= 0 && pick.key > best.key) best = pick, best.at += at;
  }
  up_[i] = up, down_[i] = down;
  if (best.at >= 0) {
    j = best.at;
    Pair pair{G_[i],
              G_[j],
              q,
              std::max<double>(diagonal_[j], kTiny),
              qp.value(i, j),
              low,
              high,
              qp.low[j] - qp.z[j],
              qp.high[j] - qp.z[j]};
    pair.solve();
    si = pair.x, sj = pair.z;
  }
  if (si == 0 && sj == 0) return false;
  set(i, moved(qp.z[i], si, qp.low[i], qp.high[i]));
  if (j != i) set(j, moved(qp.z[j], sj, qp.low[j], qp.high[j]));
  n_clipped_ += !(qp.can_grow(i) && qp.can_fall(i) && qp.can_grow(j) && qp.can_fall(j));
  change(i, j, si, sj);
  ++n_iter_;
  return true;
}

template class PairSteps<float>;
template class PairSteps<double>;

}  // namespace polymargin
