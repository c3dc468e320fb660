#include "decomposition.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "certificate.hpp"
#include "label_kernel.hpp"
#include "linear_scores.hpp"
#include "local_qp.hpp"
#include "row_store.hpp"
#include "watch.hpp"

namespace polymargin {

namespace {

constexpr Index kBlock = 512;       // largest working set of a large problem
constexpr double kCheap = 100;      // a value of fewer multiply-adds is computed sooner than fresh memory is had for it
constexpr Index kWhole = 768;       // up to this size the working set is the whole problem
constexpr Index kTogether = 4096;   // largest set of all free variables
constexpr Index kMovedOn = 32;      // rounds
constexpr Index kPolished = 256;    // up to this size a solved problem is carried on to rounding error
constexpr double kNoMargin = 1e-6;  // of the largest Q_ii: classes with a smaller margin overlap
constexpr double kPolishedTol = 1e-12;
constexpr double kPatience = 2e10;  // multiply-adds that a stop may still cost, well under a second
constexpr int kStages = 30;         // then everything stays active
constexpr int kWeighed = 10;        // times that a gradient made anew may ask for more steps

template <class T>
class Decomposition {
 public:
  Decomposition(const DualProblem& problem, const KernelBlocks<T>& K, std::unique_ptr<RowCache<T>>& cache,
                std::vector<double> alpha, const Settings& settings, Team& team)
      : p_(problem),
        K_(K),
        M_(problem, K, team),
        rows_(K, problem.rows, cache, settings.memory, team),
        set_(settings),
        team_(team),
        n_(problem.rows.size),
        watch_(settings) {
    out_.alpha = std::move(alpha);
    diagonal_.resize(n_);
    K_.diagonal(p_.rows, diagonal_.data());
    for (double k : diagonal_) largest_ = std::max(largest_, std::abs(k));
    for (Index i = 0; i < n_; ++i) diagonal_[i] = p_.same * diagonal_[i] + p_.ridge[i];
    smallest_margin_ = kNoMargin * *std::max_element(diagonal_.begin(), diagonal_.end());
    out_.gradient.resize(n_);
    for (Index i = 0; i < n_; ++i) out_.gradient[i] = -p_.linear[i];
    reference_.assign(n_, 0);
    used_.assign(n_, 0);
    seen_.assign(n_, 0);
    if (p_.entropy) {
      t_.resize(n_);
      for (Index i = 0; i < n_; ++i) t_[i] = std::log(out_.alpha[i] / (p_.upper[i] - out_.alpha[i]));
    }
  }

  Solution run() {
    refresh(everything(n_));
    for (Index i = 0; i < n_; ++i)
      objective_ += 0.5 * out_.alpha[i] * (out_.gradient[i] - p_.linear[i]) +
                    (p_.entropy ? entropy(out_.alpha[i], p_.upper[i]) : 0);
    activate(n_ > 2 * RowStore<T>::kSample && p_.sum == Sum::none && !p_.entropy && nothing_yet() ? sample()
                                                                                                  : everything(n_));
    for (Index round = 0; !lost_; ++round) {
      double violation = measure();
      double eps = tolerance();
      if (violation <= eps && m_ == n_ && (polished_ || n_ > kPolished)) {
        if (++n_weighed_ > kWeighed || !weigh(eps)) break;
        continue;
      }
      if (m_ < n_ && violation <= std::max(eps, stage_tol_)) {
        widen(eps);
        continue;
      }
      if (halted(violation) || stalled(violation)) break;
      if (m_ > RowStore<T>::kSample && round % 16 == 15 && narrow(violation)) continue;
      choose(violation);
      bool whole = static_cast<Index>(set_positions_.size()) == m_;
      polished_ = whole && n_ <= kPolished;
      advance(polished_ ? std::min(eps, kPolishedTol) : whole ? 0.5 * eps : std::max(0.3 * eps, 0.1 * violation));
    }
    finish();
    return std::move(out_);
  }

 private:
  bool nothing_yet() const {
    return std::all_of(out_.alpha.begin(), out_.alpha.end(), [](double a) { return a == 0; });
  }

  // Every k-th variable of each class.
  std::vector<Index> sample() const {
    std::vector<Index> chosen;
    double keep = double(RowStore<T>::kSample) / double(n_);
    for (Index c = 0; c + 1 < p_.segments.size; ++c) {
      Index begin = p_.segments[c], size = p_.segments[c + 1] - begin,
            take = static_cast<Index>(std::ceil(size * keep));
      for (Index k = 0; k < take; ++k) chosen.push_back(begin + k * size / take);
    }
    return chosen;
  }

