// THE ENGINE: a dual with a kernel matrix, solved by block decomposition.
//
// Each round takes the rows that violate the optimality conditions most together with rows of the last round, solves
// the small problem on them, and adds the change to the scores of all active rows. Rows that rest at their bounds leave
// the active set; before the end their scores are computed exactly and they are looked at again. What a row's variables
// are, and how a small set of rows is solved, is said by a policy: one variable per row (row_policy.hpp, binary
// machines with a bias among them) or one per row and class (margin_policy.hpp). For a policy P with `width` variables
// per row and as many scores, each array class by class:
//
//   P.set_up(active, A)                   the active rows are these, with the values A
//   P.measure(F, A, excess)               by how much each violates the conditions (below zero: is held at its bounds);
//                                         returns the largest violation, and P.tolerance() says what is accepted then
//   P.wants_to_fall(k)                    which way row k would go, where sums tie rows together (else false)
//   P.slope(k, F, A, old, before)         change of row k times its gradient, before or after it
//   P.square(q), P.load, P.solve, P.value the working set: its kernel values, its start, its steps, its solution
//   P.together(...)                       rows whose free variables should be moved together now, by P.descend
//   P.add_rows, P.add_blocks              what changes of variables add to scores
//   P.finish(out)                         multipliers, status and what the point proves
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "base/watch.hpp"
#include "dual/active_set.hpp"
#include "dual/dual_problem.hpp"
#include "dual/late_scores.hpp"
#include "dual/local_kernel.hpp"
#include "kernels/linear_scores.hpp"
#include "kernels/row_store.hpp"
#include "simd/steps.hpp"

namespace polymargin {

template <class Policy>
class WorkingSets {
 public:
  using T = typename Policy::Value;

  WorkingSets(Policy& policy, const KernelBlocks<T>& K, Span<const Index> rows, std::unique_ptr<RowCache<T>>& cache,
              const Settings& settings, Team& team)
      : policy_(policy),
        K_(K),
        rows_(K, rows, cache, settings.memory, team),
        set_(settings),
        n_(rows.size),
        w_(policy.width()),
        exact_(n_ <= kPolished && std::isfinite(settings.gap)),
        watch_(settings),
        scores_(policy, K, rows_, settings, out_, [this] { return halted(std::nan("")); }),
        local_(K, rows, rows_, team) {
    active_.width = w_;
    used_.assign(n_, 0);
    std::vector<double> diagonal(n_);
    K_.diagonal(rows, diagonal.data());
    for (double k : diagonal) largest_ = std::max(largest_, std::abs(k));
  }

  // The scores of some rows at a point that is zero except for `moves`; nothing if there is no time for them.
  std::vector<double> scores_of(const Moves& moves, const std::vector<Index>& which) {
    return scores_.at(moves, which);
  }

  // From a feasible point, with these active rows; none: all of them, as far as they are not held at bounds.
  // `n_iter` steps were taken before.
  Solution run(std::vector<double> start, std::vector<Index> active, Index n_iter) {
    out_.n_iter = n_iter;
    begin(std::move(start), std::move(active));
    for (Index round = 0; !scores_.lost; ++round) {
      const double violation = measure(), eps = sharper_ * policy_.tolerance();
      if (violation <= eps && active_.m == n_ && (polished_ || !exact_)) {
        if ((++n_weighed_ > kWeighed || !weigh(eps)) && !sharpen()) break;
        continue;
      }
      if (active_.m < n_ && violation <= std::max(eps, stage_tol_)) {
        widen();
        continue;
      }
      watch_.keep(scores_.seconds(double(scores_.n_owed), double(n_ - active_.m)));
      if (halted(violation) || stalled(violation)) break;
      if (active_.m > RowStore<T>::kSample / 4 && round % 16 == 15 && narrow(violation)) continue;
      choose();
      const bool whole = static_cast<Index>(set_positions_.size()) == active_.m;
      polished_ = whole && exact_ && (violation <= eps || Policy::kPolishesAtOnce);
      advance(polished_ ? std::min(eps, kPolishedTol) : whole ? 0.5 * eps : std::max(0.3 * eps, share_ * violation));
    }
    finish();
    return std::move(out_);
  }

 private:
  static constexpr Index kBlock = 768;  // largest working set of a large problem
  static constexpr Index kLeast = 96;   // and the smallest: where few rows of a set move, the next one is half as large
  static constexpr Index kRounds = 12;  // after so many a working set may be all that the policy can solve at once
  static constexpr double kFirstTol = 0.3;   // of the first active set, where it was given: others will upset it
  static constexpr int kStages = 30;         // then everything stays active
  static constexpr double kSharpest = 2e-4;  // of the tolerance
  // A working set is solved to this share of the violation; where that takes few steps, its kernel values and what
  // follows cost more than steps do, so the next one goes further.
  static constexpr double kShare = 0.25, kLeastShare = 0.1;
  static constexpr int kWeighed = 10;  // times that recomputed scores may call for more steps

