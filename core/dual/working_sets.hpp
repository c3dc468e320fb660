// THE ENGINE: a dual with a kernel matrix, solved by block decomposition.
//
// Each round takes the rows that violate the optimality conditions most together with rows of the last round, solves the
// small problem on them, and adds the change to the scores of all active rows. Rows that rest at their bounds leave the
// active set; before the end their scores are computed exactly and they are looked at again. What a row's variables are,
// and how a small set of rows is solved, is said by a policy: one variable per row (row_policy.hpp, binary machines with a
// bias among them) or one per row and class (margin_policy.hpp). For a policy P with `width` variables per row and as many
// scores, each array class by class:
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
#include "kernels/linear_scores.hpp"
#include "kernels/row_store.hpp"
#include "simd/steps.hpp"

namespace polymargin {

// Rows whose variables change, with `width` values of each before and after, row by row.
struct Moves {
  std::vector<Index> row;
  std::vector<double> now, old;
};

template <class Policy>
class WorkingSets {
 public:
  using T = typename Policy::Value;

  WorkingSets(Policy& policy, const KernelBlocks<T>& K, Span<const Index> rows, std::unique_ptr<RowCache<T>>& cache,
              const Settings& settings, Team& team)
      : policy_(policy),
        K_(K),
        data_(rows),
        rows_(K, rows, cache, settings.memory, team),
        set_(settings),
        team_(team),
        n_(rows.size),
        w_(policy.width()),
        watch_(settings) {
    out_.gradient.assign(n_ * w_, 0);
    reference_.assign(n_ * w_, 0);
    active_.width = w_;
    used_.assign(n_, 0);
    seen_.assign(n_, 0);
    std::vector<double> diagonal(n_);
    K_.diagonal(rows, diagonal.data());
    for (double k : diagonal) largest_ = std::max(largest_, std::abs(k));
  }

  // The scores of some rows at a point that is zero but for `moves`; nothing if there is no time for them.
  std::vector<double> scores_of(const Moves& moves, const std::vector<Index>& which) {
    std::vector<double> F(which.size() * w_, 0.0);
    in_parts(moves.row, static_cast<Index>(which.size()), [&](Span<const Index> part) {
      const Index from = part.data - moves.row.data(), to = from + part.size;
      policy_.add_blocks({{part.begin(), part.end()},
                          {moves.now.begin() + from * w_, moves.now.begin() + to * w_},
                          {moves.old.begin() + from * w_, moves.old.begin() + to * w_}},
                         span(which), F.data());
    });
    return lost_ ? std::vector<double>() : F;
  }

  // From a feasible point, with these active rows; none: all of them, as far as they are not held at bounds.
  // `n_iter` steps were taken before.
  Solution run(std::vector<double> start, std::vector<Index> active, Index n_iter) {
    out_.n_iter = n_iter;
    begin(std::move(start), std::move(active));
    for (Index round = 0; !lost_; ++round) {
      const double violation = measure(), eps = sharper_ * policy_.tolerance();
      if (violation <= eps && active_.m == n_ && (polished_ || n_ > kPolished)) {
        if ((++n_weighed_ > kWeighed || !weigh(eps)) && !sharpen()) break;
        continue;
      }
      if (active_.m < n_ && violation <= std::max(eps, stage_tol_)) {
        widen();
        continue;
      }
      watch_.keep(value_seconds_ * double(n_owed_) * double(n_ - active_.m));
      if (halted(violation) || stalled(violation)) break;
      if (active_.m > RowStore<T>::kSample / 4 && round % 16 == 15 && narrow(violation)) continue;
      choose();
      const bool whole = static_cast<Index>(set_positions_.size()) == active_.m;
      polished_ = whole && n_ <= kPolished && (violation <= eps || Policy::kPolishesAtOnce);
      advance(polished_ ? std::min(eps, kPolishedTol) : whole ? 0.5 * eps : std::max(0.3 * eps, 0.25 * violation));
    }
    finish();
    return std::move(out_);
  }