  // --- the active set: variables in increasing order, with their own compact copies ---

  // Between two refreshes `gradient` belongs to `reference_`; only the active variables' G_ follows every step.
  void activate(std::vector<Index> active) {
    rows_.activate(active);
    active_ = std::move(active);
    G_.resize(active_.size());
    for (std::size_t k = 0; k < active_.size(); ++k) G_[k] = out_.gradient[active_[k]];
    regroup();
  }

  void regroup() {
    m_ = static_cast<Index>(active_.size());
    groups_.clear();
    if (p_.sum != Sum::none) {
      groups_.push_back(0);
      for (Index k = 1; k < m_; ++k)
        if (p_.sum == Sum::per_class && M_.label(active_[k]) != M_.label(active_[k - 1])) groups_.push_back(k);
      groups_.push_back(m_);
    }
    set_positions_.clear();
    key_.resize(m_);
  }

  void scatter() {
    for (Index k = 0; k < m_; ++k) out_.gradient[active_[k]] = G_[k];
  }

  // Leaves out variables at a bound whose gradient holds them there by more than the violation. Those that were active stay
  // unless they are held; of the others at most as many come in as were active, the worst first.
  std::vector<Index> contenders(double violation, const std::vector<char>& was_active, Index most) const {
    std::vector<Index> kept, fresh;
    for (std::size_t g = 0; g + 1 < std::max<std::size_t>(groups_.size(), 2); ++g) {
      Index begin = groups_.empty() ? 0 : groups_[g], end = groups_.empty() ? m_ : groups_[g + 1];
      double above = groups_.empty() ? violation : high_[g], below = groups_.empty() ? -violation : low_[g];
      for (Index k = begin; k < end; ++k) {
        Index i = active_[k];
        bool held = (!can_fall(i) && G_[k] > above) || (!can_grow(i) && G_[k] < below);
        if (!held && (was_active[i] || can_fall(i)))
          kept.push_back(i);
        else if (key_[k] > 0)
          fresh.push_back(k);
      }
    }
    if (static_cast<Index>(fresh.size()) > most) {
      std::nth_element(fresh.begin(), fresh.begin() + most, fresh.end(), [&](Index a, Index b) { return worse(a, b); });
      fresh.resize(most);
    }
    for (Index k : fresh) kept.push_back(active_[k]);
    std::sort(kept.begin(), kept.end());
    return kept;
  }
  bool worse(Index a, Index b) const { return key_[a] != key_[b] ? key_[a] > key_[b] : a < b; }

  // The active problem is solved: the exact gradient of all others, and the next active set.
  void widen(double eps) {
    std::vector<char> was_active(n_, 0);
    for (Index i : active_) was_active[i] = 1;
    Index most = std::max(m_, RowStore<T>::kSample);
    scatter();
    refresh(the_rest(active_, n_));
    activate(everything(n_));
    double violation = measure();
    stage_tol_ = std::max(eps, 0.1 * violation);
    if (violation <= eps || ++n_stages_ > kStages) return;
    std::vector<Index> next = contenders(violation, was_active, most);
    if (static_cast<Index>(next.size()) <= 7 * n_ / 10) activate(std::move(next));
  }

  // Inside a stage: drops what is held at its bound.
  bool narrow(double violation) {
    if (p_.entropy || n_stages_ > kStages) return false;
    std::vector<Index> next = contenders(violation, std::vector<char>(n_, 1), m_);
    // Rows over all columns stay behind, so leaving them must bring more.
    Index most = rows_.over_all() ? m_ / 2 : 7 * m_ / 10;
    if (static_cast<Index>(next.size()) > most || next.empty()) return false;
    std::vector<Index> keep;
    for (std::size_t k = 0; k < active_.size() && keep.size() < next.size(); ++k) {
      if (active_[k] != next[keep.size()]) continue;
      G_[keep.size()] = G_[k];
      keep.push_back(static_cast<Index>(k));
    }
    rows_.narrow(next, keep);
    active_ = std::move(next);
    G_.resize(active_.size());
    regroup();
    return true;
  }