  // --- the start ---

  void begin(std::vector<double> start, std::vector<Index> active) {
    out_.alpha = std::move(start);
    scores_.lost = false;
    const bool cold = is_zero(out_.alpha);
    if (!active.empty()) {  // the scores of the others are computed when these are solved, once
      scores_.begin_with(active, watch_);
      activate(std::move(active));
      scores_.forget();
      stage_tol_ = kFirstTol;
      return;
    }
    if (!cold) {
      scores_.from_last();
      scores_.refresh(everything(n_), watch_);
    }
    objective_ = cold ? 0 : policy_.objective(out_.alpha, out_.gradient);
    watch_.reserve(2);
    if (n_ <= 2 * RowStore<T>::kSample || cold || scores_.lost)
      activate(everything(n_));
    else
      look_at_all(std::vector<char>(n_, 0), RowStore<T>::kSample);
  }

  // --- the active set: rows in increasing order, with their own compact copies ---

  void activate(std::vector<Index> active) {
    active_.take(std::move(active), n_, out_.alpha, out_.gradient);
    rows_.activate(active_.rows);
    local_.start_over();
    set_up();
  }

  void set_up() {
    policy_.set_up(active_.rows, active_.A.data());
    set_positions_.clear(), recent_.clear(), local_.forget();
    measured_ = false, n_rounds_ = 0;
  }

  // The active problem is solved: the exact scores of all others, and the next active set.
  void widen() {
    std::vector<char> was_active(n_, 0);
    for (Index i : active_.rows) was_active[i] = 1;
    const Index most = std::max(active_.m, RowStore<T>::kSample);
    active_.store_scores(n_, out_.gradient);
    scores_.refresh(the_rest(active_.rows, n_), watch_);
    if (++n_stages_ == 1) objective_ = policy_.objective(out_.alpha, out_.gradient);
    look_at_all(was_active, most);
  }

  void look_at_all(const std::vector<char>& was_active, Index most) {
    activate(everything(n_));
    const double violation = measure(), eps = sharper_ * policy_.tolerance();
    stage_tol_ = std::max(eps, 0.1 * violation);
    if (violation <= eps || n_stages_ > kStages) return;
    std::vector<Index> next = active_.contenders(violation, was_active, most);
    if (static_cast<Index>(next.size()) <= 7 * n_ / 10) activate(std::move(next));
  }

  // Inside a stage: drops what is held at its bounds.
  bool narrow(double violation) {
    if (n_stages_ > kStages) return false;
    std::vector<Index> next = active_.contenders(violation, std::vector<char>(n_, 1), active_.m);
    // Rows over all columns stay behind, so leaving them must bring more.
    const Index most = rows_.over_all() ? active_.m / 2 : 7 * active_.m / 10;
    if (static_cast<Index>(next.size()) > most || next.empty()) return false;
    const std::vector<Index> keep = active_.narrow(std::move(next));
    rows_.narrow(active_.rows, keep);
    set_up();
    return true;
  }

  // --- optimality ---

  // The largest violation of the active rows; looked at again only where something has changed.
  double measure() {
    if (measured_) return violation_;
    measured_ = true;
    violation_ = policy_.measure(active_.F.data(), active_.A.data(), active_.excess.data());
    for (Index k = 0; k < active_.m; ++k)
      active_.key[k] =
          active_.excess[k] > 0 ? active_.excess[k] * active_.excess[k] / policy_.curvature(active_.rows[k]) : 0;
    return violation_;
  }

  bool halted(double violation) { return watch_.halted(out_, violation, objective_); }
  bool stalled(double violation) {
    const Index q = std::max<Index>(1, static_cast<Index>(set_positions_.size()));
    return watch_.stalled(out_, violation, objective_, 1 + 4 * active_.m / q);
  }

  // --- one round ---

