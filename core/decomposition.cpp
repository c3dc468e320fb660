#include "decomposition.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include "local_qp.hpp"

namespace polymargin {

namespace {

constexpr Index kBlock = 512;          // largest working set of a large problem
constexpr double kCheap = 100;         // a value of fewer multiply-adds is computed sooner than fresh memory is had for it
constexpr Index kWhole = 768;          // up to this size the working set is the whole problem
constexpr Index kPolished = 256;       // up to this size a solved problem is carried on to rounding error
constexpr Index kLeastRows = 16;       // kept even where the memory budget is smaller
constexpr Index kSample = 4096;        // a larger problem starts on a sample of this size
constexpr double kNoMargin = 1e-6;      // of the largest Q_ii: classes with a smaller margin overlap
constexpr double kPolishedTol = 1e-12;
constexpr double kPatience = 2e10;     // multiply-adds that a stop may still cost, well under a second
constexpr int kStages = 30;            // then everything stays active
constexpr int kStalled = 30;           // sweeps, of a quarter of all variables, in which neither objective nor violation fell

template <class T>
class Decomposition {
 public:
  Decomposition(const DualProblem& problem, const KernelBlocks<T>& K, std::unique_ptr<RowCache<T>>& cache,
                std::vector<double> alpha, const Settings& settings, Team& team)
      : p_(problem), K_(K), all_(cache), set_(settings), team_(team), n_(problem.rows.size), start_(Clock::now()) {
    out_.alpha = std::move(alpha);
    label_.resize(n_);
    for (Index c = 0; c + 1 < p_.segments.size; ++c)
      std::fill(label_.begin() + p_.segments[c], label_.begin() + p_.segments[c + 1], c);
    diagonal_.resize(n_);
    K_.diagonal(p_.rows, diagonal_.data());
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
    refresh(everything());
    for (Index i = 0; i < n_; ++i)
      objective_ += 0.5 * out_.alpha[i] * (out_.gradient[i] - p_.linear[i]) + (p_.entropy ? entropy(i, out_.alpha[i]) : 0);
    activate(n_ > 2 * kSample && p_.sum == Sum::none && !p_.entropy && nothing_yet() ? sample() : everything());
    double best = std::numeric_limits<double>::infinity(), closest = best;
    for (Index round = 0, idle = 0;; ++round) {
      double violation = measure();
      double eps = set_.tol * (set_.relative ? std::max(margin(), smallest_margin_) : 1);
      if (violation <= eps && m_ == n_ && (polished_ || n_ > kPolished)) break;
      if (m_ < n_ && violation <= std::max(eps, stage_tol_)) {
        widen(eps);
        continue;
      }
      if (halted(violation)) break;
      idle = objective_ < best - 1e-14 * std::abs(best) || violation < 0.99 * closest ? 0 : idle + 1;
      if (idle >= kStalled * (1 + 4 * m_ / std::max<Index>(1, static_cast<Index>(set_positions_.size())))) {
        out_.status = Status::stalled;
        break;
      }
      best = std::min(best, objective_);
      closest = std::min(closest, violation);
      if (m_ > kSample && round % 16 == 15 && narrow(violation)) continue;
      choose();
      bool whole = static_cast<Index>(set_positions_.size()) == m_;
      polished_ = whole && n_ <= kPolished;
      advance(polished_ ? std::min(eps, kPolishedTol) : whole ? 0.5 * eps : std::max(0.3 * eps, 0.1 * violation));
    }
    finish();
    return std::move(out_);
  }

 private:
  using Clock = std::chrono::steady_clock;
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  bool nothing_yet() const {
    return std::all_of(out_.alpha.begin(), out_.alpha.end(), [](double a) { return a == 0; });
  }

  // Every k-th variable of each class.
  std::vector<Index> sample() const {
    std::vector<Index> chosen;
    double keep = double(kSample) / double(n_);
    for (Index c = 0; c + 1 < p_.segments.size; ++c) {
      Index begin = p_.segments[c], size = p_.segments[c + 1] - begin, take = static_cast<Index>(std::ceil(size * keep));
      for (Index k = 0; k < take; ++k) chosen.push_back(begin + k * size / take);
    }
    return chosen;
  }

  // --- the active set: variables in increasing order, with their own compact copies ---