  // gradient += Q (alpha - reference) on the given variables; those left out are up to date already. Where there is room, the rows
  // of the changed variables over all columns are kept: they are needed again at the end of the next stage.
  void refresh(const std::vector<Index>& which) {
    std::vector<Index> changed;
    std::vector<double> change;
    for (Index i = 0; i < n_; ++i)
      if (out_.alpha[i] != reference_[i]) changed.push_back(i), change.push_back(out_.alpha[i] - reference_[i]);
    if (!changed.empty() && !which.empty()) {
      Split split = by_use(changed, changed, change, rows_.all(), seen_);
      if (static_cast<Index>(split.variable.size()) > rows_.all().capacity()) split = {{}, {}, changed, {}, change};
      std::vector<Index> columns = everything(n_);
      std::vector<double> total(n_, 0.0);
      in_parts(split.variable, n_, [&](Span<const Index> part, Index from) {
        rows_.all().fetch(part, fetched_);
        M_.add_rows(fetched_, part, split.change.data() + from, span(columns), total.data());
      });
      std::vector<double> sum(which.size(), 0.0);
      in_parts(split.first, static_cast<Index>(which.size()), [&](Span<const Index> part, Index from) {
        M_.add_blocks(part, split.first_change.data() + from, span(which), sum.data());
      });
      for (std::size_t k = 0; k < which.size(); ++k) {
        Index i = which[k];
        out_.gradient[i] += total[i] + sum[k] + p_.ridge[i] * (out_.alpha[i] - reference_[i]);
      }
    }
    reference_ = out_.alpha;
  }

  // work(rows, first) for a few rows at a time, so that a stop is heard in between; then the gradient is lost.
  template <class Work>
  void in_parts(const std::vector<Index>& rows, Index width, const Work& work) {
    Index n = static_cast<Index>(rows.size());
    Index part =
        std::max<Index>(RowStore<T>::kLeastRows, static_cast<Index>(kPatience / (double(width + 1) * K_.cost())));
    for (Index from = 0; from < n && !lost_; from += part) {
      if (from > 0 && halted(std::nan("")))
        lost_ = true;
      else
        work(span(rows).sub(from, std::min(from + part, n)), from);
    }
  }

  // --- optimality ---

  bool can_grow(Index i) const { return p_.entropy ? t_[i] < kFull : out_.alpha[i] < p_.upper[i]; }
  bool can_fall(Index i) const { return p_.entropy ? t_[i] > -kFull : out_.alpha[i] > 0; }
  double slope(Index k) const { return p_.entropy ? G_[k] + t_[active_[k]] : G_[k]; }

  // The largest violation, and in key_ how much each active variable takes part in one.
  double measure() {
    double worst = 0;
    if (groups_.empty()) {
      for (Index k = 0; k < m_; ++k) {
        Index i = active_[k];
        double g = slope(k), v = 0;
        if (g < 0 && can_grow(i)) v = -g;
        if (g > 0 && can_fall(i)) v = g;
        worst = std::max(worst, v);
        key_[k] = v * v / diagonal_[i];
      }
      return worst;
    }
    low_.resize(groups_.size());
    high_.resize(groups_.size());
    for (std::size_t g = 0; g + 1 < groups_.size(); ++g) {
      double low = kBlocked, high = -kBlocked;
      for (Index k = groups_[g]; k < groups_[g + 1]; ++k) {
        Index i = active_[k];
        double s = slope(k);
        if (can_grow(i)) low = std::min(low, s);
        if (can_fall(i)) high = std::max(high, s);
      }
      low_[g] = low, high_[g] = high;
      for (Index k = groups_[g]; k < groups_[g + 1]; ++k) {
        Index i = active_[k];
        double s = slope(k), v = 0;
        if (can_grow(i)) v = std::max(v, high - s);
        if (can_fall(i)) v = std::max(v, s - low);
        key_[k] = high > low ? v : 0;
      }
      worst = std::max(worst, high - low);
    }
    return worst;
  }

  // The multiplier of each group: the mean gradient of its free variables, else the middle of what is possible.
  std::vector<double> multipliers() const {
    std::vector<double> r;
    for (std::size_t g = 0; g + 1 < groups_.size(); ++g) {
      double sum = 0, low = -kBlocked, high = kBlocked;
      Index n_free = 0;
      for (Index k = groups_[g]; k < groups_[g + 1]; ++k) {
        Index i = active_[k];
        double s = slope(k);
        bool grow = can_grow(i), fall = can_fall(i);
        if (grow && fall)
          sum += s, ++n_free;
        else if (grow)
          high = std::min(high, s);
        else if (fall)
          low = std::max(low, s);
      }
      r.push_back(n_free             ? sum / double(n_free)
                  : low <= -kBlocked ? high
                  : high >= kBlocked ? low
                                     : 0.5 * (low + high));
    }
    return r;
  }