  // The working set: half of it the largest keys, the other half from the last set, newest first. Steps on some rows
  // upset others that are like them; in one set they settle together, else they take turns round by round.
  void choose() {
    const Index quick = std::max<Index>(
        RowStore<T>::kLeastRows, static_cast<Index>(LateScores<Policy>::kPatience / (double(active_.m) * K_.cost())));
    const Index fair = std::max(kLanes, static_cast<Index>(10 * std::sqrt(double(active_.m))) / kLanes * kLanes);
    const Index most = RowStore<T>::most_in_set(set_.memory);
    const bool whole = active_.m <= most || (++n_rounds_ > kRounds && active_.m <= policy_.most_at_once());
    const Index size =
        whole && rows_.active().capacity() >= active_.m
            ? active_.m
            : std::min({wanted_, fair, policy_.most_rows(), active_.m, rows_.active().capacity(), quick, most});
    if (size == active_.m) {
      set_positions_ = everything(active_.m);
      return;
    }
    const Index fresh = recent_.empty() ? size : size / 2;
    std::vector<Index> chosen = active_.worst(fresh, [&](Index k) { return policy_.wants_to_fall(k); });
    std::vector<char> taken(active_.m, 0);
    for (Index k : chosen) taken[k] = 1;
    for (Index k : recent_) {
      if (static_cast<Index>(chosen.size()) == size) break;
      if (!taken[k]) chosen.push_back(k);
    }
    set_positions_ = recent_ = std::move(chosen);
    std::sort(set_positions_.begin(), set_positions_.end());
  }

  void advance(double target) {
    const std::vector<Index>& at = set_positions_;
    const Index q = static_cast<Index>(at.size());
    if (q == active_.m) rows_.active().fetch(span(at), fetched_);
    local_.load(policy_, at, active_.rows);
    policy_.load(at, active_.F.data(), active_.A.data());
    // Polishing takes little more than as many steps as the solution did.
    const Index budget = std::min<Index>(set_.max_iter - out_.n_iter,
                                         polished_ ? out_.n_iter + Policy::kPolishing * q : Policy::kSteps * q + 1000);
    const Index steps = policy_.solve(target, budget, [&] { return stop(target); });
    out_.n_iter += steps;
    share_ = 2 * steps < q ? std::max(0.5 * share_, kLeastShare) : kShare;
    const Index n_moved = move(at);  // none: partners under a sum constraint may have been left out
    wanted_ = n_moved > 0 && 8 * n_moved < q ? std::max(kLeast, q / 2) : kBlock;
    const std::vector<Index> free = policy_.together(active_.F.data(), active_.A.data(), steps, q);
    if (free.empty()) return;
    local_.load(policy_, free, active_.rows);
    policy_.load(free, active_.F.data(), active_.A.data());
    out_.n_iter += policy_.descend(target, [&] { return stop(target); });
    move(free);
  }
  bool stop(double violation) { return watch_.late() || watch_.asked(out_.n_iter, violation, objective_); }

  // The variables of the rows at the positions `at` become those of the policy's solution. Returns how many do.
  Index move(const std::vector<Index>& at) {
    weighed_ = measured_ = false;
    std::vector<Index> moved;
    Moves moves;
    for (Index r = 0; r < static_cast<Index>(at.size()); ++r) {
      bool same = true;
      for (Index c = 0; c < w_; ++c) same &= policy_.value(r, c) == active_.A[c * active_.m + at[r]];
      if (same) continue;
      const Index i = active_.rows[at[r]];
      moved.push_back(at[r]);
      moves.row.push_back(i);
      bool owed = true;
      for (Index c = 0; c < w_; ++c) owed &= active_.A[c * active_.m + at[r]] == scores_.reference[c * n_ + i];
      scores_.n_owed += owed;
      for (Index c = 0; c < w_; ++c) {
        moves.old.push_back(std::exchange(active_.A[c * active_.m + at[r]], policy_.value(r, c)));
        moves.now.push_back(policy_.value(r, c));
      }
    }
    auto slopes = [&](bool before) {
      double sum = 0;
      for (std::size_t j = 0; j < moved.size(); ++j)
        sum += policy_.slope(moved[j], active_.F.data(), active_.A.data(), moves.old.data() + j * w_, before);
      return 0.5 * sum;
    };
    objective_ += slopes(true);
    follow(moved, moves);
    objective_ += slopes(false);
    for (Index k : moved) {
      policy_.moved(k, active_.A.data());
      for (Index c = 0; c < w_; ++c) out_.alpha[c * n_ + active_.rows[k]] = active_.A[c * active_.m + k];
    }
    return static_cast<Index>(moved.size());
  }

