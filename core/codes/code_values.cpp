#include "codes/code_values.hpp"

#include <algorithm>
#include <cmath>

namespace polymargin {

namespace {

constexpr double kMaking = 0.4;     // share of the time for kernel values that all columns share
constexpr double kMade = 5e8;       // bytes of kernel values that are certainly computed in a second
constexpr double kFaceShare = 0.1;  // of the memory, at least, for factors of faces
constexpr Index kHurried = 8;       // steps per row: with fewer, a column should soon have a useful solution,
constexpr Index kSampled = 5120;    // by this many steps on a sample
constexpr Index kLookedAt = 512;  // rows of the largest pair of classes up to which all values are computed in any case

// Where values cannot be computed when they are needed: below this share of support vectors, so many rows of a column
// have all of them.
constexpr double kFewest = 0.2;
constexpr Index kWholeFew = 2048;

constexpr double kSmallGram = 64e6;  // bytes that are held whatever the code
constexpr Index kLargeClass = 64;    // rows: blocks of smaller classes are not worth a call

}  // namespace

Hold worth_holding(const CodeProblem& p, double bytes, double memory, int threads, bool serial, Index whole) {
  const double n = static_cast<double>(p.rows()), gram = bytes * n * n;
  bool pairs = !serial && n >= kLargeClass * static_cast<double>(p.classes());
  for (Index l = 0; l < p.columns() && pairs && !p.all_pairs; ++l) pairs = p.column(l).size == 2;
  const bool small = pairs ? gram <= kSmallGram : p.rows() <= whole || serial;
  if (gram <= memory && small) return Hold::all;
  if (!pairs) return Hold::nothing;
  double own = 0, largest = 0;
  for (Index c = 0; c < p.classes(); ++c) {
    const double size = static_cast<double>(p.segments[c + 1] - p.segments[c]);
    own += bytes * size * size, largest = std::max(largest, size);
  }
  const bool fits = own + 2 * bytes * threads * largest * largest <= memory;
  return fits && 2 * largest <= double(whole) ? Hold::classes : Hold::nothing;
}

template <class T>
void CodeValues<T>::hold(const T* values) {
  shared_.gram = {values, n_};
  shared_.diagonal.resize(n_);
  for (Index i = 0; i < n_; ++i) shared_.diagonal[i] = values[i * n_ + i];
}

// Nothing is held that was not finished.
template <class T>
void CodeValues<T>::make(Hold what, const CodeProblem& p, Team& team, TeamWatch& watch) {
  if (what == Hold::all && !shared_.gram.values) {
    if (!made_) made_ = pages<T>(n_ * n_, true);
    K_.gram(rows_, made_.get(), n_, team, std::ref(watch));
    if (!watch.halted()) hold(made_.get());
  }
  if (what == Hold::classes && shared_.own.empty()) {
    std::vector<Pages<T>> own;
    for (Index c = 0; c < p.classes() && !watch.halted(); ++c) {
      const Index from = p.segments[c], size = p.segments[c + 1] - from;
      own.push_back(pages<T>(size * size, true));
      K_.gram(rows_.sub(from, from + size), own.back().get(), size, team, std::ref(watch));
    }
    if (!watch.halted()) shared_.own = std::move(own);
  }
}

// Rows of a column whose values are held, and whether few of these will be needed, as far as its largest pair of
// classes shows. Columns of more classes share their values, which are needed by one or another.
template <class T>
Index CodeValues<T>::whole_column(const CodeProblem& p) {
  const Index l = K_.serial() || shared_.gram.values ? -1 : p.largest_pair();
  const Index m = l < 0 ? 0 : p.size(p.column(l)[0]) + p.size(p.column(l)[1]);
  shared_.few = false;
  if (m <= kLookedAt) return kWholeColumn;
  shared_.K = &K_, shared_.rows = rows_;
  know_diagonal();
  const double share = Column<T>().support_share(p, shared_, l);
  shared_.few = share < kFew && K_.packs();
  return share < kFewest && !shared_.few && m <= kWholeColumn ? kWholeFew : kWholeColumn;
}

template <class T>
void CodeValues<T>::know_diagonal() {
  if (!shared_.diagonal.empty()) return;
  shared_.diagonal.resize(n_);
  K_.diagonal(rows_, shared_.diagonal.data());
}

template <class T>
void CodeValues<T>::set_limits(const CodeProblem& p, const Settings& settings, int threads, Index whole) {
  const Index solvers = at_a_time(p, threads, K_.serial() && !shared_.gram.values);
  const double fit = std::sqrt(0.5 * memory_ / static_cast<double>(solvers) / sizeof(T));
  shared_.most_rows = static_cast<Index>(std::min(fit, double(whole)));
  const bool near = std::isfinite(settings.time_limit) || settings.max_iter < kHurried * n_;
  shared_.hurry = near ? std::min<Index>(kSampled, settings.max_iter / 2) : 0;
  shared_.K = &K_, shared_.rows = rows_;
  // Columns that hold their own values leave half of the memory.
  const double held = shared_.gram.values ? sizeof(T) * double(n_) * double(n_) : 0.5 * memory_;
  shared_.room = std::max(memory_ - held, kFaceShare * memory_) / static_cast<double>(solvers);
}

template <class T>
CodeSolution CodeValues<T>::solve(const CodeProblem& p, const Coefficients& start, Settings settings, Team& team) {
  Watch watch(settings);
  // Values that take too long are given up: columns can do without them, but not without time.
  Settings making = settings;
  making.time_limit *= kMaking;
  TeamWatch maker(making);
  const auto ended = [&] { return maker.halted() && (maker.status() != Status::time_limit || watch.late()); };
  const Index whole = whole_column(p);
  if (!shared_.gram.values) {
    const double room = std::min(memory_, settings.time_limit * kMaking * kMade);
    const Hold what = worth_holding(p, sizeof(T), room, team.size(), K_.serial(), whole);
    make(shared_.few ? Hold::nothing : what, p, team, maker);
  }
  if (!(ended() && start.empty())) know_diagonal();
  if (ended()) return {std::vector<std::unique_ptr<ColumnSolution>>(p.columns()), maker.status()};
  set_limits(p, settings, team.size(), whole);
  settings.time_limit = watch.left();
  return solve_columns<T>(p, shared_, start, settings, team);
}

template class CodeValues<float>;
template class CodeValues<double>;

}  // namespace polymargin
