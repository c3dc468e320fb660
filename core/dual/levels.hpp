// A large problem begins where a smaller one of its kind ends: every third row, with its losses counted thrice, has
// nearly the right scores. A row of the smaller problem keeps its variables as far as its own bounds allow; every other
// row answers the scores it is given: at its bound where it lacks the margin, at zero where it has it. Where classes
// overlap, almost all support vectors are at their bounds and known before the first step; the engine corrects the few
// near the margin.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "dual/working_sets.hpp"

namespace polymargin {

constexpr Index kLarge = 8192;      // a problem with more rows begins with some of them ...
constexpr Index kHurried = 512;     // ... and where there is little time, so that there is soon a useful machine:
constexpr double kAmple = 2e-7;     // seconds per multiply-add of all kernel values, some hundred times what these take
constexpr Index kThinning = 3;      // rows that one of the smaller problem stands for
constexpr Index kMoment = 1 << 22;  // up to so many variables, a stop before the first step says what zero proves
constexpr double kBold = 0.5;       // share of support vectors at bounds above which the other rows are set to theirs
constexpr double kBand = 60;        // times the root of n: rows so near the margin that their bound is open
constexpr double kWorse = 1.5;      // times its objective: then the coarse machine is the better one
constexpr double kCoarseTol = 0.3;  // of the smaller problem

// The positions of every third row of each class, and how many rows each of them stands for.
struct Thinned {
  std::vector<Index> at;
  std::vector<double> scale;