 private:
  static constexpr Index kBlock = 768;  // largest working set of a large problem
  static constexpr Index kLeast = 96;   // and the smallest: where few rows of a set move, the next one is half as large
  static constexpr Index kWhole = 1024;    // up to this size the working set is the whole problem
  static constexpr Index kPolished = 256;  // up to this size, a solved problem is refined to rounding error
  static constexpr double kPolishedTol = 1e-12;
  static constexpr double kCheap =
      100;  // a value of fewer multiply-adds is computed faster than memory is allocated for it
  static constexpr double kPatience = 2e10;  // multiply-adds that a stop may still cost, well under a second
  static constexpr double kFirstTol = 0.02;  // of the first active set, where it was given
  static constexpr int kStages = 30;         // then everything stays active
  static constexpr double kSharpest = 2e-4;  // of the tolerance
  static constexpr Index kLeft = 4000000;    // scores that are left for the next solve
  static constexpr int kWeighed = 10;        // times that recomputed scores may call for more steps

  // --- the start ---

  void begin(std::vector<double> start, std::vector<Index> active) {
    out_.alpha = std::move(start);
    lost_ = false;
    const bool cold = is_zero(out_.alpha);
    if (!active.empty()) {  // the scores of the others are computed when these are solved, once
      const std::vector<Index> used = changed_rows();
      n_owed_ = static_cast<Index>(used.size());
      add_scores(used, active);
      activate(std::move(active));
      std::fill(out_.gradient.begin(), out_.gradient.end(), 0.0);  // as `reference_` says
      std::fill(seen_.begin(), seen_.end(), 0);
      stage_tol_ = kFirstTol;
      return;
    }
    if (!cold) {
      from_last();
      refresh(everything(n_));
    }
    objective_ = policy_.objective(out_.alpha, out_.gradient);
    watch_.reserve(2);
    if (n_ <= 2 * RowStore<T>::kSample || cold || lost_)
      activate(everything(n_));
    else
      look_at_all(std::vector<char>(n_, 0), RowStore<T>::kSample);
  }

  // An earlier solve may have left a point with its scores that is nearer than zero.
  void from_last() {
    RowCache<T>& last = rows_.all();
    if (last.point.size() != out_.alpha.size()) return;
    Index from_zero = 0, from_there = 0;
    for (std::size_t j = 0; j < out_.alpha.size(); ++j)
      from_zero += out_.alpha[j] != 0, from_there += out_.alpha[j] != last.point[j];
    if (2 * from_there < from_zero) reference_ = last.point, out_.gradient = last.scores;
  }
  void leave_for_next() {
    const Index size = n_ * w_;
    if (n_ > 2 * RowStore<T>::kSample && size <= kLeft)
      rows_.all().point = out_.alpha, rows_.all().scores = out_.gradient;
  }

  static bool is_zero(const std::vector<double>& v) {
    return std::all_of(v.begin(), v.end(), [](double a) { return a == 0; });
  }

  // --- the active set: rows in increasing order, with their own compact copies ---

  // Between two refreshes the scores of the solution belong to `reference_`; only those of the active rows follow every step.
  void activate(std::vector<Index> active) {
    active_.take(std::move(active), n_, out_.alpha, out_.gradient);
    rows_.activate(active_.rows);
    spent_.assign(n_, 0);
    set_up();
  }

  void set_up() {
    policy_.set_up(active_.rows, active_.A.data());
    set_positions_.clear(), recent_.clear(), loaded_.clear();
  }

