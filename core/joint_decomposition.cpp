#include "joint_decomposition.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "certificate.hpp"
#include "linear_scores.hpp"
#include "local_margins.hpp"
#include "margin_face.hpp"
#include "row_store.hpp"
#include "score_kernel.hpp"
#include "watch.hpp"

namespace polymargin {

namespace {

constexpr Index kBlock = 768;     // largest working set of a large problem
constexpr Index kScores = 32768;  // scores of a working set that stay in cache
constexpr double kCheap = 100;    // a value of fewer multiply-adds is computed sooner than fresh memory is had for it
constexpr Index kWhole = 1024;    // up to this size the working set is the whole problem
constexpr Index kPolished = 256;  // up to this size a solved problem is carried on to rounding error
constexpr double kPolishedTol = 1e-12;
constexpr double kPatience = 2e10;  // multiply-adds that a stop may still cost, well under a second
constexpr int kStages = 30;         // then everything stays active
constexpr int kWeighed = 10;        // times that scores made anew may ask for more steps
constexpr Index kMany = 8;          // steps per active example after which the free variables are moved together
constexpr Index kFace = 2048;       // examples that they may belong to
constexpr double kLeastProducts = 4 * kMany, kProducts = 200;  // with the kernel matrix, to move them

template <class T>
class JointDecomposition {
 public:
  JointDecomposition(const MarginProblem& problem, const KernelBlocks<T>& K, std::unique_ptr<RowCache<T>>& cache,
                     std::vector<double> b, const Settings& settings, Team& team)
      : p_(problem),
        K_(K),
        M_(problem, K, team),
        rows_(K, problem.rows, cache, settings.memory, team),
        set_(settings),
        team_(team),
        n_(problem.rows.size),
        T_(problem.classes),
        watch_(settings),
        local_(problem),
        face_(problem, M_) {
    out_.alpha = std::move(b);
    diagonal_.resize(n_);
    K_.diagonal(p_.rows, diagonal_.data());
    for (double k : diagonal_) largest_ = std::max(largest_, std::abs(k));
    for (Index i = 0; i < n_; ++i) diagonal_[i] = std::max((1 + p_.beta()) * diagonal_[i] + p_.ridge[i], 1e-12);
    out_.gradient.assign(n_ * T_, 0);
    reference_.assign(n_ * T_, 0);
    used_.assign(n_, 0);
    seen_.assign(n_, 0);
  }

  Solution run() {
    watch_.reserve(2);
    const bool cold = std::all_of(out_.alpha.begin(), out_.alpha.end(), [](double a) { return a == 0; });
    if (!cold) {
      refresh(everything(n_));
      certify(p_, out_);
      objective_ = -out_.dual;
    }
    const bool large = n_ > 2 * RowStore<T>::kSample && cold;
    if (large) stage_tol_ = 0.1;  // a first sample need not be solved exactly
    activate(large ? sample() : everything(n_));
    for (Index round = 0; !lost_; ++round) {
      const double violation = measure();
      if (violation <= set_.tol && m_ == n_ && (polished_ || n_ > kPolished)) {
        if (++n_weighed_ > kWeighed || !weigh(set_.tol)) break;
        continue;
      }
      if (m_ < n_ && violation <= std::max(set_.tol, stage_tol_)) {
        widen();
        continue;
      }
      if (halted(violation) || stalled(violation)) break;
      if (m_ > RowStore<T>::kSample / 4 && round % 16 == 15 && narrow(violation)) continue;
      choose();
      const bool whole = static_cast<Index>(set_positions_.size()) == m_;
      polished_ = whole && n_ <= kPolished;
      advance(polished_ ? std::min(set_.tol, kPolishedTol)
              : whole   ? 0.5 * set_.tol
                        : std::max(0.3 * set_.tol, 0.25 * violation));
      if (out_.n_iter - last_descent_ >= kMany * m_) descend(violation);
    }
    finish();
    return std::move(out_);
  }