  // Between two refreshes `gradient` belongs to `reference_`; only the active variables' G_ follows every step.
  void activate(std::vector<Index> active) {
    std::vector<Index> columns(active.size());
    for (std::size_t k = 0; k < active.size(); ++k) columns[k] = p_.rows[active[k]];
    if (static_cast<Index>(active.size()) == n_) {
      need_all();
      near_ = &all_;
    } else {
      need_some(std::move(columns));
    }
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
        if (p_.sum == Sum::per_class && label_[active_[k]] != label_[active_[k - 1]]) groups_.push_back(k);
      groups_.push_back(m_);
    }
    set_positions_.clear();
    key_.resize(m_);
  }

  // Memory is shared out 6 : 4 between rows over all columns and rows over the active ones.
  void need_all() {
    std::vector<Index> columns(p_.rows.begin(), p_.rows.end());
    if (all_ && all_->columns() == columns) return;
    all_ = std::make_unique<RowCache<T>>(K_, n_, (n_ > kSample ? 0.6 : 1.0) * set_.memory, kLeastRows, team_);
    all_->reset(std::move(columns));
  }
  void need_some(std::vector<Index> columns) {
    if (!some_) some_ = std::make_unique<RowCache<T>>(K_, n_, 0.4 * set_.memory, kLeastRows, team_);
    some_->reset(std::move(columns));
    near_ = &some_;
  }

  std::vector<Index> everything() const {
    std::vector<Index> all(n_);
    std::iota(all.begin(), all.end(), Index(0));
    return all;
  }

  std::vector<Index> idle() const {
    std::vector<Index> rest;
    for (Index i = 0, k = 0; i < n_; ++i) {
      if (k < m_ && active_[k] == i)
        ++k;
      else
        rest.push_back(i);
    }
    return rest;
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
    Index most = std::max(m_, kSample);
    scatter();
    refresh(idle());
    activate(everything());
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
    Index most = near_ == &all_ ? m_ / 2 : 7 * m_ / 10;
    if (static_cast<Index>(next.size()) > most || next.empty()) return false;
    std::vector<Index> keep, columns;
    for (std::size_t k = 0; k < active_.size() && keep.size() < next.size(); ++k) {
      if (active_[k] != next[keep.size()]) continue;
      G_[keep.size()] = G_[k];
      columns.push_back(p_.rows[active_[k]]);
      keep.push_back(static_cast<Index>(k));
    }
    if (near_ == &all_)
      need_some(std::move(columns));
    else
      some_->restrict_to(keep);
    active_ = std::move(next);
    G_.resize(active_.size());
    regroup();
    return true;
  }

  // gradient += Q (alpha - reference) on the given variables; those left out are up to date already.
  void refresh(const std::vector<Index>& which) {
    std::vector<Index> changed;
    std::vector<double> change;
    for (Index i = 0; i < n_; ++i)
      if (out_.alpha[i] != reference_[i]) changed.push_back(i), change.push_back(out_.alpha[i] - reference_[i]);
    if (!changed.empty() && !which.empty()) {
      need_all();
      Split split = by_use(changed, changed, change, *all_, seen_);
      std::vector<double> sum(which.size(), 0.0);
      if (static_cast<Index>(split.variable.size()) <= all_->capacity()) {
        from_rows(split.variable, split.change, which, sum);
        from_blocks(split.first, split.first_change, which, sum);
      } else {
        from_blocks(changed, change, which, sum);
      }
      for (std::size_t k = 0; k < which.size(); ++k) {
        Index i = which[k];
        out_.gradient[i] += sum[k] + p_.ridge[i] * (out_.alpha[i] - reference_[i]);
      }
    }
    reference_ = out_.alpha;
  }

  // Rows of the changed variables over all columns, kept: each is needed again at the end of the next stage.
  void from_rows(const std::vector<Index>& changed, const std::vector<double>& change, const std::vector<Index>& which,
                 std::vector<double>& sum) {
    constexpr Index high = 256;
    std::vector<double> total(n_, 0.0);
    for (std::size_t r0 = 0; r0 < changed.size(); r0 += high) {
      Span<const Index> at{changed.data() + r0, std::min<Index>(high, static_cast<Index>(changed.size() - r0))};
      all_->fetch(at, rows_);
      add_all(rows_, change.data() + r0, at, [&](Index c) { return label_[c]; }, n_, total.data());
    }
    for (std::size_t k = 0; k < which.size(); ++k) sum[k] = total[which[k]];
  }