  // `label`: of all rows, which are sorted by it.
  explicit Thinned(Span<const Index> label) {
    for (Index begin = 0, end = 0; begin < label.size; begin = end) {
      while (end < label.size && label[end] == label[begin]) ++end;
      const Index size = end - begin, take = (size + kThinning - 1) / kThinning;
      for (Index k = 0; k < take; ++k) {
        at.push_back(begin + k * size / take);
        scale.push_back(double(size) / double(take));
      }
    }
  }
  std::vector<double> of(Span<const double> v, bool divided) const {
    std::vector<double> out;
    for (std::size_t k = 0; k < at.size() && v.size > 0; ++k)
      out.push_back(divided ? v[at[k]] / scale[k] : v[at[k]] * scale[k]);
    return out;
  }
  std::vector<Index> of(Span<const Index> v) const {
    std::vector<Index> out;
    for (Index k : at) out.push_back(v[k]);
    return out;
  }
};

// Where the engine begins: a feasible point and the rows to begin with, all of them if there are none.
struct Start {
  std::vector<double> alpha;
  std::vector<Index> active;
};

// From the solution `coarse` of the thinned problem. Its scores at the other rows are one product with their kernel
// rows; if there is no time for it, they stay at zero.
template <class Policy>
Start start_from(WorkingSets<Policy>& engine, const Policy& policy, const Thinned& thin, const Solution& coarse,
                 Index n) {
  const Index w = policy.width(), h = static_cast<Index>(thin.at.size());
  Start start{std::vector<double>(n * w, 0.0), {}};
  Moves moves;
  std::vector<double> a(w), F(n * w, 0.0);
  double n_bound = 0;
  for (Index k = 0; k < h; ++k) {
    bool used = false;
    for (Index c = 0; c < w; ++c) {
      used |= (a[c] = coarse.alpha[c * h + k]) != 0;
      F[c * n + thin.at[k]] = coarse.gradient[c * h + k];
    }
    if (!used) continue;
    moves.row.push_back(thin.at[k]);
    moves.now.insert(moves.now.end(), a.begin(), a.end());
    n_bound += policy.reduce(thin.at[k], thin.scale[k], a.data());
    for (Index c = 0; c < w; ++c) start.alpha[c * n + thin.at[k]] = a[c];
  }
  // Where most support vectors are free, the others cannot know their place.
  const bool bold = n_bound > kBold * double(moves.row.size());
  std::vector<double> distance(n, 0.0);
  const std::vector<Index> others = the_rest(thin.at, n);
  const Index o = static_cast<Index>(others.size());
  moves.old.assign(moves.now.size(), 0.0);
  const std::vector<double> G = bold ? engine.scores_of(moves, others) : std::vector<double>();
  if (!G.empty()) {
    std::vector<double> f(w), multiplier(coarse.multiplier);
    for (Index c = 0; c < w; ++c)
      for (Index k = 0; k < o; ++k) F[c * n + others[k]] = G[c * o + k];
    // Most rows may have the same score: with a bias that is a little off, all of them would answer wrongly.
    policy.choose_bias(F, multiplier);
    std::size_t s = 0;
    for (Index i = 0; i < n; ++i) {
      const bool sampled = s < thin.at.size() && thin.at[s] == i;
      s += sampled;
      for (Index c = 0; c < w; ++c) f[c] = F[c * n + i];
      distance[i] = policy.respond(i, multiplier, f.data(), a.data());
      for (Index c = 0; c < w && !sampled; ++c) start.alpha[c * n + i] = a[c];
    }
    start.active = everything(n);
    const Index size = std::min(n, static_cast<Index>(kBand * std::sqrt(double(n))));
    std::nth_element(start.active.begin(), start.active.begin() + size, start.active.end(),
                     [&](Index a, Index b) { return distance[a] < distance[b]; });
    start.active.resize(size);
    std::sort(start.active.begin(), start.active.end());
  }
  policy.balance(start.active, start.alpha);
  return start;
}

// A start that is not zero is near the solution already, or the only feasible point at hand.
inline bool begins_small(Index n, double cost, const std::vector<double>& alpha, const Settings& settings) {
  const bool hurried = settings.time_limit < kAmple * double(n) * double(n) * cost;
  return n > (hurried ? kHurried : kLarge) && is_zero(alpha);
}

// The scores of some of the rows are not nearer to those of all: the smaller problem need not be solved further.
inline Settings coarse(Settings settings) {
  settings.keeps_rows = false;
  settings.gap = std::numeric_limits<double>::infinity();
  settings.tol = std::max(settings.tol, kCoarseTol);
  return settings;
}

// There was time for only a part of the rows: its machine is the best estimate of the whole one, with bounds
// beyond those of the whole. `zero`: as many variables as all rows have.
inline Solution scattered(const Thinned& thin, Solution out, Index n, std::vector<double> zero) {
  const std::vector<double> found = std::exchange(out.alpha, std::move(zero));
  const std::size_t h = thin.at.size(), w = found.size() / h;
  out.gradient.assign(n * w, 0.0);
  for (std::size_t c = 0; c < w; ++c)
    for (std::size_t k = 0; k < h; ++k) out.alpha[c * n + thin.at[k]] = found[c * h + k];
  out.exact = false;
  out.violation = out.primal = std::numeric_limits<double>::infinity();
  out.dual = -out.primal;
  return out;
}

// Solves the problem, from the solution of a thinned one if it is large and there is no better start. `ThinProblem`
// owns the record of the thinned problem.
template <class ThinProblem, class Policy, class Problem, class T>
Solution by_levels(const Problem& problem, Policy& policy, const KernelBlocks<T>& K,
                   std::unique_ptr<RowCache<T>>& cache, std::vector<double> alpha, const Settings& settings,
                   Team& team) {
  const Index n = problem.rows.size;
  const Watch watch(settings);
  Settings left = settings;
  const auto whole = [&] {
    left.time_limit = watch.left();
    return WorkingSets<Policy>(policy, K, problem.rows, cache, left, team);
  };
  if (!begins_small(n, K.cost(), alpha, settings)) return whole().run(std::move(alpha), {}, 0);
  const ThinProblem thin(problem);
  if (2 * static_cast<Index>(thin.at.size()) > n) return whole().run(std::move(alpha), {}, 0);  // many small classes
  Settings rough = coarse(settings);
  rough.time_limit = watch.left();
  std::unique_ptr<RowCache<T>> own;
  Solution found = solve(thin.problem, K, own, std::vector<double>(thin.at.size() * policy.width(), 0.0), rough, team);
  own.reset();
  const bool ended = found.status != Status::solved && found.status != Status::stalled;
  const bool nothing = is_zero(found.alpha) && !(ended && n * policy.width() > kMoment);
  if (nothing) return whole().run(std::move(alpha), {}, found.n_iter);
  if (ended) return scattered(thin, std::move(found), n, std::move(alpha));
  thin.scores(found);
  WorkingSets<Policy> engine = whole();
  Start start = start_from(engine, policy, thin, found, n);
  Solution out = engine.run(std::move(start.alpha), std::move(start.active), found.n_iter);
  // A point that was left on the way may be worse than zero, where all began, and than the coarse machine, whose
  // objective is an estimate of that of all rows.
  const bool done = out.status == Status::solved || out.status == Status::stalled;
  if (out.exact && (done || (out.dual >= 0 && out.primal <= kWorse * found.primal))) return out;
  found.status = out.status, found.n_iter = out.n_iter;
  return scattered(thin, std::move(found), n, std::move(alpha));
}

}  // namespace polymargin