 private:
  // Every k-th example of each class.
  std::vector<Index> sample() const {
    std::vector<Index> chosen;
    const double keep = double(RowStore<T>::kSample) / double(n_);
    for (Index begin = 0, end = 0; begin < n_; begin = end) {
      while (end < n_ && p_.label[end] == p_.label[begin]) ++end;
      const Index size = end - begin, take = static_cast<Index>(std::ceil(size * keep));
      for (Index k = 0; k < take; ++k) chosen.push_back(begin + k * size / take);
    }
    return chosen;
  }

  // --- the active set: examples in increasing order, with their own compact copies ---

  // Between two refreshes the scores of the solution belong to `reference_`; only the active examples' F_ follows every step.
  void activate(std::vector<Index> active) {
    active_ = std::move(active);
    m_ = static_cast<Index>(active_.size());
    rows_.activate(active_);
    F_.resize(m_ * T_), A_.resize(m_ * T_);
    for (Index c = 0; c < T_; ++c)
      for (Index k = 0; k < m_; ++k) {
        F_[c * m_ + k] = out_.gradient[c * n_ + active_[k]];
        A_[c * m_ + k] = out_.alpha[c * n_ + active_[k]];
      }
    set_up();
  }

  // What the passes need of the active examples, in their order.
  void set_up() {
    for (auto* v : {&ref_, &low_, &ridge_, &label_, &up_, &down_, &key_}) v->resize(m_);
    at_cap_.resize(m_);
    std::vector<double> total(m_, 0.0);
    for (Index c = 0; p_.capped && c < T_; ++c)
      for (Index k = 0; k < m_; ++k) total[k] += std::abs(A_[c * m_ + k]);
    for (Index k = 0; k < m_; ++k) {
      const Index i = active_[k];
      low_[k] = -std::min(p_.upper[i], 1e30);
      ridge_[k] = p_.ridge[i];
      label_[k] = static_cast<double>(p_.label[i]);
      at_cap_[k] = p_.capped && total[k] >= kAtCap * p_.upper[i];
    }
    set_positions_.clear();
  }

  void see_cap(Index k) {
    double total = 0;
    for (Index c = 0; c < T_; ++c) total += std::abs(A_[c * m_ + k]);
    at_cap_[k] = p_.capped && total >= kAtCap * p_.upper[active_[k]];
  }

  void scatter() {
    for (Index c = 0; c < T_; ++c)
      for (Index k = 0; k < m_; ++k) {
        out_.gradient[c * n_ + active_[k]] = F_[c * m_ + k];
        out_.alpha[c * n_ + active_[k]] = A_[c * m_ + k];
      }
  }