  double margin() const {
    std::vector<double> r = multipliers();
    double sum = std::accumulate(r.begin(), r.end(), 0.0);
    return r.empty() ? 1 : sum / double(r.size());
  }

  double tolerance() const { return set_.tol * (set_.relative ? std::max(margin(), smallest_margin_) : 1); }

  bool halted(double violation) { return watch_.halted(out_, violation, objective_); }
  bool stalled(double violation) {
    const Index q = std::max<Index>(1, static_cast<Index>(set_positions_.size()));
    return watch_.stalled(out_, violation, objective_, 1 + 4 * m_ / q);
  }

  // --- one round ---

  // The working set: the largest keys, then free variables of the last set, whose rows are at hand.
  void choose(double violation) {
    std::vector<Index> last = std::move(set_positions_);
    set_positions_.clear();
    Index quick = std::max<Index>(RowStore<T>::kLeastRows, static_cast<Index>(kPatience / (double(m_) * K_.cost())));
    // A set of q costs q^2 to build and saves passes over all m.
    Index fair = static_cast<Index>(2 * std::sqrt(double(m_))) / kLanes * kLanes;
    Index size = m_ <= kWhole && rows_.active().capacity() >= m_
                     ? m_
                     : std::min({kBlock, fair, m_, rows_.active().capacity(), quick});
    std::vector<Index>& chosen = set_positions_;
    if (size == m_) {
      chosen.resize(m_);
      std::iota(chosen.begin(), chosen.end(), Index(0));
      return;
    }
    // Where few steps solve a set and the violation only moves on to others, round after round, the free variables depend on
    // each other: then all of them go in together, as long as that brings many steps a round.
    bool moved_on = violation > 0.5 * last_violation_ && 2 * last_steps_ < static_cast<Index>(last.size());
    last_violation_ = violation;
    n_moved_on_ = moved_on && !together_ ? n_moved_on_ + 1 : 0;
    together_ = together_ ? 4 * last_steps_ >= static_cast<Index>(last.size()) : n_moved_on_ >= kMovedOn;
    if (together_) {
      for (Index k = 0; k < m_; ++k)
        if (key_[k] > 0 || (can_grow(active_[k]) && can_fall(active_[k]))) chosen.push_back(k);
      double q = double(chosen.size());
      if (q <= kTogether && q <= double(rows_.active().capacity()) && q * q * sizeof(T) <= 0.25 * set_.memory) return;
      together_ = false;
      chosen.clear();
    }
    for (Index k = 0; k < m_; ++k)
      if (key_[k] > 0) chosen.push_back(k);
    if (static_cast<Index>(chosen.size()) > size) {
      std::nth_element(chosen.begin(), chosen.begin() + size, chosen.end(),
                       [&](Index a, Index b) { return worse(a, b); });
      chosen.resize(size);
    }
    std::sort(chosen.begin(), chosen.end());
    Index n_new = static_cast<Index>(chosen.size());
    for (Index k : last) {
      if (static_cast<Index>(chosen.size()) == size) break;
      Index i = active_[k];
      if (can_grow(i) && can_fall(i) && !std::binary_search(chosen.begin(), chosen.begin() + n_new, k))
        chosen.push_back(k);
    }
    std::sort(chosen.begin(), chosen.end());
  }

  // K between the variables of the working set: from rows that are kept, by symmetry from their columns, the rest computed.
  void local_kernel() {
    const std::vector<Index>& at = set_positions_;
    Index q = static_cast<Index>(at.size());
    std::vector<Index> missing, data;
    for (Index r = 0; r < q; ++r)
      if (!rows_.active().kept(at[r])) missing.push_back(r), data.push_back(p_.rows[active_[at[r]]]);
    Index h = static_cast<Index>(missing.size());
    std::vector<T> block(static_cast<std::size_t>(h * h));
    if (h > 0) K_.gram({data.data(), h}, block.data(), h, team_);
    for (Index a = 0; a < h; ++a)
      for (Index b = 0; b < h; ++b) local_.Q[missing[a] * local_.ld + missing[b]] = block[a * h + b];
    by_rows(q, [&](Index r) {
      const T* row = rows_.active().kept(at[r]);
      if (!row) return;
      for (Index c = 0; c < q; ++c) local_.Q[r * local_.ld + c] = row[at[c]];
      for (Index b : missing) local_.Q[b * local_.ld + r] = row[at[b]];
    });
  }

