#include "margins/margin_policy.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "margins/margin_certificate.hpp"

namespace polymargin {

namespace {
constexpr double kFlat = 1e-12;   // least curvature
constexpr Index kScores = 32768;  // scores of a working set that stay in cache
constexpr Index kFace = 4096;     // rows of a face, which takes all if they are up to `kAll` or ...
constexpr Index kAll = 1024;
constexpr Index kMany = 4;             // ... so many times those off their bounds, else besides these as many that
constexpr Index kFresh = 256;          // violate the conditions or are next to it, or this
constexpr Index kSettling = 4;         // steps per row that come first where most variables go to their upper bounds
constexpr Index kSpare = 2;            // steps per row, at most, before free variables are counted again
constexpr double kFaceShare = 2;       // a factor may cost so much more than the steps since the last one,
constexpr double kQuick = 2e9;         // or this if few rows come
constexpr double kRough = 0.1;         // tolerance from which on steps are few
constexpr double kMostWork = 2e10;     // multiply-adds of one face,
constexpr double kFirstWork = 2e7;     // and of the first, which shows what faces are worth, if steps were fewer
constexpr double kFirstShare = 0.3;    // of the work of the steps before it: they come in longer vectors
constexpr double kNarrowError = 1e-5;  // of a score in float32, a hundred roundings, relative to its largest terms
constexpr Index kLeastSteps = 8;       // fewer of them show that float32 sees nothing to do where there is something
constexpr double kStep = 10000;  // of a step in vectors, besides two passes over the scores; others cost twice as much
constexpr double kIndependent = 0.2;  // above this, steps settle the free variables as well as a face does
constexpr Index kSplit = 8192;        // rows of a splitting, and its steps
constexpr Index kSplitSteps = 4000;
constexpr double kShare = 0.01;  // of its violation is enough where more rows come in than one for
constexpr Index kMostCome = 8;   // so many with free variables: some will leave again, others are still to come
constexpr double kInside = 0.8;  // of the tolerance: rows that were not in it move the scores a little
constexpr Index kAgain = 16;     // steps on rows from one to the next
}  // namespace

template <class T>
MarginPolicy<T>::MarginPolicy(const MarginProblem& problem, const KernelBlocks<T>& K, const Settings& settings,
                              Team& team)
    : p_(problem),
      K_(K),
      settings_(settings),
      team_(team),
      M_(problem, K, team),
      T_(problem.classes),
      diagonal_(problem.rows.size),
      local_(problem),
      narrow_(problem),
      qp_(problem, M_),
      splitting_(problem, team),
      can_split_(MarginSplitting<T>::suits(problem)) {
  K_.diagonal(p_.rows, diagonal_.data());
  for (Index i = 0; i < p_.rows.size; ++i) diagonal_[i] = std::max((1 + p_.beta()) * diagonal_[i] + p_.ridge[i], kFlat);
}

template <class T>
Index MarginPolicy<T>::most_rows() const {
  return std::max<Index>(kLanes, kScores / T_ / kLanes * kLanes);
}

template <class T>
void MarginPolicy<T>::set_up(const std::vector<Index>& active, const double* A) {
  active_ = &active;
  m_ = static_cast<Index>(active.size());
  for (auto* v : {&ref_, &low_, &ridge_, &label_, &up_, &down_}) v->resize(m_);
  at_cap_.assign(m_, 0);
  for (Index k = 0; k < m_; ++k) {
    const Index i = active[k];
    low_[k] = -std::min(p_.upper[i], 1e30);
    ridge_[k] = p_.ridge[i];
    label_[k] = static_cast<double>(p_.label[i]);
    if (p_.capped) moved(k, A);
  }
}

template <class T>
void MarginPolicy<T>::moved(Index k, const double* A) {
  double total = 0;
  for (Index c = 0; c < T_; ++c) total += std::abs(A[c * m_ + k]);
  at_cap_[k] = p_.capped && total >= kAtCap * p_.upper[(*active_)[k]];
}

// --- optimality ---

template <class T>
double MarginPolicy<T>::measure(const double* F, const double* A, double* excess) {
  const Steps<double>& pass = steps<double>();
  constexpr Index tile = 1024;
  std::vector<double> worst((m_ + tile - 1) / tile, 0.0);
  auto one = [&](Index begin, Index end) {
    const Index n = end - begin;
    references(
        p_.reference, T_, F + begin, m_, n, [&](Index k) { return p_.label[(*active_)[begin + k]]; },
        ref_.data() + begin);
    pass.margins(F + begin, A + begin, m_, T_, ref_.data() + begin, ridge_.data() + begin, low_.data() + begin,
                 label_.data() + begin, n, up_.data() + begin, down_.data() + begin);
    for (Index k = begin; k < end; ++k) {
      if (p_.own_target > 0) {
        const Index at = p_.label[(*active_)[k]] * m_ + k;
        const double g = F[at] - ref_[k] - p_.own_target + ridge_[k] * A[at];
        if (A[at] < -low_[k]) up_[k] = std::max(up_[k], -g);
        if (A[at] > 0) down_[k] = std::max(down_[k], g);
      }
      excess[k] = example_violation(at_cap_[k], up_[k], down_[k]);
      worst[begin / tile] = std::max(worst[begin / tile], excess[k]);
    }
  };
  team_.parts(m_, tile, one, m_ * T_ <= 20000);
  return *std::max_element(worst.begin(), worst.end());
}

template <class T>
double MarginPolicy<T>::objective(const std::vector<double>& b, const std::vector<double>& scores) const {
  return -certify(p_, b, scores).dual;
}

template <class T>
double MarginPolicy<T>::slope(Index k, const double* F, const double* A, const double* old, bool before) const {
  const double ref = p_.ref(F + k, m_, p_.label[(*active_)[k]]);
  double sum = 0;
  for (Index c = 0; c < T_; ++c) {
    const double b = A[c * m_ + k], change = b - old[c];
    if (change == 0) continue;
    const double g = F[c * m_ + k] - ref - p_.target(c, p_.label[(*active_)[k]]);
    sum += change * (g + ridge_[k] * (before ? old[c] : b));
  }
  return sum;
}

// --- the working set ---

template <class T>
std::pair<T*, Index> MarginPolicy<T>::square(Index q) {
  local_.resize(q);
  narrowed_ = false;
  return {local_.K.data(), local_.ld};
}

template <class T>
void MarginPolicy<T>::load(const std::vector<Index>& at, const double* F, const double* A) {
  set_.resize(at.size());
  for (std::size_t r = 0; r < at.size(); ++r) {
    const Index i = set_[r] = (*active_)[at[r]];
    local_.u[r] = p_.upper[i], local_.ridge[r] = p_.ridge[i], local_.label[r] = p_.label[i];
    for (Index c = 0; c < T_; ++c) {
      local_.F[c * local_.ld + r] = T(F[c * m_ + at[r]]);
      local_.b[r * T_ + c] = A[c * m_ + at[r]];
    }
  }
  scores_.resize(at.size() * T_);
  for (Index c = 0; c < T_; ++c)
    for (std::size_t r = 0; r < at.size(); ++r) scores_[c * at.size() + r] = F[c * m_ + at[r]];
}

template <class T>
Index MarginPolicy<T>::solve(double target, Index budget, const std::function<bool()>& stop) {
  const Index most = std::min(budget, std::max<Index>(due() - since_, 1));
  Index steps = 0;
  if (sizeof(T) > sizeof(float) && trusted_ && narrow_serves(target)) {
    steps = solve_narrow(target, most, stop);
    trusted_ = steps >= std::min(kLeastSteps, most);
    if (trusted_) return steps;
  }
  return steps + local_.solve(target, most - steps, stop);
}

// Whether float32 tells violations of this size: an error of a score is that of its terms, some of which cancel.
template <class T>
bool MarginPolicy<T>::narrow_serves(double target) const {
  double largest = 1, k = 0;
  for (double f : scores_) largest = std::max(largest, std::abs(f));
  for (Index r = 0; r < local_.m; ++r) k = std::max(k, std::abs(double(local_.K[r * local_.ld + r])));
  for (Index at = 0; at < local_.m * T_; ++at) largest = std::max(largest, k * std::abs(local_.b[at]));
  return kNarrowError * largest < target;
}

template <class T>
Index MarginPolicy<T>::solve_narrow(double target, Index budget, const std::function<bool()>& stop) {
  if (!narrowed_) {
    narrow_.resize(local_.m);
    std::copy_n(local_.K.data(), local_.m * local_.ld, narrow_.K.data());
    narrowed_ = true;
  }
  std::copy(local_.F.begin(), local_.F.end(), narrow_.F.begin());
  narrow_.b = local_.b, narrow_.u = local_.u, narrow_.ridge = local_.ridge, narrow_.label = local_.label;
  const Index steps = narrow_.solve(target, budget, stop);
  local_.b = narrow_.b;
  return steps;
}

// Few steps: they show which rows matter, but the more of them the more variables leave their bounds that will return.
// After a splitting they would undo it.
template <class T>
Index MarginPolicy<T>::due() const {
  return patience_ * (splits_ ? kAgain : m_ / 4 + 20) + spare_;
}

// Where it is time and a factor of the free variables is no more work than it may be, the rows that have some and those
// that violate the conditions most.
template <class T>
std::vector<Index> MarginPolicy<T>::together(const double* F, const double* A, Index steps, Index rows) {
  const double step = 2 * double(rows) * double(T_) + (p_.reference == Reference::own ? 1 : 2) * kStep;
  since_ += steps;
  work_ += double(steps) * step;
  if (since_ < due()) return {};
  waited_ += std::exchange(since_, 0), spare_ = 0;
  std::vector<double> excess(m_);
  measure(F, A, excess.data());
  std::vector<Index> at, others;
  double full = 0;
  std::vector<double> free_of(separate() ? T_ : 1, 0.0);  // what one factor holds
  for (Index k = 0; k < m_; ++k) {
    Index n_free = 0;
    full += at_cap_[k];
    for (Index c = 0; c < T_; ++c) {
      const bool is_full = std::abs(A[c * m_ + k]) == p_.upper[(*active_)[k]];
      const bool is_free = A[c * m_ + k] != 0 && !is_full;
      n_free += is_free, free_of[separate() ? c : 0] += is_free, full += is_full && !p_.capped;
    }
    if (n_free > 0)
      at.push_back(k), free_of[0] -= at_cap_[k];  // what is left of a full cap goes to one of them
    else
      others.push_back(k);
  }
  double free = 0, factors = 0;
  for (double f : free_of) free += f, factors += f * f * f / 3;
  const double largest = *std::max_element(free_of.begin(), free_of.end());
  const Index n = static_cast<Index>(at.size());
  splits_ = can_split_ && !Face::suits(largest);
  const Index largest_set = splits_ ? kSplit : kFace;
  const bool all = m_ <= kAll || m_ <= std::min(kMany * n, kFace);
  const Index coming = static_cast<Index>(
      std::count_if(others.begin(), others.end(), [&](Index k) { return excess[k] > settings_.tol; }));
  if (splits_ && !all)  // its work is that of all its rows; a face holds those that its steps may upset as well
    others.erase(std::remove_if(others.begin(), others.end(), [&](Index k) { return excess[k] <= 0; }), others.end());
  const Index most =
      all ? m_ - n
          : std::min({largest_set - n, std::max(kFresh, splits_ ? n / 2 : n), static_cast<Index>(others.size())});
  // Kernel values of the rows, and the factor.
  const double bytes =
      double(n + most) * double(n + most) * sizeof(T) +
      (splits_ ? MarginSplitting<T>::bytes(double(n + most)) : 1.5 * largest * largest * sizeof(double));
  // Where most variables go to their upper bounds, steps are few: every one settles some.
  if (full > free && waited_ < kSettling * m_) return {};
  const double work = splits_ ? 0 : factors;
  few_come_ = coming <= std::min(most, n / kMostCome);
  const bool quick = !independent_ && (all || few_come_) && settings_.tol < kRough;
  // Where no row has a length, each variable is settled by its own step, and a face would divide by zero.
  const bool flat = *std::max_element(diagonal_.begin(), diagonal_.end()) <= kFlat;
  if (n < 2 || flat || work > std::max(kFaceShare * work_, quick ? kQuick : 0)) {
    if (p_.reference == Reference::own)  // llw on segment takes 1.7 times as long with it
      spare_ = static_cast<Index>(std::clamp((work / kFaceShare - work_) / step, 0.0, double(kSpare * m_)));
    return {};
  }
  if (n > largest_set || !(splits_ || Face::suits(largest)) ||
      bytes > RowStore<T>::left(p_.rows.size, settings_.memory)) {
    patience_ *= 2;
    return {};
  }
  if (static_cast<Index>(others.size()) > most) {
    std::nth_element(others.begin(), others.begin() + most, others.end(),
                     [&](Index a, Index b) { return excess[a] != excess[b] ? excess[a] > excess[b] : a < b; });
    others.resize(most);
  }
  at.insert(at.end(), others.begin(), others.end());
  std::sort(at.begin(), at.end());
  return at;
}

// One face of all variables, or one for each class.
template <class T>
bool MarginPolicy<T>::face(double eps, double work, const std::function<bool()>& stop) {
  bool solved = true;
  for (Index c = 0; c < (separate() ? T_ : 1); ++c) {
    if (c > 0 && stop()) return false;
    if (separate()) qp_.confine(c);
    solved &= face_.solve(qp_, eps, work, stop);
    face_steps_ += face_.n_steps(), lost_ |= face_.lost();
  }
  return solved;
}

template <class T>
Index MarginPolicy<T>::split(double eps, std::vector<double>& b, const std::function<bool()>& stop) {
  const Index f = static_cast<Index>(set_.size());
  const double share = few_come_ ? 0 : kShare;
  if (!splitting_.solve({set_, local_.K.data(), local_.ld, scores_}, b, {eps, share, kSplitSteps}, stop))
    patience_ *= 2;
  work_ = 0, waited_ = 0;
  for (Index r = 0; r < f; ++r)
    for (Index c = 0; c < T_; ++c) local_.b[r * T_ + c] = b[c * f + r];
  return splitting_.n_steps();
}

template <class T>
Index MarginPolicy<T>::descend(double target, const std::function<bool()>& stop) {
  const Index f = static_cast<Index>(set_.size());
  std::vector<const T*> rows(f);
  std::vector<double> b(f * T_);
  for (Index r = 0; r < f; ++r) {
    rows[r] = local_.K.data() + r * local_.ld;
    for (Index c = 0; c < T_; ++c) b[c * f + r] = local_.b[r * T_ + c];
  }
  if (splits_) return split(std::min(target, kInside * settings_.tol), b, stop);
  qp_.load(set_, std::move(rows), scores_, b);
  const double eps = std::min(target, settings_.tol),
               most = first_ ? std::max(kFirstShare * work_, kFirstWork) : kMostWork;
  face_steps_ = 0, lost_ = false;
  bool solved = face(eps, most, stop);
  // Scores that sum to zero do not see a common shift, so there steps are many all the same.
  independent_ = p_.reference == Reference::own && face_.independence() > kIndependent;
  if (first_ && !solved && !independent_ && !lost_) solved = face(eps, kMostWork, stop);
  if (!solved && !(first_ && independent_)) patience_ *= 2;
  first_ = false;
  work_ = 0, waited_ = 0;
  for (Index r = 0; r < f; ++r)
    for (Index c = 0; c < T_; ++c) local_.b[r * T_ + c] = qp_.b(r, c);
  return face_steps_;
}

// The share of its variables that were at bounds.
template <class T>
double MarginPolicy<T>::reduce(Index i, double scale, double* b) const {
  const double u = p_.upper[i];
  double total = 0, used = 0, bound = 0;
  for (Index c = 0; c < T_; ++c) {
    used += b[c] != 0, bound += b[c] != 0 && std::abs(b[c]) >= kAtCap * scale * u;
    b[c] = p_.ridge[i] > 0 ? b[c] / scale : std::clamp(b[c], -u, u);
    total += std::abs(b[c]);
  }
  for (Index c = 0; p_.capped && total > u && c < T_; ++c) b[c] *= u / total;
  return bound / used;
}

// What the scores call for, and how far they are from calling for something else.
template <class T>
double MarginPolicy<T>::respond(Index i, const std::vector<double>&, const double* f, double* b) const {
  const Index y = p_.label[i];
  double first = 0, second = 0, near = std::numeric_limits<double>::infinity();
  const double ref = p_.ref(f, 1, y);
  Index worst = -1;
  for (Index c = 0; c < T_; ++c) {
    b[c] = 0;
    if (c == y && p_.own_target <= 0) continue;
    const double sign = c == y ? 1 : -1, slack = sign * (p_.target(c, y) - f[c] + ref);
    near = std::min(near, std::abs(slack));
    if (slack <= 0) continue;
    b[c] = sign * (p_.ridge[i] > 0 ? std::min(slack / p_.ridge[i], p_.upper[i]) : p_.upper[i]);
    if (slack > first)
      second = std::exchange(first, slack), worst = c;
    else
      second = std::max(second, slack);
  }
  for (Index c = 0; p_.capped && c < T_; ++c)
    if (c != worst) b[c] = 0;
  return p_.capped && first > 0 ? std::min(first, first - second) : near;
}

template <class T>
void MarginPolicy<T>::finish(Solution& out) {
  const Proof proof = certify(p_, out.alpha, out.gradient);
  out.primal = proof.primal, out.dual = proof.dual;
}

template class MarginPolicy<float>;
template class MarginPolicy<double>;

}  // namespace polymargin