  // The same without keeping anything, where the rows do not fit the memory.
  void from_blocks(const std::vector<Index>& changed, const std::vector<double>& change, const std::vector<Index>& which,
                   std::vector<double>& sum) const {
    constexpr Index wide = 1024, high = 128;
    Index n_cols = static_cast<Index>(which.size()), n_rows = static_cast<Index>(changed.size());
    if (n_rows == 0) return;
    std::vector<Index> cols(n_cols), rows(n_rows);
    for (Index k = 0; k < n_cols; ++k) cols[k] = p_.rows[which[k]];
    for (Index r = 0; r < n_rows; ++r) rows[r] = p_.rows[changed[r]];
    auto one = [&](Index task) {
      Index c0 = task * wide;
      Index width = std::min(n_cols - c0, wide);
      std::vector<T> block(static_cast<std::size_t>(high) * width);
      std::vector<const T*> pointers(high);
      for (Index r0 = 0; r0 < n_rows; r0 += high) {
        Index h = std::min(n_rows - r0, high);
        K_.block({rows.data() + r0, h}, {cols.data() + c0, width}, block.data(), width);
        for (Index r = 0; r < h; ++r) pointers[r] = block.data() + r * width;
        add(pointers.data(), &change[r0], &changed[r0], h, [&](Index k) { return label_[which[c0 + k]]; }, width, &sum[c0]);
      }
    };
    Index n_tasks = (n_cols + wide - 1) / wide;
    if (!K_.serial()) return team_.run(n_tasks, one);
    for (Index k = 0; k < n_tasks; ++k) one(k);
  }

  // `add` for all columns, by the whole team.
  template <class Label>
  void add_all(const std::vector<const T*>& rows, const double* coef, Span<const Index> variable,
               const Label& label, Index width, double* sum) const {
    constexpr Index tile = 2048;
    auto one = [&](Index task) {
      Index begin = task * tile;
      std::vector<const T*> shifted(rows.begin(), rows.begin() + variable.size);
      for (const T*& row : shifted) row += begin;
      add(shifted.data(), coef, variable.begin(), variable.size, [&](Index c) { return label(begin + c); },
          std::min(tile, width - begin), sum + begin);
    };
    Index n_tasks = (width + tile - 1) / tile;
    if (variable.size * width > 200000) return team_.run(n_tasks, one);
    for (Index k = 0; k < n_tasks; ++k) one(k);
  }

  // sum[k] += sum_r M(y_r, y_k) coef_r row_r[k]; rows and columns are sorted by class.
  template <class Label>
  void add(const T* const* rows, const double* coef, const Index* variable, Index h, const Label& label, Index width, double* sum) const {
    const Steps<T>& pass = steps<T>();
    std::vector<double> scaled(coef, coef + h);
    for (double& x : scaled) x *= p_.other;
    pass.add_rows(rows, scaled.data(), h, 0, width, sum);
    for (Index r = 0; r < h; ++r) scaled[r] = (p_.same - p_.other) * coef[r];
    for (Index r = 0, k = 0; r < h && k < width;) {
      Index c = label_[variable[r]], ck = label(k);
      if (ck < c) {
        ++k;
      } else if (ck > c) {
        ++r;
      } else {
        Index r1 = r, k1 = k;
        while (r1 < h && label_[variable[r1]] == c) ++r1;
        while (k1 < width && label(k1) == c) ++k1;
        pass.add_rows(rows + r, scaled.data() + r, r1 - r, k, k1, sum);
        r = r1, k = k1;
      }
    }
  }