  // work(r) for the rows of a working set, by the team where that is worth it.
  template <class Work>
  void by_rows(Index q, const Work& work) {
    constexpr Index few = 64;
    auto one = [&](Index task) {
      for (Index r = task * few; r < std::min(q, (task + 1) * few); ++r) work(r);
    };
    Index n_tasks = (q + few - 1) / few;
    if (q >= 256) return team_.run(n_tasks, one);
    for (Index k = 0; k < n_tasks; ++k) one(k);
  }

  void advance(double target) {
    const std::vector<Index>& at = set_positions_;
    Index q = static_cast<Index>(at.size());
    if (q == m_) rows_.active().fetch(span(at), fetched_);
    local_.resize(q);
    local_.entropy = p_.entropy;
    local_kernel();
    by_rows(q, [&](Index r) {
      Index i = active_[at[r]];
      T* row = local_.Q.data() + r * local_.ld;
      for (Index c = 0; c < q; ++c) row[c] *= T(M_(i, active_[at[c]]));
      std::fill(row + q, row + local_.ld, T(0));
      row[r] += T(p_.ridge[i]);
      local_.diagonal[r] = row[r];
      local_.inverse[r] = T(1) / std::max(row[r], T(1e-12));
      local_.G[r] = T(G_[at[r]]);
      local_.u[r] = p_.upper[i];
      local_.set(r, out_.alpha[i]);
      if (p_.entropy) local_.t[r] = t_[i];
    });
    if (!groups_.empty()) {
      local_.groups.push_back(0);
      for (Index r = 1; r < q; ++r)
        if (p_.sum == Sum::per_class && M_.label(active_[at[r]]) != M_.label(active_[at[r - 1]]))
          local_.groups.push_back(r);
      local_.groups.push_back(q);
    }
    Index budget = std::min<Index>(set_.max_iter - out_.n_iter, polished_ ? 2000 * q + 20000 : 50 * q + 1000);
    last_steps_ = solve_local(local_, target, budget,
                              [&] { return watch_.late() || watch_.asked(out_.n_iter, target, objective_); });
    out_.n_iter += last_steps_;

    weighed_ = false;
    std::vector<double> change;
    std::vector<Index> moved, variable;
    for (Index r = 0; r < q; ++r) {
      Index i = active_[at[r]];
      double delta = local_.a[r] - out_.alpha[i];
      if (p_.entropy) t_[i] = local_.t[r];
      if (delta == 0) continue;
      objective_ += 0.5 * delta * G_[at[r]];
      if (p_.entropy) objective_ += entropy(local_.a[r], p_.upper[i]) - entropy(out_.alpha[i], p_.upper[i]);
      out_.alpha[i] = local_.a[r];
      change.push_back(delta);
      variable.push_back(i);
      moved.push_back(at[r]);
    }
    follow(moved, change);
    for (std::size_t r = 0; r < moved.size(); ++r) {
      G_[moved[r]] += p_.ridge[variable[r]] * change[r];
      objective_ += 0.5 * change[r] * G_[moved[r]];
    }
  }

  // Adds the change of the variables at the positions `moved` to G_.
  void follow(const std::vector<Index>& moved, const std::vector<double>& change) {
    std::vector<Index> variable(moved.size());
    for (std::size_t r = 0; r < moved.size(); ++r) variable[r] = active_[moved[r]];
    Split split = by_use(moved, variable, change, rows_.active(), used_);
    rows_.active().fetch(span(split.at), fetched_);
    M_.add_rows(fetched_, span(split.variable), split.change.data(), span(active_), G_.data());
    if (!split.first.empty()) M_.add_blocks(span(split.first), split.first_change.data(), span(active_), G_.data());
  }

  // Changed variables whose rows shall be kept (with their positions in the cache), and those that come for the first time.
  // Where a value is cheap, the row of a variable at its bound is kept only from its second use on: most of them stay there.
  struct Split {
    std::vector<Index> at, variable, first;
    std::vector<double> change, first_change;
  };
  Split by_use(const std::vector<Index>& at, const std::vector<Index>& variable, const std::vector<double>& change,
               const RowCache<T>& rows, std::vector<char>& used) const {
    Split split;
    for (std::size_t r = 0; r < at.size(); ++r) {
      Index i = variable[r];
      bool keep = rows.kept(at[r]) || used[i] || K_.cost() > kCheap || (can_grow(i) && can_fall(i));
      used[i] = 1;
      if (keep) split.at.push_back(at[r]);
      (keep ? split.variable : split.first).push_back(i);
      (keep ? split.change : split.first_change).push_back(change[r]);
    }
    return split;
  }

