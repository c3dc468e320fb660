#include "column.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <limits>

#include "column_bias.hpp"
#include "tile.hpp"

namespace polymargin {

namespace {

constexpr Index kStrip = 256;      // rows computed together
constexpr Index kIdleStages = 50;  // without progress
constexpr double kSampleTol = 0.05;

Index full_sample(Index m) { return std::max(kFirstSet, m / 16); }

struct Stopwatch {
  using Clock = std::chrono::steady_clock;
  Clock::time_point begun = Clock::now();
  double seconds() const { return std::chrono::duration<double>(Clock::now() - begun).count(); }
};

// Room for n values; a vector that only grows is not filled anew.
template <class T>
T* room(std::vector<T>& v, Index n) {
  if (static_cast<Index>(v.size()) < n) v.resize(static_cast<std::size_t>(n));
  return v.data();
}

// The bias that goes with variables and their gradient Kb + Rb - y, where all variables that are not among these stay.
// Without upper bounds it is the mean over the variables above zero, all of which are free.
double best_bias(const std::vector<double>& y, const std::vector<double>& upper, const std::vector<double>& b,
                 const std::vector<double>& g, double sum_b) {
  if (std::all_of(upper.begin(), upper.end(), [](double u) { return u < kBlocked; })) return box_bias(y, upper, g, sum_b);
  double sum = 0, low = kBlocked, high = -kBlocked;
  Index n_free = 0;
  for (std::size_t k = 0; k < y.size(); ++k) {
    const bool grow = b[k]<(y[k] > 0 ? upper[k] : 0), fall = b[k]>(y[k] > 0 ? 0 : -upper[k]);
    if (grow && fall) sum += g[k], ++n_free;
    if (grow) low = std::min(low, g[k]);
    if (fall) high = std::max(high, g[k]);
  }
  const bool none_grow = low >= kBlocked, none_fall = high <= -kBlocked;
  return n_free      ? -sum / double(n_free)
         : none_grow ? (none_fall ? 0 : -high)
         : none_fall ? -low
                     : -0.5 * (low + high);
}

// Violation and losses of the variables of a whole column at out.bias. Where the gradient of variable k is known up to
// off * reach[k] only, they are upper bounds.
void add_losses(const std::vector<double>& y, const std::vector<double>& upper, const std::vector<double>& ridge,
                const std::vector<double>& b, const std::vector<double>& g, double off,
                const std::vector<double>& reach, ColumnSolution& out) {
  double low = kBlocked, high = -kBlocked;
  for (std::size_t k = 0; k < y.size(); ++k) {
    const double wrong = off > 0 ? off * reach[k] : 0;
    if (b[k] < (y[k] > 0 ? upper[k] : 0)) low = std::min(low, g[k] - wrong);
    if (b[k] > (y[k] > 0 ? 0 : -upper[k])) high = std::max(high, g[k] + wrong);
    const double slack = std::max(y[k] * (ridge[k] * b[k] - g[k] - out.bias) + wrong, 0.0);  // 1 - y f
    if (upper[k] > 0) out.primal += ridge[k] > 0 ? 0.5 * slack * slack / ridge[k] : upper[k] * slack;
  }
  out.violation = std::max(high - low, 0.0);
  // No comparison finds a violation among numbers that are not finite.
  if (!std::isfinite(out.primal - out.dual)) out.violation = std::numeric_limits<double>::infinity();
}

void store(const std::vector<Index>& rows, const std::vector<double>& b, ColumnSolution& out) {
  out.at.clear(), out.b.clear();
  for (std::size_t k = 0; k < b.size(); ++k)
    if (b[k] != 0) out.at.push_back(rows[k]), out.b.push_back(b[k]);
}

// Bias, objectives and violation of a whole column.
void certify(const std::vector<double>& y, const std::vector<double>& upper, const std::vector<double>& ridge,
             const std::vector<double>& b, const std::vector<double>& g, ColumnSolution& out) {
  out.bias = best_bias(y, upper, b, g, 0);
  out.primal = out.dual = 0;
  for (std::size_t k = 0; k < y.size(); ++k) {
    out.dual += 0.5 * b[k] * (y[k] - g[k]);
    out.primal += 0.5 * b[k] * (y[k] + g[k] - ridge[k] * b[k]);
  }
  add_losses(y, upper, ridge, b, g, 0, {}, out);
}

}  // namespace

std::vector<Index> first_rows(Index m, Index most) {
  const Index take = std::min(full_sample(m), most), step = std::max<Index>(1, (m + take - 1) / take);
  std::vector<Index> rows;
  for (Index k = 0; k < m; k += step) rows.push_back(k);
  return rows;
}

template <class T>
void Column<T>::begin(const CodeProblem& p, const SharedValues<T>& shared, Index column, Span<const Index> at,
                      Span<const double> b) {
  p_ = &p, shared_ = &shared;
  list_rows(column);
  set_start(at, b);
  const Span<const Index> entries = p.column(column);
  const Index m = static_cast<Index>(row_.size());
  active_ = in_stage_ = spent_ = has_found_ = false, n_iter_ = 0, row_seconds_ = 0;
  if (shared.gram.values || (!shared.own.empty() && entries.size == 2 && m <= kWholePair)) {
    if (shared.hurry && shared.gram.values && m > 4 * kHurry && at.size == 0) start_from_sample();
    smo_.problem.clear();
    shared.gram.values ? hold_all() : hold_pair(column);
    BinaryProblem<T>& q = smo_.problem;
    q.y = y_, q.upper = upper_, q.ridge = ridge_, q.diagonal = diagonal_, q.b = b_;
    q.linear.resize(m);
    for (Index k = 0; k < m; ++k) q.linear[k] = -y_[k];
    smo_.begin();
    if (n_iter_ > 0) smo_.finish(), record();
    return;
  }
  active_ = true;
  cache_ = shares_rows(p, m, entries.size) ? shared.cache : nullptr;
  if (cache_) cache_->begin();
  first_set();
}

template <class T>
void Column<T>::list_rows(Index column) {
  row_.clear(), y_.clear();
  for (Index entry : p_->column(column)) {
    const Index c = CodeProblem::class_of(entry);
    for (Index i = p_->segments[c]; i < p_->segments[c + 1]; ++i) row_.push_back(i), y_.push_back(entry > 0 ? 1 : -1);
  }
  const std::size_t m = row_.size();
  upper_.resize(m), ridge_.resize(m), diagonal_.resize(m);
  for (std::size_t k = 0; k < m; ++k) {
    upper_[k] = p_->upper[row_[k]], ridge_[k] = p_->ridge[row_[k]];
    diagonal_[k] = shared_->diagonal[row_[k]];
  }
}

// The start, clipped; then the heavier side is scaled down until the sum is zero.
template <class T>
void Column<T>::set_start(Span<const Index> at, Span<const double> b) {
  b_.assign(row_.size(), 0);
  if (at.size == 0) return;
  double side[2] = {0, 0};
  for (std::size_t k = 0; k < row_.size(); ++k) {
    const Index* found = std::lower_bound(at.begin(), at.end(), row_[k]);
    if (found == at.end() || *found != row_[k]) continue;
    b_[k] = y_[k] * std::min(std::max(y_[k] * b[found - at.begin()], 0.0), upper_[k]);
    side[b_[k] > 0] += b_[k];
  }
  const double sum = side[0] + side[1];
  if (std::abs(sum) <= 1e-10 * (side[1] - side[0])) return;  // rounding: what is at a bound shall stay there
  const bool heavy = sum > 0;
  const double scale = -side[!heavy] / side[heavy];
  for (double& x : b_)
    if (x != 0 && (x > 0) == heavy) x *= scale;
}

// Parts are runs of adjacent classes.
template <class T>
void Column<T>::hold_all() {
  std::vector<Index> first;
  for (std::size_t k = 0; k < row_.size(); ++k) {
    if (k > 0 && row_[k] == row_[k - 1] + 1) {
      ++smo_.problem.sizes.back();
      continue;
    }
    first.push_back(row_[k]);
    smo_.problem.sizes.push_back(1);
  }
  const Block<T>& G = shared_->gram;
  for (Index i : first)
    for (Index j : first) smo_.problem.blocks.push_back({G.values + i * G.ld + j, G.ld});
}

// The block between two classes is this column's alone: it is made here, in memory that the next pair uses again.
template <class T>
void Column<T>::hold_pair(Index column) {
  const Span<const Index> entries = p_->column(column);
  const Index a = CodeProblem::class_of(entries[0]), c = CodeProblem::class_of(entries[1]);
  const Index na = p_->size(entries[0]), nc = p_->size(entries[1]);
  const std::size_t room = static_cast<std::size_t>(2 * (na * nc + kLanes));
  if (pair_room_ < room) {
    pair_.reset();
    pair_.reset(new T[room]);
    pair_room_ = room;
  }
  T *across = pair_.get(), *back = across + na * nc + kLanes;
  std::fill(across + na * nc, back, T(0));
  std::fill(back + na * nc, back + na * nc + kLanes, T(0));
  const Span<const Index> ra = shared_->rows.sub(p_->segments[a], p_->segments[a + 1]);
  const Span<const Index> rc = shared_->rows.sub(p_->segments[c], p_->segments[c + 1]);
  for (Index r = 0; r < na; r += kStrip) {
    const Index h = std::min(kStrip, na - r);
    block(ra.sub(r, r + h), rc, across + r * nc, nc);
    tile_ops<T>().transpose(across + r * nc, nc, h, nc, back + r, na);
  }
  smo_.problem.sizes = {na, nc};
  smo_.problem.blocks = {{shared_->own[a].get(), na}, {across, nc}, {back, na}, {shared_->own[c].get(), nc}};
}

template <class T>
ColumnSolution Column<T>::solution(double tol, bool at_once) {
  ColumnSolution out;
  if (active_) {
    if (in_stage_ && at_once)
      leave_stage(out);
    else {
      if (in_stage_) close_stage();
      closed(tol);
      certify(y_, upper_, ridge_, b_, g_, out);
    }
    out.n_iter = n_iter_;
    out.status = out.violation <= tol                                        ? Status::solved
                 : !spent_ && (stage_status_ == Status::stalled || over_) ? Status::stalled
                                                                          : Status::max_iter;
  } else {
    smo_.finish();
    b_ = smo_.problem.b;
    certify(y_, upper_, ridge_, b_, smo_.gradient(), out);
    out.n_iter = n_iter();
    out.status = smo_.status() == Status::solved && !(out.violation <= tol) ? Status::stalled : smo_.status();
  }
  const bool end = out.status == Status::solved || !has_found_ || found_.primal >= out.primal;
  if (end)
    store(row_, b_, out);
  else {  // the model is the best one there was, and the bound, too
    out.at = std::move(found_.at), out.b = std::move(found_.b);
    out.bias = found_.bias, out.primal = found_.primal, out.violation = found_.violation;
  }
  if (has_found_) out.dual = std::max(out.dual, found_.dual);
  return out;
}

// Whether what there is, whose gradient is exact, is the best so far.
template <class T>
void Column<T>::record() {
  ColumnSolution now;
  certify(y_, upper_, ridge_, b_, active_ ? g_ : smo_.gradient(), now);
  const double dual = has_found_ ? std::max(found_.dual, now.dual) : now.dual;
  if (!has_found_ || now.primal < found_.primal) store(row_, b_, now), found_ = std::move(now), has_found_ = true;
  found_.dual = dual;
}

// Held values and little time: the first steps are on a few rows.
template <class T>
void Column<T>::start_from_sample() {
  const std::vector<Index> rows = first_rows(static_cast<Index>(row_.size()), kHurry);
  const std::size_t s = rows.size();
  room(square_, static_cast<Index>(s * s) + kLanes);
  BinaryProblem<T>& q = smo_.problem;
  q.clear();
  for (std::size_t k = 0; k < s; ++k) {
    const Index v = rows[k];
    for (std::size_t l = 0; l < s; ++l)
      square_[k * s + l] = shared_->gram.values[row_[v] * shared_->gram.ld + row_[rows[l]]];
    q.y.push_back(y_[v]), q.upper.push_back(upper_[v]), q.ridge.push_back(ridge_[v]);
    q.diagonal.push_back(diagonal_[v]), q.linear.push_back(-y_[v]);
  }
  q.b.assign(s, 0);
  q.sizes = {static_cast<Index>(s)};
  q.blocks = {{square_.data(), static_cast<Index>(s)}};
  smo_.begin();
  smo_.run(kSampleTol, kSampleTol, 20 * static_cast<Index>(s), [] { return true; });
  smo_.finish();
  n_iter_ = smo_.n_iter();
  for (std::size_t k = 0; k < s; ++k) b_[rows[k]] = q.b[k];
}

// --- the active set ---

// Every so-manieth row, and those of the start.
template <class T>
void Column<T>::first_set() {
  const Index m = static_cast<Index>(row_.size());
  data_.resize(m);
  for (Index k = 0; k < m; ++k) data_[k] = shared_->rows[row_[k]];
  for (std::unique_ptr<T[]>& row : kept_) row.reset();
  kept_.resize(m);
  kept_bytes_ = 0;
  g_.resize(m);
  for (Index k = 0; k < m; ++k) g_[k] = -y_[k];
  std::vector<Index> used;
  std::vector<double> change;
  for (Index k = 0; k < m; ++k)
    if (b_[k] != 0) used.push_back(k), change.push_back(b_[k]);
  add_to_gradient(used, change);
  n_sample_ = shared_->hurry && used.empty() ? kHurry : full_sample(m);
  const std::vector<Index> first = first_rows(m, std::min(n_sample_, most()));
  set_.clear(), n_used_ = 0;
  std::set_union(first.begin(), first.end(), used.begin(), used.end(), std::back_inserter(set_));
  from_sample_ = shared_->sample.values && m == p_->rows() && used.empty() && n_sample_ == full_sample(m);
  in_stage_ = over_ = false;
  n_stages_ = n_idle_ = 0;
  best_ = closest_ = kBlocked;
  violation_ = 2;
}

// The multiplier of the sum: the mean gradient of the free variables, or else the middle of what is possible.
template <class T>
double Column<T>::level() const {
  double sum = 0, low = kBlocked, high = -kBlocked;
  Index n_free = 0;
  for (std::size_t k = 0; k < b_.size(); ++k) {
    const bool grow = can_grow(k), fall = can_fall(k);
    if (grow && fall) sum += g_[k], ++n_free;
    if (grow) low = std::min(low, g_[k]);
    if (fall) high = std::max(high, g_[k]);
  }
  return n_free ? sum / double(n_free) : 0.5 * (low + high);
}

// Whether all rows satisfy the conditions; if not, the next active set: all with a coefficient, and who violates them.
template <class T>
bool Column<T>::closed(double tol) {
  const Index m = static_cast<Index>(b_.size());
  double low = kBlocked, high = -kBlocked;
  for (Index k = 0; k < m; ++k) {
    if (can_grow(k)) low = std::min(low, g_[k]);
    if (can_fall(k)) high = std::max(high, g_[k]);
  }
  violation_ = std::max(high - low, 0.0);
  if (violation_ <= tol) return true;
  if (n_stages_ == 0) return false;
  double objective = 0;
  for (Index k = 0; k < m; ++k) objective += 0.5 * b_[k] * (g_[k] - y_[k]);
  if (objective < best_ - 1e-14 * std::abs(best_) || violation_ < 0.99 * closest_)
    n_idle_ = 0;
  else if (++n_idle_ >= kIdleStages)
    return over_ = true;
  best_ = std::min(best_, objective), closest_ = std::min(closest_, violation_);
  std::vector<Index> used, low_ones, high_ones;  // the latter two violate the conditions
  if (n_sample_ < full_sample(m)) {              // before them, more rows of any kind
    n_sample_ = std::min(4 * n_sample_, full_sample(m));
    std::vector<Index> more;
    for (Index k : first_rows(m, std::min(n_sample_, most())))
      if (b_[k] == 0) more.push_back(k);
    for (Index k = 0; k < m; ++k)
      if (b_[k] != 0) used.push_back(k);
    set_active(used, {&more});
    return false;
  }
  const double middle = level();
  auto excess = [&](Index k) {
    return std::max(can_grow(k) ? middle - g_[k] : -kBlocked, can_fall(k) ? g_[k] - middle : -kBlocked);
  };
  for (Index k = 0; k < m; ++k) {
    if (excess(k) > 0.4 * tol)
      (g_[k] < middle ? low_ones : high_ones).push_back(k);
    else if (b_[k] != 0)
      used.push_back(k);
  }
  const Index n_low = static_cast<Index>(low_ones.size()), n_high = static_cast<Index>(high_ones.size());
  // Where not all fit, the worst come first, then free ones.
  auto keep = [](std::vector<Index>& list, Index size, auto key) {
    if (static_cast<Index>(list.size()) <= size) return;
    std::nth_element(list.begin(), list.begin() + size, list.end(),
                     [&](Index a, Index b) { return key(a) != key(b) ? key(a) > key(b) : a < b; });
    list.resize(size);
  };
  // Some of either kind: steps need a pair.
  const bool all = static_cast<Index>(used.size()) + n_low + n_high <= most();
  const Index room = all ? std::max<Index>(2 * static_cast<Index>(set_.size()), kFirstSet) : most() / 2;
  keep(low_ones, std::max(room / 2, room - n_high), excess);
  keep(high_ones, std::max(room / 2, room - n_low), excess);
  keep(used, most() - static_cast<Index>(low_ones.size() + high_ones.size()),
       [&](Index k) { return (can_grow(k) && can_fall(k) ? 1e6 : 0) + excess(k); });
  set_active(used, {&low_ones, &high_ones});
  return false;
}

template <class T>
void Column<T>::set_active(const std::vector<Index>& used, const std::vector<const std::vector<Index>*>& others) {
  set_ = used, n_used_ = static_cast<Index>(used.size());
  for (const std::vector<Index>* ones : others) set_.insert(set_.end(), ones->begin(), ones->end());
  std::sort(set_.begin(), set_.begin() + n_used_), std::sort(set_.begin() + n_used_, set_.end());
}

template <class T>
void Column<T>::open_stage(double tol) {
  const std::size_t s = set_.size();
  stage_tol_ = std::max(0.7 * tol, n_stages_ == 0 ? kSampleTol : 0.05 * violation_);
  const bool given = from_sample_ && n_stages_ == 0;
  if (!given) fill_square();
  const T* values = given ? shared_->sample.values : square_.data();
  BinaryProblem<T>& q = smo_.problem;
  q.clear();
  q.sizes = {static_cast<Index>(s)};
  q.blocks = {{values, static_cast<Index>(s)}};
  std::vector<const T*> rows;
  std::vector<double> coef, part(s, 0);
  for (std::size_t k = 0; k < s; ++k) {
    const Index v = set_[k];
    q.y.push_back(y_[v]), q.upper.push_back(upper_[v]), q.ridge.push_back(ridge_[v]);
    q.diagonal.push_back(diagonal_[v]), q.b.push_back(b_[v]);
    if (b_[v] != 0) rows.push_back(values + k * s), coef.push_back(b_[v]);
  }
  // What the rows outside add to the gradient is in the linear term.
  steps<T>().add_rows(rows.data(), coef.data(), static_cast<Index>(rows.size()), 0, static_cast<Index>(s), part.data());
  for (std::size_t k = 0; k < s; ++k) q.linear.push_back(g_[set_[k]] - part[k] - q.ridge[k] * q.b[k]);
  smo_.begin();
  in_stage_ = true;
  ++n_stages_;
}

// Kernel values between all rows of the active set: from kernel rows that are at hand, and the others are computed. The
// first n_used_ of the set, who had their rows in the last stage, give the others what is between the two.
template <class T>
void Column<T>::fill_square() {
  const Index s = static_cast<Index>(set_.size());
  const Stopwatch watch;
  room(square_, s * s + kLanes);
  std::vector<Index> at(s), data(s), missing, wanted;
  for (Index k = 0; k < s; ++k) at[k] = place(set_[k]), data[k] = data_[set_[k]];
  std::vector<const T*> rows;
  auto fill = [&](Index first, Index last) {  // these rows, from column `first` on
    const Index width = s - first;
    missing.clear(), wanted.clear();
    for (Index r = first; r < last; r += strip()) {
      const Index h = std::min(strip(), last - r);
      find({set_.data() + r, h}, rows);
      for (Index k = 0; k < h; ++k) {
        T* out = square_.data() + (r + k) * s;
        if (rows[k])
          for (Index l = first; l < s; ++l) out[l] = rows[k][at[l]];
        else
          missing.push_back(r + k), wanted.push_back(data[r + k]);
      }
      release(rows);
    }
    const Index u = static_cast<Index>(missing.size());
    for (Index r = 0; r < u; r += kStrip) {
      const Index h = std::min(kStrip, u - r);
      block({wanted.data() + r, h}, {data.data() + first, width}, room(strip_, h * width), width);
      for (Index k = 0; k < h; ++k)
        std::copy_n(strip_.data() + k * width, width, square_.data() + missing[r + k] * s + first);
    }
  };
  fill(0, n_used_);
  fill(n_used_, s);
  tile_ops<T>().transpose(square_.data() + n_used_, s, n_used_, s - n_used_, square_.data() + n_used_ * s, s);
  if (row_seconds_ == 0) row_seconds_ = watch.seconds() / double(s) * (double(b_.size()) / double(s));
}

template <class T>
void Column<T>::block(Span<const Index> rows, Span<const Index> columns, T* out, Index ld) const {
  const KernelBlocks<T>& K = *shared_->K;
  shared_->team ? K.block(rows, columns, out, ld, *shared_->team) : K.block(rows, columns, out, ld);
}

template <class T>
void Column<T>::close_stage() {
  smo_.finish();
  n_iter_ += smo_.n_iter();
  stage_status_ = smo_.status();
  in_stage_ = false;
  std::vector<Index> changed;
  std::vector<double> change;
  for (std::size_t k = 0; k < set_.size(); ++k) {
    const Index v = set_[k];
    const double d = smo_.problem.b[k] - b_[v];
    if (d == 0) continue;
    changed.push_back(v), change.push_back(d);
    b_[v] = smo_.problem.b[k];
  }
  over_ = stage_status_ == Status::stalled && n_iter_ > 0 && changed.empty();
  add_to_gradient(changed, change);
  record();
}

// The end of a stage without time for its kernel rows. The other variables' gradients are those before the stage, off by
// the change of w times the length of their row, |f - f_before| <= ||w - w_before|| sqrt(k(x, x)), which bounds the
// primal objective and the violation. The rows of the stage say what the bias is: they are a sample at first, and later
// all rows that have or want a coefficient.
template <class T>
void Column<T>::leave_stage(ColumnSolution& out) {
  smo_.finish();
  n_iter_ += smo_.n_iter();
  in_stage_ = false;
  const BinaryProblem<T>& q = smo_.problem;
  double norm = 0, moved = 0, sum = 0;  // squares of w and of its change; the sum of b in the stage
  out.dual = 0;
  for (std::size_t k = 0; k < b_.size(); ++k) {
    norm += b_[k] * (y_[k] + g_[k] - ridge_[k] * b_[k]);
    out.dual += 0.5 * b_[k] * (y_[k] - g_[k]);
  }
  std::vector<double> reach(b_.size());
  for (std::size_t k = 0; k < b_.size(); ++k) reach[k] = std::sqrt(std::max(diagonal_[k], 0.0));
  for (std::size_t k = 0; k < set_.size(); ++k) {
    const Index v = set_[k];
    const double now = smo_.gradient()[k], before = g_[v], d = q.b[k] - b_[v];
    out.dual -= 0.5 * d * (now + before);
    moved += d * (now - before - ridge_[v] * d);
    norm += d * (2 * (y_[v] + before - ridge_[v] * b_[v]) + now - before - ridge_[v] * d);
    sum += q.b[k];
    b_[v] = q.b[k], g_[v] = now, reach[v] = 0;
  }
  out.bias = best_bias(q.y, q.upper, q.b, smo_.gradient(), sum);
  out.primal = 0.5 * norm;
  add_losses(y_, upper_, ridge_, b_, g_, std::sqrt(std::max(moved, 0.0)), reach, out);
}

// --- kernel rows: of the cache that columns share, or kept here ---

template <class T>
Index Column<T>::strip() const {
  const double fit = 0.25 * shared_->memory / (double(b_.size()) * sizeof(T));
  return static_cast<Index>(std::clamp(fit, 16.0, double(kStrip)));
}

// Rows of these variables as far as they are at hand, the others null.
template <class T>
void Column<T>::find(Span<const Index> variables, std::vector<const T*>& rows) {
  rows.assign(variables.size, nullptr);
  if (!cache_) {
    for (Index k = 0; k < variables.size; ++k) rows[k] = kept_[variables[k]].get();
    return;
  }
  held_.clear();
  for (Index v : variables) held_.push_back(row_[v]);
  cache_->find({held_.data(), variables.size}, rows);
}

// Rows of these variables, at most strip() of them. Without a cache they are kept while the memory lasts: a variable
// with a coefficient will change again.
template <class T>
void Column<T>::fetch(Span<const Index> variables, std::vector<const T*>& rows) {
  if (cache_) {
    held_.clear();
    for (Index v : variables) held_.push_back(row_[v]);
    return cache_->fetch({held_.data(), variables.size}, rows, strip_);
  }
  find(variables, rows);
  const Index m = static_cast<Index>(b_.size());
  std::vector<Index> missing, data;
  for (Index k = 0; k < variables.size; ++k)
    if (!rows[k]) missing.push_back(k), data.push_back(data_[variables[k]]);
  const Index u = static_cast<Index>(missing.size());
  block({data.data(), u}, {data_.data(), m}, room(strip_, u * m), m);
  for (Index k = 0; k < u; ++k) {
    const T* row = rows[missing[k]] = strip_.data() + k * m;
    const double bytes = double(m) * sizeof(T);
    if (kept_bytes_ + bytes > 0.5 * shared_->memory) continue;
    std::unique_ptr<T[]>& kept = kept_[variables[missing[k]]];
    kept.reset(new T[m]);
    std::copy_n(row, m, kept.get());
    kept_bytes_ += bytes;
  }
}

template <class T>
void Column<T>::release(const std::vector<const T*>& rows) {
  if (cache_) cache_->release({held_.data(), static_cast<Index>(held_.size())}, rows);
}

// g += (K + R) change
template <class T>
void Column<T>::add_to_gradient(const std::vector<Index>& changed, const std::vector<double>& change) {
  const Index m = static_cast<Index>(b_.size()), n = static_cast<Index>(changed.size());
  const Stopwatch watch;
  std::vector<const T*> rows;
  for (Index r = 0; r < n; r += strip()) {
    const Index h = std::min(strip(), n - r);
    for (Index k = r; k < r + h; ++k) g_[changed[k]] += ridge_[changed[k]] * change[k];
    fetch({changed.data() + r, h}, rows);
    constexpr Index tile = 2048;
    std::vector<const T*> shifted(h);
    for (Index from = 0, size; from < m; from += size) {  // variables whose values are adjacent in a row
      for (size = 1; size < tile && from + size < m && place(from + size) == place(from) + size;) ++size;
      for (Index k = 0; k < h; ++k) shifted[k] = rows[k] + place(from);
      steps<T>().add_rows(shifted.data(), change.data() + r, h, 0, size, g_.data() + from);
    }
    release(rows);
  }
  if (n > 0) row_seconds_ = watch.seconds() / double(n);
}

template class Column<float>;
template class Column<double>;

}  // namespace polymargin