  RowCache<T>& cache() { return **near_; }

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
      r.push_back(n_free ? sum / double(n_free) : low <= -kBlocked ? high : high >= kBlocked ? low : 0.5 * (low + high));
    }
    return r;
  }

  double margin() const {
    std::vector<double> r = multipliers();
    double sum = std::accumulate(r.begin(), r.end(), 0.0);
    return r.empty() ? 1 : sum / double(r.size());
  }

  bool halted(double violation) {
    if (out_.n_iter >= set_.max_iter) out_.status = Status::max_iter;
    else if (seconds() >= set_.time_limit) out_.status = Status::time_limit;
    else if (asked(violation)) out_.status = Status::interrupted;
    else return false;
    return true;
  }

  // Asks the caller, at most some ten times a second.
  bool asked(double violation) {
    if (interrupted_) return true;
    double now = seconds();
    if (!set_.stop || now - last_asked_ < 0.08) return false;
    last_asked_ = now;
    return interrupted_ = set_.stop({out_.n_iter, violation, std::nan(""), -objective_, now});
  }

  // --- one round ---

  // The working set: the largest keys, then free variables of the last set, whose rows are at hand.
  void choose() {
    std::vector<Index> last = std::move(set_positions_);
    set_positions_.clear();
    Index quick = std::max<Index>(kLeastRows, static_cast<Index>(kPatience / (double(m_) * K_.cost())));
    // A set of q costs q^2 to build and saves passes over all m.
    Index fair = static_cast<Index>(2 * std::sqrt(double(m_))) / kLanes * kLanes;
    Index size = m_ <= kWhole && cache().capacity() >= m_ ? m_ : std::min({kBlock, fair, m_, cache().capacity(), quick});
    std::vector<Index>& chosen = set_positions_;
    if (size == m_) {
      chosen.resize(m_);
      std::iota(chosen.begin(), chosen.end(), Index(0));
      return;
    }
    for (Index k = 0; k < m_; ++k)
      if (key_[k] > 0) chosen.push_back(k);
    if (static_cast<Index>(chosen.size()) > size) {
      std::nth_element(chosen.begin(), chosen.begin() + size, chosen.end(), [&](Index a, Index b) { return worse(a, b); });
      chosen.resize(size);
    }
    std::sort(chosen.begin(), chosen.end());
    Index n_new = static_cast<Index>(chosen.size());
    for (Index k : last) {
      if (static_cast<Index>(chosen.size()) == size) break;
      Index i = active_[k];
      if (can_grow(i) && can_fall(i) && !std::binary_search(chosen.begin(), chosen.begin() + n_new, k)) chosen.push_back(k);
    }
    std::sort(chosen.begin(), chosen.end());
  }

  // K between the variables of the working set: from rows that are kept, by symmetry from their columns, the rest computed.
  void local_kernel() {
    const std::vector<Index>& at = set_positions_;
    Index q = static_cast<Index>(at.size());
    std::vector<Index> missing, data;
    for (Index r = 0; r < q; ++r)
      if (!cache().kept(at[r])) missing.push_back(r), data.push_back(p_.rows[active_[at[r]]]);
    Index h = static_cast<Index>(missing.size());
    std::vector<T> block(static_cast<std::size_t>(h * h));
    if (h > 0) K_.gram({data.data(), h}, block.data(), h, team_);
    for (Index a = 0; a < h; ++a)
      for (Index b = 0; b < h; ++b) local_.Q[missing[a] * local_.ld + missing[b]] = block[a * h + b];
    for (Index r = 0; r < q; ++r) {
      const T* row = cache().kept(at[r]);
      if (!row) continue;
      for (Index c = 0; c < q; ++c) local_.Q[r * local_.ld + c] = row[at[c]];
      for (Index b : missing) local_.Q[b * local_.ld + r] = row[at[b]];
    }
  }

  void advance(double target) {
    const std::vector<Index>& at = set_positions_;
    Index q = static_cast<Index>(at.size());
    if (q == m_) cache().fetch({at.data(), q}, rows_);
    local_.resize(q);
    local_.entropy = p_.entropy;
    local_kernel();
    for (Index r = 0; r < q; ++r) {
      Index i = active_[at[r]];
      T* row = local_.Q.data() + r * local_.ld;
      for (Index c = 0; c < q; ++c) row[c] *= T(label_[active_[at[c]]] == label_[i] ? p_.same : p_.other);
      std::fill(row + q, row + local_.ld, T(0));
      row[r] += T(p_.ridge[i]);
      local_.diagonal[r] = row[r];
      local_.inverse[r] = T(1) / std::max(row[r], T(1e-12));
      local_.G[r] = T(G_[at[r]]);
      local_.u[r] = p_.upper[i];
      local_.set(r, out_.alpha[i]);
      if (p_.entropy) local_.t[r] = t_[i];
    }
    if (!groups_.empty()) {
      local_.groups.push_back(0);
      for (Index r = 1; r < q; ++r)
        if (p_.sum == Sum::per_class && label_[active_[at[r]]] != label_[active_[at[r - 1]]]) local_.groups.push_back(r);
      local_.groups.push_back(q);
    }
    Index budget = std::min<Index>(set_.max_iter - out_.n_iter, polished_ ? 2000 * q + 20000 : 50 * q + 1000);
    out_.n_iter += solve_local(local_, target, budget, [&] { return seconds() >= set_.time_limit || asked(target); });

    std::vector<double> change;
    std::vector<Index> moved, variable;
    for (Index r = 0; r < q; ++r) {
      Index i = active_[at[r]];
      double delta = local_.a[r] - out_.alpha[i];
      if (p_.entropy) t_[i] = local_.t[r];
      if (delta == 0) continue;
      objective_ += 0.5 * delta * G_[at[r]];
      if (p_.entropy) objective_ += entropy(i, local_.a[r]) - entropy(i, out_.alpha[i]);
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
    Split split = by_use(moved, variable, change, cache(), used_);
    cache().fetch({split.at.data(), static_cast<Index>(split.at.size())}, rows_);
    add_all(rows_, split.change.data(), {split.variable.data(), static_cast<Index>(split.variable.size())},
            [&](Index k) { return label_[active_[k]]; }, m_, G_.data());
    from_blocks(split.first, split.first_change, active_, G_);
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

  // --- the end ---

  double entropy(Index i, double a) const {
    double u = p_.upper[i];
    return (a > 0 ? a * std::log(a / u) : 0) + (a < u ? (u - a) * std::log1p(-a / u) : 0);
  }

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

  // With s = (Q - R) a and the multiplier r of the group of i:
  //   primal = 1/2 a's - sum_g r_g S_g + sum_i max over b in [0, u_i] of b (g_i + r - s_i) - ridge_i b^2 / 2   (or the logistic loss)
  void finish() {
    scatter();
    if (m_ < n_) {
      double changed = 0;
      for (Index i = 0; i < n_; ++i) changed += out_.alpha[i] != reference_[i];
      if (changed * double(n_ - m_) * K_.cost() > kPatience) {
        // Stopped early and the certificate would take too long: nothing is claimed.
        out_.violation = out_.primal = std::numeric_limits<double>::infinity();
        out_.dual = -std::numeric_limits<double>::infinity();
        out_.multiplier = multipliers();
        return;
      }
      refresh(idle());
      activate(everything());
    }
    out_.violation = measure();
    out_.multiplier = multipliers();
    settle();
    double quadratic = 0, loss = 0, ridge = 0, linear = 0, sums = 0, entropic = 0;
    std::size_t g = 0;
    for (Index i = 0; i < n_; ++i) {
      while (!groups_.empty() && i >= groups_[g + 1]) ++g;
      double a = out_.alpha[i], s = out_.gradient[i] + p_.linear[i] - p_.ridge[i] * a;
      double r = groups_.empty() ? 0 : out_.multiplier[g], short_of = p_.linear[i] + r - s;
      quadratic += a * s;
      ridge += p_.ridge[i] * a * a;
      linear += p_.linear[i] * a;
      sums += r * a;
      if (p_.entropy) {
        loss += p_.upper[i] * (short_of > 0 ? short_of + std::log1p(std::exp(-short_of)) : std::log1p(std::exp(short_of)));
        entropic += entropy(i, a);
      } else if (short_of > 0) {
        double b = p_.ridge[i] > 0 ? std::min(short_of / p_.ridge[i], p_.upper[i]) : p_.upper[i];
        loss += b * short_of - 0.5 * p_.ridge[i] * b * b;
      }
    }
    out_.primal = 0.5 * quadratic - sums + loss;
    out_.dual = linear - 0.5 * (quadratic + ridge) - entropic;
  }

  const DualProblem& p_;
  const KernelBlocks<T>& K_;
  std::unique_ptr<RowCache<T>>& all_;             // rows over all columns
  std::unique_ptr<RowCache<T>> some_, *near_ = nullptr;  // rows over the active columns; near_ is one of the two
  const Settings& set_;
  Team& team_;
  Index n_, m_ = 0;
  Clock::time_point start_;
  double last_asked_ = 0, objective_ = 0, smallest_margin_ = 0;
  bool interrupted_ = false, polished_ = false;
  Solution out_;
  std::vector<Index> label_;
  std::vector<double> diagonal_, reference_, t_;
  std::vector<char> used_, seen_;  // whose row was needed before, over the active and over all columns
  std::vector<Index> active_, groups_, set_positions_;
  double stage_tol_ = 0.1;  // a first sample need not be solved exactly
  int n_stages_ = 0;
  std::vector<double> G_, key_, low_, high_;
  std::vector<const T*> rows_;
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