  // Leaves out examples whose variables all rest at bounds by more than the violation. Those that were active stay unless they
  // are held; of the others at most `most` come in, the worst first.
  std::vector<Index> contenders(double violation, const std::vector<char>& was_active, Index most) const {
    std::vector<Index> kept, fresh;
    for (Index k = 0; k < m_; ++k) {
      const bool held = example_violation(at_cap_[k], up_[k], down_[k]) < -violation;
      if (!held && (was_active[active_[k]] || down_[k] > -kBlocked))
        kept.push_back(active_[k]);
      else if (key_[k] > 0)
        fresh.push_back(k);
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

  // The active problem is solved: the exact scores of all others, and the next active set.
  void widen() {
    std::vector<char> was_active(n_, 0);
    for (Index i : active_) was_active[i] = 1;
    const Index most = std::max(m_, RowStore<T>::kSample);
    scatter();
    refresh(the_rest(active_, n_));
    activate(everything(n_));
    const double violation = measure();
    stage_tol_ = std::max(set_.tol, 0.1 * violation);
    if (violation <= set_.tol || ++n_stages_ > kStages) return;
    std::vector<Index> next = contenders(violation, was_active, most);
    if (static_cast<Index>(next.size()) <= 7 * n_ / 10) activate(std::move(next));
  }

  // Inside a stage: drops what is held at its bounds.
  bool narrow(double violation) {
    if (n_stages_ > kStages) return false;
    std::vector<Index> next = contenders(violation, std::vector<char>(n_, 1), m_);
    // Rows over all columns stay behind, so leaving them must bring more.
    const Index most = rows_.over_all() ? m_ / 2 : 7 * m_ / 10;
    if (static_cast<Index>(next.size()) > most || next.empty()) return false;
    std::vector<Index> keep;
    for (Index k = 0; k < m_ && keep.size() < next.size(); ++k)
      if (active_[k] == next[keep.size()]) keep.push_back(k);
    const Index m = static_cast<Index>(keep.size());
    for (Index c = 0; c < T_; ++c)  // never ahead of what is still to be read
      for (Index k = 0; k < m; ++k) {
        F_[c * m + k] = F_[c * m_ + keep[k]];
        A_[c * m + k] = A_[c * m_ + keep[k]];
      }
    rows_.narrow(next, keep);
    active_ = std::move(next);
    m_ = m;
    F_.resize(m_ * T_), A_.resize(m_ * T_);
    set_up();
    return true;
  }

  std::vector<Index> changed_examples() const {
    std::vector<char> differs(n_, 0);
    for (Index c = 0; c < T_; ++c)
      for (Index i = 0; i < n_; ++i) differs[i] |= out_.alpha[c * n_ + i] != reference_[c * n_ + i];
    std::vector<Index> changed;
    for (Index i = 0; i < n_; ++i)
      if (differs[i]) changed.push_back(i);
    return changed;
  }

  // Scores += the change of b since `reference_` on the given examples; those left out are up to date already. Where there is
  // room, the rows of the changed examples over all columns are kept: they are needed again at the end of the next stage.
  void refresh(const std::vector<Index>& which) {
    const std::vector<Index> changed = changed_examples();
    if (!changed.empty() && !which.empty()) {
      const Split split = by_use(changed, changed, rows_.all(), seen_);
      auto change_of = [&](Span<const Index> part) {
        ScoreChange change(T_);
        for (Index i : part) M_.add(change, i, out_.alpha.data() + i, reference_.data() + i, n_);
        return change;
      };
      const Index w = static_cast<Index>(which.size());
      std::vector<double> total(n_ * T_, 0.0), sum(w * T_, 0.0);
      in_parts(split.example, n_, [&](Span<const Index> part) {
        rows_.all().fetch(part, fetched_);
        M_.add_rows(fetched_, change_of(part), n_, total.data());
      });
      in_parts(split.first, w,
               [&](Span<const Index> part) { M_.add_blocks(change_of(part), span(which), sum.data()); });
      for (Index c = 0; c < T_; ++c)
        for (Index k = 0; k < w; ++k) out_.gradient[c * n_ + which[k]] += total[c * n_ + which[k]] + sum[c * w + k];
    }
    reference_ = out_.alpha;
  }

  // work(rows) for a few rows at a time, so that a stop is heard in between; then the scores are lost.
  template <class Work>
  void in_parts(const std::vector<Index>& rows, Index width, const Work& work) {
    const Index n = static_cast<Index>(rows.size());
    const Index part = std::max<Index>(RowStore<T>::kLeastRows,
                                       static_cast<Index>(kPatience / (double(width + 1) * (K_.cost() + double(T_)))));
    for (Index from = 0; from < n && !lost_; from += part) {
      if (from > 0 && halted(std::nan("")))
        lost_ = true;
      else
        work(span(rows).sub(from, std::min(from + part, n)));
    }
  }

  // --- optimality ---

  // The largest violation, and in key_ how much each active example takes part in one.
  double measure() {
    const Steps<double>& pass = steps<double>();
    constexpr Index tile = 1024;
    const Index n_tasks = (m_ + tile - 1) / tile;
    std::vector<double> worst(n_tasks, 0.0);
    auto one = [&](Index task) {
      const Index begin = task * tile, end = std::min(begin + tile, m_), n = end - begin;
      set_reference(begin, end);
      pass.margins(F_.data() + begin, A_.data() + begin, m_, T_, ref_.data() + begin, ridge_.data() + begin,
                   low_.data() + begin, label_.data() + begin, n, up_.data() + begin, down_.data() + begin);
      for (Index k = begin; k < end; ++k) {
        if (p_.own_target > 0) {
          const Index at = p_.label[active_[k]] * m_ + k;
          const double g = F_[at] - ref_[k] - p_.own_target + ridge_[k] * A_[at];
          if (A_[at] < -low_[k]) up_[k] = std::max(up_[k], -g);
          if (A_[at] > 0) down_[k] = std::max(down_[k], g);
        }
        const double v = std::max(example_violation(at_cap_[k], up_[k], down_[k]), 0.0);
        worst[task] = std::max(worst[task], v);
        key_[k] = v * v / diagonal_[active_[k]];
      }
    };
    if (m_ * T_ > 20000)
      team_.run(n_tasks, one);
    else
      for (Index k = 0; k < n_tasks; ++k) one(k);
    return *std::max_element(worst.begin(), worst.end());
  }

  void set_reference(Index begin, Index end) {
    std::fill(ref_.begin() + begin, ref_.begin() + end, 0.0);
    if (p_.reference == Reference::own)
      for (Index k = begin; k < end; ++k) ref_[k] = F_[p_.label[active_[k]] * m_ + k];
    if (p_.reference != Reference::mean) return;
    for (Index c = 0; c < T_; ++c)
      for (Index k = begin; k < end; ++k) ref_[k] += F_[c * m_ + k] / double(T_);
  }

  bool halted(double violation) { return watch_.halted(out_, violation, objective_); }
  bool stalled(double violation) {
    const Index q = std::max<Index>(1, static_cast<Index>(set_positions_.size()));
    return watch_.stalled(out_, violation, objective_, 1 + 4 * m_ / q);
  }

  // --- one round ---

  // The working set: half of it the largest keys, the other half from the last set, newest first. Steps on some examples upset
  // others that are like them; with both in one set they come to terms, else they take turns round by round.
  void choose() {
    std::vector<Index> last = std::move(set_positions_);
    std::vector<Index>& chosen = set_positions_;
    chosen.clear();
    const Index quick =
        std::max<Index>(RowStore<T>::kLeastRows, static_cast<Index>(kPatience / (double(m_) * K_.cost())));
    const Index fair = static_cast<Index>(10 * std::sqrt(double(m_))) / kLanes * kLanes;
    const Index close = std::max<Index>(kLanes, kScores / T_ / kLanes * kLanes);
    const Index size = m_ <= kWhole && rows_.active().capacity() >= m_
                           ? m_
                           : std::min({kBlock, std::max(fair, kLanes), close, m_, rows_.active().capacity(), quick});
    if (size == m_) {
      chosen.resize(m_);
      std::iota(chosen.begin(), chosen.end(), Index(0));
      return;
    }
    for (Index k = 0; k < m_; ++k)
      if (key_[k] > 0) chosen.push_back(k);
    const Index fresh = last.empty() ? size : size / 2;
    if (static_cast<Index>(chosen.size()) > fresh) {
      std::nth_element(chosen.begin(), chosen.begin() + fresh, chosen.end(),
                       [&](Index a, Index b) { return worse(a, b); });
      chosen.resize(fresh);
    }
    std::vector<char> taken(m_, 0);
    for (Index k : chosen) taken[k] = 1;
    for (Index k : last) {
      if (static_cast<Index>(chosen.size()) == size) break;
      if (!taken[k]) chosen.push_back(k);
    }
  }

  // K between the examples of the working set: from rows that are kept, by symmetry from their columns, the rest computed.
  void local_kernel() {
    const std::vector<Index>& at = set_positions_;
    const Index q = static_cast<Index>(at.size()), ld = local_.ld;
    std::vector<Index> missing, data;
    for (Index r = 0; r < q; ++r)
      if (!rows_.active().kept(at[r])) missing.push_back(r), data.push_back(p_.rows[active_[at[r]]]);
    const Index h = static_cast<Index>(missing.size());
    std::vector<T> block(static_cast<std::size_t>(h * h));
    if (h > 0) K_.gram({data.data(), h}, block.data(), h, team_);
    for (Index a = 0; a < h; ++a)
      for (Index b = 0; b < h; ++b) local_.K[missing[a] * ld + missing[b]] = block[a * h + b];
    for (Index r = 0; r < q; ++r) {
      std::fill(local_.K.begin() + r * ld + q, local_.K.begin() + (r + 1) * ld, T(0));
      const T* row = rows_.active().kept(at[r]);
      if (!row) continue;
      for (Index c = 0; c < q; ++c) local_.K[r * ld + c] = row[at[c]];
      for (Index b : missing) local_.K[b * ld + r] = row[at[b]];
    }
  }

  void advance(double target) {
    const std::vector<Index>& at = set_positions_;
    const Index q = static_cast<Index>(at.size());
    if (q == m_) rows_.active().fetch(span(at), fetched_);
    local_.resize(q);
    local_kernel();
    for (Index r = 0; r < q; ++r) {
      const Index i = active_[at[r]];
      local_.u[r] = p_.upper[i], local_.ridge[r] = p_.ridge[i], local_.label[r] = p_.label[i];
      for (Index c = 0; c < T_; ++c) {
        local_.F[c * local_.ld + r] = T(F_[c * m_ + at[r]]);
        local_.b[r * T_ + c] = A_[c * m_ + at[r]];
      }
    }
    const Index budget = std::min<Index>(set_.max_iter - out_.n_iter, polished_ ? 2000 * q + 20000 : kMany * q + 1000);
    const Index steps =
        local_.solve(target, budget, [&] { return watch_.late() || watch_.asked(out_.n_iter, target, objective_); });
    out_.n_iter += steps;
    work_ += double(steps) * double(q);
    move(at, [&](Index r, Index c) { return local_.b[r * T_ + c]; });
  }

  // Conjugate gradients on the variables off their bounds, all of them together: about as much work as the steps since the last
  // time were, if that is enough for some products with the kernel matrix.
  void descend(double violation) {
    last_descent_ = out_.n_iter;
    std::vector<Index> at, example;
    std::vector<Index> n_free(m_, 0);
    for (Index c = 0; c < T_; ++c)
      for (Index k = 0; k < m_; ++k)
        n_free[k] += A_[c * m_ + k] != 0 && std::abs(A_[c * m_ + k]) != p_.upper[active_[k]];
    double free = 0;
    for (Index k = 0; k < m_; ++k)
      if (n_free[k]) at.push_back(k), example.push_back(active_[k]), free += double(n_free[k]);
    const Index f = static_cast<Index>(at.size());
    const double values = double(f) * double(f), most = std::min(4 * work_ / values, kProducts);
    if (f < 2 || f > kFace || most < kLeastProducts || values * sizeof(T) > 0.2 * set_.memory) return;
    if (free * double(f) > 0.1 * kPatience) return;  // the clock is looked at between two products
    work_ = 0;
    std::swap(set_positions_, at);
    local_.resize(f);
    local_kernel();
    std::swap(set_positions_, at);
    std::vector<const T*> rows(f);
    std::vector<double> F(f * T_), b(f * T_);
    for (Index r = 0; r < f; ++r) {
      rows[r] = local_.K.data() + r * local_.ld;
      for (Index c = 0; c < T_; ++c) F[c * f + r] = F_[c * m_ + at[r]], b[c * f + r] = A_[c * m_ + at[r]];
    }
    face_.descend(example, rows, F, b, 0.1 * set_.tol, static_cast<Index>(most),
                  [&] { return watch_.late() || watch_.asked(out_.n_iter, violation, objective_); });
    move(at, [&](Index r, Index c) { return b[c * f + r]; });
  }

  // The variables of the examples at the positions `at` become value(r, c).
  template <class Value>
  void move(const std::vector<Index>& at, const Value& value) {
    weighed_ = false;
    std::vector<Index> moved;
    std::vector<double> old;
    for (Index r = 0; r < static_cast<Index>(at.size()); ++r) {
      bool same = true;
      for (Index c = 0; c < T_; ++c) same &= value(r, c) == A_[c * m_ + at[r]];
      if (same) continue;
      moved.push_back(at[r]);
      for (Index c = 0; c < T_; ++c) old.push_back(std::exchange(A_[c * m_ + at[r]], value(r, c)));
    }
    objective_ += half_slope(moved, old, old);
    follow(moved, old);
    objective_ += half_slope(moved, old, {});
    for (Index k : moved) {
      see_cap(k);
      for (Index c = 0; c < T_; ++c) out_.alpha[c * n_ + active_[k]] = A_[c * m_ + k];
    }
  }

  // Half of change times gradient at the scores in F_; with the slopes before and after a step this is its gain, exactly.
  double half_slope(const std::vector<Index>& moved, const std::vector<double>& old, const std::vector<double>& at) {
    double sum = 0;
    for (std::size_t j = 0; j < moved.size(); ++j) {
      const Index k = moved[j], i = active_[k];
      set_reference(k, k + 1);
      for (Index c = 0; c < T_; ++c) {
        const double b = A_[c * m_ + k], change = b - old[j * T_ + c];
        const double point = at.empty() ? b : at[j * T_ + c];
        if (change != 0) sum += change * (F_[c * m_ + k] - ref_[k] - p_.target(c, p_.label[i]) + ridge_[k] * point);
      }
    }
    return 0.5 * sum;
  }

  // Adds the change of the examples at the positions `moved` to F_.
  void follow(const std::vector<Index>& moved, const std::vector<double>& old) {
    std::vector<Index> example(moved.size());
    for (std::size_t j = 0; j < moved.size(); ++j) example[j] = active_[moved[j]];
    const Split split = by_use(moved, example, rows_.active(), used_);
    ScoreChange kept(T_), first(T_);
    std::vector<double> now(T_);
    for (std::size_t j = 0, k = 0; j < moved.size(); ++j) {
      for (Index c = 0; c < T_; ++c) now[c] = A_[c * m_ + moved[j]];
      const bool keep = k < split.example.size() && split.example[k] == example[j];
      k += keep;
      M_.add(keep ? kept : first, example[j], now.data(), old.data() + j * T_, 1);
    }
    rows_.active().fetch(span(split.at), fetched_);
    M_.add_rows(fetched_, kept, m_, F_.data());
    if (!first.example.empty()) M_.add_blocks(first, span(active_), F_.data());
  }

  // Changed examples whose rows shall be kept (with their positions in the cache), and those that come for the first time. Where
  // a value is cheap, a row is kept only from its second use on: many examples go to their bounds and stay there. Where there is
  // no room for all of these rows, none is kept.
  struct Split {
    std::vector<Index> at, example, first;
  };
  Split by_use(const std::vector<Index>& at, const std::vector<Index>& example, const RowCache<T>& rows,
               std::vector<char>& used) const {
    Split split;
    for (std::size_t r = 0; r < at.size(); ++r) {
      const Index i = example[r];
      const bool keep = rows.kept(at[r]) || used[i] || K_.cost() > kCheap;
      used[i] = 1;
      if (keep) split.at.push_back(at[r]);
      (keep ? split.example : split.first).push_back(i);
    }
    if (static_cast<Index>(split.at.size()) > rows.capacity()) return {{}, {}, example};
    return split;
  }

  // About the error of a score that comes from rounded kernel values.
  double rounding() const {
    double squares = 0;
    for (Index c = 0; c < T_; ++c) {
      const double* b = out_.alpha.data() + c * n_;
      squares = std::max(squares, std::inner_product(b, b + n_, b, 0.0));
    }
    return rounding_error<T>(largest_, std::sqrt(squares));
  }

  // Whether the scores were made anew, from weights: a linear kernel whose rounding shows. Once after each move.
  bool weigh(double eps) {
    const double work = double(T_) * double(n_) * K_.cost();
    if (K_.kernel().kind != KernelKind::linear || weighed_ || work > 0.1 * kPatience || rounding() <= kSeen * eps)
      return false;
    linear_gradient(p_, K_, out_.alpha, out_.gradient, team_);
    reference_ = out_.alpha;
    activate(everything(n_));
    return weighed_ = true;
  }

  // --- the end ---
  // The scores of every example, if they can be had in time, and what the point proves; else nothing is claimed.
  void finish() {
    scatter();
    if (m_ < n_ && !lost_) {
      const double changed = double(changed_examples().size());
      lost_ = changed * double(n_ - m_) * K_.cost() > kPatience;
    }
    if (lost_) {
      out_.violation = out_.primal = std::numeric_limits<double>::infinity();
      out_.dual = -out_.primal;
      return;
    }
    if (m_ < n_) {
      refresh(the_rest(active_, n_));
      activate(everything(n_));
    }
    weigh(set_.tol);
    out_.violation = measure();
    const bool sure = weighed_ || sizeof(T) < sizeof(double);
    const double error = sure ? 0 : rounding();
    if (error > set_.tol) out_.violation = std::max(out_.violation, error);
    if (out_.status == Status::solved && out_.violation > set_.tol) out_.status = Status::stalled;
    certify(p_, out_);
  }

  const MarginProblem& p_;
  const KernelBlocks<T>& K_;
  ScoreKernel<T> M_;
  RowStore<T> rows_;
  const Settings& set_;
  Team& team_;
  Index n_, m_ = 0, T_;
  Watch watch_;
  double objective_ = 0, largest_ = 0;  // largest: |k(x, x)|
  int n_weighed_ = 0;
  bool polished_ = false, weighed_ = false, lost_ = false;  // lost: stopped while the scores were computed
  Solution out_;
  std::vector<double> diagonal_, reference_;
  std::vector<char> used_, seen_, at_cap_;  // whose row was needed before, over the active and over all columns
  std::vector<Index> active_, set_positions_;
  double stage_tol_ = 0;  // violation at which an active set is solved well enough
  int n_stages_ = 0;
  std::vector<double> F_, A_;                                        // class by class over the active examples
  std::vector<double> ref_, low_, ridge_, label_, up_, down_, key_;  // per active example
  std::vector<const T*> fetched_;
  LocalMargins<T> local_;
  MarginFace<T> face_;
  Index last_descent_ = 0;  // steps before it
  double work_ = 0;         // examples looked at in the steps since
};

}  // namespace

template <class T>
Solution solve(const MarginProblem& problem, const KernelBlocks<T>& K, std::unique_ptr<RowCache<T>>& cache,
               std::vector<double> b, const Settings& settings, Team& team) {
  return JointDecomposition<T>(problem, K, cache, std::move(b), settings, team).run();
}

template Solution solve(const MarginProblem&, const KernelBlocks<float>&, std::unique_ptr<RowCache<float>>&,
                        std::vector<double>, const Settings&, Team&);
template Solution solve(const MarginProblem&, const KernelBlocks<double>&, std::unique_ptr<RowCache<double>>&,
                        std::vector<double>, const Settings&, Team&);

}  // namespace polymargin