  // Adds the change of the rows at the positions `moved` to the active scores.
  void follow(const std::vector<Index>& moved, const Moves& moves) {
    const Split split = by_use(moved, moves.row, rows_.active(), scores_.cheap(), used_);
    Moves part[2];  // whose kernel rows are computed on the way, and kept
    for (std::size_t j = 0, k = 0; j < moved.size(); ++j) {
      const bool keep = k < split.row.size() && split.row[k] == moves.row[j];
      k += keep;
      part[keep].add(moves, j, w_);
    }
    rows_.active().fetch(span(split.at), fetched_);
    policy_.add_rows(fetched_, part[1], span(active_.rows), active_.F.data());
    if (!part[0].row.empty()) policy_.add_blocks(part[0], span(active_.rows), active_.F.data());
  }

  // The approximate error of a score from rounded kernel values.
  double rounding() const {
    double squares = 0;
    for (Index c = 0; c < w_; ++c) {
      const double* a = out_.alpha.data() + c * n_;
      squares = std::max(squares, std::inner_product(a, a + n_, a, 0.0));
    }
    return rounding_error<T>(largest_, std::sqrt(squares));
  }

  // Whether the scores were recomputed from weights: a linear kernel whose rounding shows. Once after each move.
  bool weigh(double eps) {
    const double work = double(w_ + 1) * double(n_) * K_.cost();
    if (K_.kernel().kind != KernelKind::linear || weighed_ || work > 0.1 * LateScores<Policy>::kPatience ||
        rounding() <= kSeen * eps)
      return false;
    policy_.weigh(out_.alpha, out_.gradient);
    scores_.settle();
    activate(everything(n_));
    return weighed_ = true;
  }

  // Whether the tolerance was made smaller: slacks of a thousandth, times a large C, are a large gap.
  bool sharpen() {
    if (sharper_ <= kSharpest || !std::isfinite(set_.gap)) return false;
    active_.store_scores(n_, out_.gradient);
    scores_.settle();  // all rows are active here
    Solution now = out_;
    policy_.finish(now);
    if (!(relative_gap(now.primal, now.dual) > set_.gap) || rounding() > 0.1 * sharper_ * policy_.tolerance())
      return false;
    sharper_ *= 0.1;
    return true;
  }

  // --- the end ---

  // The scores of every row, if there is time for them, and what the point proves; else nothing is claimed.
  void finish() {
    active_.store_scores(n_, out_.gradient);
    if (active_.m < n_ && !scores_.lost) {
      const double rows = double(scores_.changed().size()), others = double(n_ - active_.m);
      scores_.lost = rows * others * K_.cost() > LateScores<Policy>::kPatience &&
                     scores_.seconds(rows, others) > std::max(watch_.left(), 0.0);
    }
    if (scores_.lost) {
      out_.violation = out_.primal = std::numeric_limits<double>::infinity();
      out_.dual = -out_.primal;
      out_.exact = false;
      policy_.lose(active_.F.data(), active_.A.data(), out_);
      return;
    }
    if (active_.m < n_) {
      scores_.refresh(the_rest(active_.rows, n_), watch_);
      activate(everything(n_));
    }
    measure();
    weigh(policy_.tolerance());
    out_.violation = measure();
    const double eps = policy_.tolerance(), error = weighed_ || sizeof(T) < sizeof(double) ? 0 : rounding();
    if (error > eps) out_.violation = std::max(out_.violation, error);
    // If only the refinement was cut short, the point is still a solution.
    if (sharper_ < 1 && out_.violation <= eps && out_.status != Status::interrupted) out_.status = Status::solved;
    if (out_.status == Status::solved && out_.violation > eps) out_.status = Status::stalled;
    scores_.leave_for_next();
    policy_.finish(out_);
  }

  Policy& policy_;
  const KernelBlocks<T>& K_;
  RowStore<T> rows_;
  const Settings& set_;
  const Index n_, w_;
  const bool exact_;  // is refined to rounding error, but for a coarse problem
  Watch watch_;
  double objective_ = 0, violation_ = 0, largest_ = 0;  // violation: if it is measured; largest: |k(x, x)|
  int n_weighed_ = 0, n_stages_ = 0;
  bool polished_ = false, weighed_ = false, measured_ = false;
  Solution out_;  // the kernel's part of the scores in `gradient`
  LateScores<Policy> scores_;
  LocalKernel<T> local_;
  std::vector<char> used_;  // whose kernel row was needed before, over the active columns
  ActiveSet active_;
  std::vector<Index> set_positions_, recent_;
  double sharper_ = 1;    // multiplies the tolerance
  double stage_tol_ = 0;  // violation at which an active set is solved well enough
  std::vector<const T*> fetched_;
  double share_ = kShare;                 // of the violation, to which the next one is solved
  Index wanted_ = kBlock, n_rounds_ = 0;  // rows of the next working set, at most; rounds on this active set
};

}  // namespace polymargin