  // The active problem is solved: the exact scores of all others, and the next active set.
  void widen() {
    std::vector<char> was_active(n_, 0);
    for (Index i : active_.rows) was_active[i] = 1;
    const Index most = std::max(active_.m, RowStore<T>::kSample);
    active_.store_scores(n_, out_.gradient);
    refresh(the_rest(active_.rows, n_));
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

  std::vector<Index> changed_rows() const {
    std::vector<char> differs(n_, 0);
    for (Index c = 0; c < w_; ++c)
      for (Index i = 0; i < n_; ++i) differs[i] |= out_.alpha[c * n_ + i] != reference_[c * n_ + i];
    std::vector<Index> changed;
    for (Index i = 0; i < n_; ++i)
      if (differs[i]) changed.push_back(i);
    return changed;
  }

  // The scores of the given rows follow the change since `reference_`; those left out are up to date already.
  void refresh(const std::vector<Index>& which) {
    add_scores(changed_rows(), which);
    reference_ = out_.alpha;
    n_owed_ = 0;
  }

  // Where there is room, the kernel rows of what changed are kept over all columns: they are needed again at the end of the
  // next stage.
  void add_scores(const std::vector<Index>& changed, const std::vector<Index>& which) {
    if (changed.empty() || which.empty()) return;
    const Split split = by_use(changed, changed, rows_.all(), seen_);
    const Index w = static_cast<Index>(which.size());
    const std::vector<Index> columns = everything(n_);
    const double begun = watch_.left();
    std::vector<double> total(split.row.empty() ? 0 : n_ * w_, 0.0), sum(w * w_, 0.0);
    in_parts(split.row, n_, [&](Span<const Index> part) {
      rows_.all().fetch(part, fetched_);
      policy_.add_rows(fetched_, moves_of(part), span(columns), total.data());
    });
    in_parts(split.first, w,
             [&](Span<const Index> part) { policy_.add_blocks(moves_of(part), span(which), sum.data()); });
    for (Index c = 0; c < w_; ++c)
      for (Index k = 0; k < w; ++k)
        out_.gradient[c * n_ + which[k]] += (total.empty() ? 0 : total[c * n_ + which[k]]) + sum[c * w + k];
    if (std::isfinite(begun)) value_seconds_ = (begun - watch_.left()) / (double(changed.size()) * double(w));
  }

  // Since the last refresh.
  Moves moves_of(Span<const Index> part) const {
    Moves moves;
    for (Index i : part) {
      moves.row.push_back(i);
      for (Index c = 0; c < w_; ++c) {
        moves.now.push_back(out_.alpha[c * n_ + i]);
        moves.old.push_back(reference_[c * n_ + i]);
      }
    }
    return moves;
  }

  // work(rows) for a few rows at a time, with polls in between; after a stop the scores are lost.
  template <class Work>
  void in_parts(const std::vector<Index>& rows, Index width, const Work& work) {
    const Index n = static_cast<Index>(rows.size());
    const Index part = std::max<Index>(RowStore<T>::kLeastRows,
                                       static_cast<Index>(kPatience / (double(width + 1) * (K_.cost() + double(w_)))));
    for (Index from = 0; from < n && !lost_; from += part) {
      if (from > 0 && halted(std::nan("")))
        lost_ = true;
      else
        work(span(rows).sub(from, std::min(from + part, n)));
    }
  }

  // --- optimality ---

  double measure() {
    const double violation = policy_.measure(active_.F.data(), active_.A.data(), active_.excess.data());
    for (Index k = 0; k < active_.m; ++k)
      active_.key[k] =
          active_.excess[k] > 0 ? active_.excess[k] * active_.excess[k] / policy_.curvature(active_.rows[k]) : 0;
    return violation;
  }

  bool halted(double violation) { return watch_.halted(out_, violation, objective_); }
  bool stalled(double violation) {
    const Index q = std::max<Index>(1, static_cast<Index>(set_positions_.size()));
    return watch_.stalled(out_, violation, objective_, 1 + 4 * active_.m / q);
  }

  // --- one round ---

  // The working set: half of it the largest keys, the other half from the last set, newest first. Steps on some rows upset
  // others that are like them; in one set they settle together, else they take turns round by round.
  void choose() {
    const Index quick =
        std::max<Index>(RowStore<T>::kLeastRows, static_cast<Index>(kPatience / (double(active_.m) * K_.cost())));
    const Index fair = std::max(kLanes, static_cast<Index>(10 * std::sqrt(double(active_.m))) / kLanes * kLanes);
    const Index size =
        active_.m <= kWhole && rows_.active().capacity() >= active_.m
            ? active_.m
            : std::min({wanted_, fair, policy_.most_rows(), active_.m, rows_.active().capacity(), quick});
    if (size == active_.m) {
      set_positions_ = everything(active_.m);
      return;
    }
    // Some that want to grow and some that want to fall: under a sum constraint one kind alone cannot move.
    std::vector<Index> chosen, falling;
    for (Index k = 0; k < active_.m; ++k)
      if (active_.key[k] > 0) (policy_.wants_to_fall(k) ? falling : chosen).push_back(k);
    const Index fresh = recent_.empty() ? size : size / 2;
    const Index n_up = static_cast<Index>(chosen.size()), n_down = static_cast<Index>(falling.size());
    active_.keep_worst(chosen, std::max(fresh / 2, fresh - n_down));
    active_.keep_worst(falling, std::max(fresh / 2, fresh - n_up));
    chosen.insert(chosen.end(), falling.begin(), falling.end());
    std::vector<char> taken(active_.m, 0);
    for (Index k : chosen) taken[k] = 1;
    for (Index k : recent_) {
      if (static_cast<Index>(chosen.size()) == size) break;
      if (!taken[k]) chosen.push_back(k);
    }
    set_positions_ = recent_ = std::move(chosen);
    std::sort(set_positions_.begin(), set_positions_.end());
  }

  // K between the rows of the working set: from kernel rows that are kept, by symmetry from their columns, the rest computed.
  // A row for which as many values have been computed as a whole kernel row has gets one that is kept.
  void local_kernel(const std::vector<Index>& at) {
    if (Policy::kKeepsSquare && at == loaded_) return;
    const Index q = static_cast<Index>(at.size());
    const auto [Q, ld] = policy_.square(q);
    std::vector<Index> due;
    for (Index k : at)
      if (spent_[active_.rows[k]] >= active_.m && !rows_.active().kept(k)) due.push_back(k);
    if (2 * static_cast<Index>(due.size()) <= rows_.active().capacity()) rows_.active().fetch(span(due), fetched_);
    std::vector<Index> missing, data;
    for (Index r = 0; r < q; ++r)
      if (!rows_.active().kept(at[r])) missing.push_back(r), data.push_back(data_[active_.rows[at[r]]]);
    const Index h = static_cast<Index>(missing.size());
    if (h == q) {
      K_.gram(span(data), Q, ld, team_);
    } else if (h > 0) {
      if (block_.size() < static_cast<std::size_t>(h * h)) block_.resize(static_cast<std::size_t>(h * h));
      K_.gram(span(data), block_.data(), h, team_);
      for (Index a = 0; a < h; ++a)
        for (Index b = 0; b < h; ++b) Q[missing[a] * ld + missing[b]] = block_[a * h + b];
    }
    for (Index r : missing) spent_[active_.rows[at[r]]] += h;
    auto fill = [&, Q = Q, ld = ld](Index r) {
      std::fill(Q + r * ld + q, Q + (r + 1) * ld, T(0));
      const T* row = rows_.active().kept(at[r]);
      if (!row) return;
      for (Index c = 0; c < q; ++c) Q[r * ld + c] = row[at[c]];
      for (Index b : missing) Q[b * ld + r] = row[at[b]];
    };
    constexpr Index few = 64;
    if (q < 4 * few)
      for (Index r = 0; r < q; ++r) fill(r);
    else
      team_.run((q + few - 1) / few, [&](Index task) {
        for (Index r = task * few; r < std::min(q, (task + 1) * few); ++r) fill(r);
      });
    loaded_ = at;
  }

  void advance(double target) {
    const std::vector<Index>& at = set_positions_;
    const Index q = static_cast<Index>(at.size());
    if (q == active_.m) rows_.active().fetch(span(at), fetched_);
    local_kernel(at);
    policy_.load(at, active_.F.data(), active_.A.data());
    // Polishing takes little more than as many steps as the solution did.
    const Index budget = std::min<Index>(set_.max_iter - out_.n_iter,
                                         polished_ ? out_.n_iter + Policy::kPolishing * q : Policy::kSteps * q + 1000);
    const Index steps = policy_.solve(target, budget, [&] { return stop(target); });
    out_.n_iter += steps;
    const Index n_moved = move(at);  // none: partners under a sum constraint may have been left out
    wanted_ = n_moved > 0 && 8 * n_moved < q ? std::max(kLeast, q / 2) : kBlock;
    const std::vector<Index> free = policy_.together(active_.F.data(), active_.A.data(), steps, q);
    if (free.empty()) return;
    local_kernel(free);
    policy_.load(free, active_.F.data(), active_.A.data());
    out_.n_iter += policy_.descend(target, [&] { return stop(target); });
    move(free);
  }
  bool stop(double violation) { return watch_.late() || watch_.asked(out_.n_iter, violation, objective_); }

  // The variables of the rows at the positions `at` become those of the policy's solution. Returns how many rows change.
  Index move(const std::vector<Index>& at) {
    weighed_ = false;
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
      for (Index c = 0; c < w_; ++c) owed &= active_.A[c * active_.m + at[r]] == reference_[c * n_ + i];
      n_owed_ += owed;
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
    const Split split = by_use(moved, moves.row, rows_.active(), used_);
    Moves part[2];  // whose kernel rows are computed on the way, and kept
    for (std::size_t j = 0, k = 0; j < moved.size(); ++j) {
      const bool keep = k < split.row.size() && split.row[k] == moves.row[j];
      k += keep;
      part[keep].row.push_back(moves.row[j]);
      for (Index c = 0; c < w_; ++c) {
        part[keep].now.push_back(moves.now[j * w_ + c]);
        part[keep].old.push_back(moves.old[j * w_ + c]);
      }
    }
    rows_.active().fetch(span(split.at), fetched_);
    policy_.add_rows(fetched_, part[1], span(active_.rows), active_.F.data());
    if (!part[0].row.empty()) policy_.add_blocks(part[0], span(active_.rows), active_.F.data());
  }

  // Changed rows whose kernel rows should be kept (with their positions in the cache), and those that come for the first time.
  // Where a value is cheap, a kernel row is kept only from its second use on: many rows go to their bounds and stay there.
  // Where there is no room for all that should be kept, none is.
  struct Split {
    std::vector<Index> at, row, first;
  };
  Split by_use(const std::vector<Index>& at, const std::vector<Index>& row, const RowCache<T>& rows,
               std::vector<char>& used) const {
    Split split;
    for (std::size_t r = 0; r < at.size(); ++r) {
      const Index i = row[r];
      const bool keep = rows.kept(at[r]) || used[i] || set_.keeps_rows || K_.cost() > kCheap;
      used[i] = 1;
      if (keep) split.at.push_back(at[r]);
      (keep ? split.row : split.first).push_back(i);
    }
    if (static_cast<Index>(split.at.size()) > rows.capacity()) return {{}, {}, row};
    return split;
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
    if (K_.kernel().kind != KernelKind::linear || weighed_ || work > 0.1 * kPatience || rounding() <= kSeen * eps)
      return false;
    policy_.weigh(out_.alpha, out_.gradient);
    reference_ = out_.alpha;
    activate(everything(n_));
    return weighed_ = true;
  }

  // Whether the tolerance was made smaller: slacks of a thousandth, times a large C, are a large gap.
  bool sharpen() {
    if (polished_ || sharper_ <= kSharpest || !std::isfinite(set_.gap)) return false;
    active_.store_scores(n_, out_.gradient);
    reference_ = out_.alpha, n_owed_ = 0;  // all rows are active here
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
    if (active_.m < n_ && !lost_) {
      const double rows = double(changed_rows().size()), others = double(n_ - active_.m);
      lost_ = rows * others * K_.cost() > kPatience && value_seconds_ * rows * others > std::max(watch_.left(), 0.0);
    }
    if (lost_) {
      out_.violation = out_.primal = std::numeric_limits<double>::infinity();
      out_.dual = -out_.primal;
      out_.exact = false;
      policy_.lose(active_.F.data(), active_.A.data(), out_);
      return;
    }
    if (active_.m < n_) {
      refresh(the_rest(active_.rows, n_));
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
    leave_for_next();
    policy_.finish(out_);
  }

  Policy& policy_;
  const KernelBlocks<T>& K_;
  Span<const Index> data_;
  RowStore<T> rows_;
  const Settings& set_;
  Team& team_;
  const Index n_, w_;
  Watch watch_;
  double objective_ = 0, largest_ = 0;  // largest: |k(x, x)|
  double value_seconds_ = 0;            // of one score of one changed row, where time is limited
  Index n_owed_ = 0;                    // rows whose change only the active ones have seen
  int n_weighed_ = 0, n_stages_ = 0;
  bool polished_ = false, weighed_ = false, lost_ = false;  // lost: stopped while the scores were computed
  Solution out_;                                            // the kernel's part of the scores in `gradient`
  std::vector<double> reference_;
  std::vector<char> used_, seen_;  // whose row was needed before, over the active and over all columns
  ActiveSet active_;
  std::vector<Index> set_positions_, recent_, loaded_;  // loaded_: whose kernel values the policy has
  std::vector<Index> spent_;  // values computed for a row in working sets, since the active set was chosen
  double sharper_ = 1;        // multiplies the tolerance
  double stage_tol_ = 0;      // violation at which an active set is solved well enough
  std::vector<const T*> fetched_;
  std::vector<T> block_;   // kernel values between rows of a working set that are not kept
  Index wanted_ = kBlock;  // rows of the next working set, at most
};

}  // namespace polymargin