  // About the error of a score that comes from rounded kernel values.
  double rounding() const {
    double squares = 0;
    for (double a : out_.alpha) squares += a * a;
    return rounding_error<T>(largest_, std::sqrt(squares));
  }

  // Whether the gradient was made anew, from weights: a linear kernel whose rounding shows. Once after each move.
  bool weigh(double eps) {
    const double work = 2 * double(n_) * K_.cost();
    if (K_.kernel().kind != KernelKind::linear || weighed_ || work > 0.1 * kPatience || rounding() <= kSeen * eps)
      return false;
    linear_gradient(p_, K_, out_.alpha, out_.gradient);
    reference_ = out_.alpha;
    activate(everything(n_));
    return weighed_ = true;
  }

  // --- the end ---

  // Entropy: full and empty variables take the logits that the level of their group asks for; nothing else feels it.
  void settle() {
    std::size_t g = 0;
    for (Index i = 0; p_.entropy && i < n_; ++i) {
      while (!groups_.empty() && i >= groups_[g + 1]) ++g;
      double t = (groups_.empty() ? 0 : out_.multiplier[g]) - out_.gradient[i];
      if (!(can_grow(i) ? !can_fall(i) && t < t_[i] : t > t_[i])) continue;
      t_[i] = t;
      out_.alpha[i] = p_.upper[i] / (1 + std::exp(-t_[i]));
    }
  }

  // The gradient of every variable, if it can be had in time, and what the point proves; else nothing is claimed.
  void finish() {
    scatter();
    if (m_ < n_ && !lost_) {
      double changed = 0;
      for (Index i = 0; i < n_; ++i) changed += out_.alpha[i] != reference_[i];
      lost_ = changed * double(n_ - m_) * K_.cost() > kPatience;
    }
    if (lost_) {
      out_.violation = out_.primal = std::numeric_limits<double>::infinity();
      out_.dual = -out_.primal;
      out_.multiplier = multipliers();
      return;
    }
    if (m_ < n_) {
      refresh(the_rest(active_, n_));
      activate(everything(n_));
    }
    weigh(tolerance());
    out_.violation = measure();
    const double eps = tolerance(), error = sizeof(T) == sizeof(double) ? rounding() : 0;
    if (error > eps) out_.violation = std::max(out_.violation, error);
    if (out_.status == Status::solved && out_.violation > eps) out_.status = Status::stalled;
    out_.multiplier = multipliers();
    settle();
    certify(p_, groups_, out_);
  }

  const DualProblem& p_;
  const KernelBlocks<T>& K_;
  LabelKernel<T> M_;
  RowStore<T> rows_;
  const Settings& set_;
  Team& team_;
  Index n_, m_ = 0;
  Watch watch_;
  double objective_ = 0, smallest_margin_ = 0, largest_ = 0;  // largest: |k(x, x)|
  double last_violation_ = std::numeric_limits<double>::infinity();
  Index last_steps_ = 0, n_moved_on_ = 0;
  int n_weighed_ = 0;
  bool together_ = false, polished_ = false, weighed_ = false,
       lost_ = false;  // lost: stopped while the gradient was computed
  Solution out_;
  std::vector<double> diagonal_, reference_, t_;
  std::vector<char> used_, seen_;  // whose row was needed before, over the active and over all columns
  std::vector<Index> active_, groups_, set_positions_;
  double stage_tol_ = 0.1;  // a first sample need not be solved exactly
  int n_stages_ = 0;
  std::vector<double> G_, key_, low_, high_;
  std::vector<const T*> fetched_;
  LocalQp<T> local_;
};

}  // namespace

template <class T>
Solution solve(const DualProblem& problem, const KernelBlocks<T>& K, std::unique_ptr<RowCache<T>>& cache,
               std::vector<double> alpha, const Settings& settings, Team& team) {
  return Decomposition<T>(problem, K, cache, std::move(alpha), settings, team).run();
}

template Solution solve(const DualProblem&, const KernelBlocks<float>&, std::unique_ptr<RowCache<float>>&,
                        std::vector<double>, const Settings&, Team&);
template Solution solve(const DualProblem&, const KernelBlocks<double>&, std::unique_ptr<RowCache<double>>&,
                        std::vector<double>, const Settings&, Team&);

}  // namespace polymargin
