#include "codes/column.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "simd/tile.hpp"

namespace polymargin {

namespace {
constexpr Index kStrip = 256;  // rows computed together
constexpr Index kSample = 256;
constexpr double kSampleTol = 0.05;
constexpr Index kSampleSteps = 5120;
constexpr double kDear = 128;  // multiply-adds of a value beyond which rows are computed several at a time
}  // namespace

template <class T>
void Column<T>::begin(const CodeProblem& p, const SharedValues<T>& shared, Index column, Span<const Index> at,
                      Span<const double> b) {
  p_ = &p, shared_ = &shared;
  n_sample_ = 0, has_found_ = certified_ = false, sharper_ = 1;
  rows_.list(p, column, shared.diagonal);
  std::vector<double> start = rows_.start(at, b);
  if (shared.hurry > 0 && rows_.size() > 4 * kSample && at.size == 0) start_from_sample(start);
  if (shared.gram.values)
    hold_in_place(adjacent(rows_.row), shared.gram, steps_.qp);  // parts are runs of adjacent classes
  else if (shared.few)
    hold_needed();
  else if (!shared.own.empty() && p.column(column).size == 2)
    hold_pair(column);
  else
    hold_own();
  DenseQp<T>& q = steps_.qp;
  for (Index k = 0; k < rows_.size(); ++k) rows_.put(k, k, start[k], q);
  q.add_change(std::vector<double>(rows_.size(), 0.0), q.gradient);
  steps_.room = shared.room;
  steps_.begin();
  if (n_sample_ == 0) return;
  rows_.certify(start, q.gradient, found_);
  has_found_ = true;
}

// The block between two classes is this column's alone.
template <class T>
void Column<T>::hold_pair(Index column) {
  const ColumnEntries entries = p_->column(column);
  const Index a = CodeProblem::class_of(entries[0]), c = CodeProblem::class_of(entries[1]);
  const Index na = p_->size(entries[0]), nc = p_->size(entries[1]);
  T *across = held_.at_least(static_cast<std::size_t>(2 * na * nc)), *back = across + na * nc;
  const Span<const Index> ra = shared_->rows.sub(p_->segments[a], p_->segments[a + 1]);
  const Span<const Index> rc = shared_->rows.sub(p_->segments[c], p_->segments[c + 1]);
  for (Index r = 0; r < na; r += kStrip) {
    const Index h = std::min(kStrip, na - r);
    shared_->K->block(ra.sub(r, r + h), rc, across + r * nc, nc);
    tile_ops<T>().transpose(across + r * nc, nc, h, nc, back + r, na);
  }
  steps_.qp.reset({na, nc}, {0, 2});
  steps_.qp.blocks = {{shared_->own[a].get(), na}, {across, nc}, {back, na}, {shared_->own[c].get(), nc}};
}

template <class T>
void Column<T>::hold_own() {
  const Index m = rows_.size();
  T* square = held_.at_least(static_cast<std::size_t>(m * m));
  std::vector<Index> data;
  for (Index i : rows_.row) data.push_back(shared_->rows[i]);
  const Span<const Index> all = span(data);
  for (Index r = 0; r < m; r += kStrip) {  // from the diagonal on, and the rest by symmetry
    const Index h = std::min(kStrip, m - r), right = r + h;
    shared_->K->block(all.sub(r, right), all.sub(r, m), square + r * m + r, m);
    if (right < m) tile_ops<T>().transpose(square + r * m + right, m, h, m - right, square + right * m + r, m);
  }
  steps_.qp.reset({m}, {0, 1});
  steps_.qp.blocks = {{square, m}};
}

// The kernel rows of variables are computed when a step needs one of them.
template <class T>
void Column<T>::hold_needed() {
  const Index m = rows_.size();
  T* next = held_.at_least(static_cast<std::size_t>(m * m));  // of which only what is written to takes memory
  std::vector<Index> data;
  for (Index i : rows_.row) data.push_back(shared_->rows[i]);
  columns_ = shared_->K->columns(std::move(data), std::numeric_limits<double>::infinity());
  steps_.qp.reset({m}, {0, 1});
  steps_.qp.made.assign(m, nullptr);
  steps_.qp.at_once = shared_->K->cost() > kDear ? shared_->K->height() : 1;
  steps_.qp.make = [this, next, m](const std::vector<Index>& variables) mutable {
    std::vector<Index> some;
    for (Index i : variables) some.push_back(columns_.list[i]);
    shared_->K->block(span(some), columns_, next, m, alone_);
    for (Index i : variables) steps_.qp.made[i] = std::exchange(next, next + m);
  };
}

// A few rows, evenly spaced, as a problem of their own, with at most so many steps.
template <class T>
std::vector<Index> Column<T>::solve_sample(Index steps) {
  const Index m = rows_.size(), step = (m + kSample - 1) / kSample;
  std::vector<Index> some;
  for (Index k = 0; k < m; k += step) some.push_back(k);
  const Index s = static_cast<Index>(some.size());
  T* square = held_.at_least(static_cast<std::size_t>(s * s));
  std::vector<Index> row, data;
  for (Index k : some) row.push_back(rows_.row[k]), data.push_back(shared_->rows[rows_.row[k]]);
  if (shared_->gram.values) {
    hold_copy(adjacent(row), shared_->gram, square, steps_.qp);
  } else {
    shared_->K->block(span(data), span(data), square, s);
    steps_.qp.reset({s}, {0, 1});
    steps_.qp.blocks = {{square, s}};
  }
  for (Index k = 0; k < s; ++k) rows_.put(some[k], k, 0, steps_.qp);
  steps_.begin();
  steps_.run(kSampleTol, kSampleTol, steps, [] { return true; });
  return some;
}

template <class T>
void Column<T>::start_from_sample(std::vector<double>& b) {
  const std::vector<Index> some = solve_sample(shared_->hurry);
  n_sample_ = steps_.n_iter();
  for (std::size_t k = 0; k < some.size(); ++k) b[some[k]] = steps_.qp.z[k];
}

template <class T>
double Column<T>::support_share(const CodeProblem& p, const SharedValues<T>& shared, Index column) {
  p_ = &p, shared_ = &shared;
  rows_.list(p, column, shared.diagonal);
  solve_sample(kSampleSteps);
  const std::vector<double>& z = steps_.qp.z;
  return 1 - double(std::count(z.begin(), z.end(), 0.0)) / double(z.size());
}

template <class T>
bool Column<T>::is_gap_above(double gap) {
  steps_.finish();
  rows_.certify(steps_.qp.z, steps_.qp.gradient, now_);
  return !(certified_ = !(relative_gap(now_.primal, now_.dual) > gap));
}

template <class T>
ColumnSolution Column<T>::solution(double tol) {
  if (!std::exchange(certified_, false)) {
    steps_.finish();
    rows_.certify(steps_.qp.z, steps_.qp.gradient, now_);
  }
  ColumnSolution out = std::move(now_);
  out.status = steps_.status() == Status::solved && !(out.violation <= tol) ? Status::stalled : steps_.status();
  if (has_found_ && out.status != Status::solved && found_.primal < out.primal) {
    // The model is the better one of the two, and so is the bound.
    const double dual = std::max(out.dual, found_.dual);
    const Status status = out.status;
    out = found_, out.dual = dual, out.status = status;
  }
  out.n_iter = n_iter();
  return out;
}

template class Column<float>;
template class Column<double>;

}  // namespace polymargin
