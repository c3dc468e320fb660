#include "margins/kesler_solvers.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/watch.hpp"
#include "dual/dual_problem.hpp"
#include "kernels/row_store.hpp"
#include "margins/margin_certificate.hpp"
#include "margins/score_kernel.hpp"

namespace polymargin {

namespace {

using Method = KeslerProblem::Method;

constexpr double kHuge = 1e100;

template <class T>
class KeslerSolver {
 public:
  KeslerSolver(const KeslerProblem& problem, const KernelBlocks<T>& K, std::unique_ptr<RowCache<T>>& cache,
               const std::vector<double>& b, const Settings& settings, Team& team)
      : p_(problem.margins),
        method_(problem.method),
        K_(K),
        team_(team),
        rows_(K, p_.rows, cache, settings.memory, team),
        set_(settings),
        watch_(settings),
        n_(p_.rows.size),
        T_(p_.classes),
        a_(n_ * T_),
        F_(n_ * T_, 0.0),
        q_(n_),
        worst_(n_),
        key_(n_),
        positive_(n_, 0),
        touched_(T_, 0) {
    out_.alpha.resize(n_ * T_), out_.gradient.resize(n_ * T_);
    K.diagonal(p_.rows, q_.data());
    for (Index i = 0; i < n_; ++i) {
      q_[i] = std::max(2 * q_[i] + p_.ridge[i], 1e-12);
      for (Index c = 0; c < T_; ++c)
        if (c != p_.label[i]) put(i, c, -b[c * n_ + i]);
    }
  }

  Solution run() {
    begin();
    const Index every = std::max<Index>(16, n_ / 8);  // a certificate costs as much as T / 4 steps
    bool solved = false, polishing = false;
    for (Index steps = 0; !lost_; ++steps) {
      const bool smo = method_ == Method::smo;
      const Pick next = choose();
      if (!polishing) {
        if (!smo && steps % every == 0) certify();
        solved = smo ? next.violation <= set_.tol : gap_ <= set_.tol;
        if (solved && n_ > kPolished) break;
        if (solved) {
          polishing = true, steps = 0;
          if (!smo) method_ = Method::mdm;
        }
      } else if (steps > 2000 * n_ + 20000) {
        break;
      }
      if (watch_.halted(out_, next.violation, objective_)) break;
      if (watch_.stalled(out_, next.violation, objective_, n_)) break;
      const double moved = smo ? one(next) : method_ == Method::ksk ? toward(next) : pair(next);
      ++out_.n_iter;
      if (moved <= (polishing ? kPolishedTol : 0)) break;  // nothing is left to gain
    }
    finish(solved);
    return std::move(out_);
  }

 private:
  struct Pick {
    Index example = 0;
    double violation = 0;
  };
  struct Move {
    Index example, cls;
    double by, to;
  };

  double& a(Index i, Index c) { return a_[i * T_ + c]; }
  bool min_norm() const { return method_ != Method::smo; }

  void put(Index i, Index c, double to) {
    positive_[i] += (to > 0) - (a(i, c) > 0);
    a(i, c) = to;
  }

  // --- the scores of every example, F[j,c], and of each the variable that is first in turn ---

  // Scores of the starting point, from its rows a few at a time. A cold start is the vertex nearest to the origin.
  void begin() {
    if (min_norm() && std::all_of(a_.begin(), a_.end(), [](double a) { return a == 0; })) {
      const Index i = std::min_element(q_.begin(), q_.end()) - q_.begin();
      put(i, p_.label[i] == 0 ? 1 : 0, 1.0);
    }
    std::vector<Index> some;
    for (Index i = 0; i < n_ && !lost_; ++i) {
      if (positive_[i] > 0) some.push_back(i);
      if (static_cast<Index>(some.size()) < RowStore<T>::kLeastRows && i + 1 < n_) continue;
      rows_.all().fetch(span(some), fetched_);
      for (std::size_t r = 0; r < some.size(); ++r)
        for (Index c = 0; c < T_; ++c)
          if (a(some[r], c) > 0) add({some[r], c, a(some[r], c), 0}, fetched_[r], 0, n_);
      some.clear();
      lost_ = i + 1 < n_ && watch_.halted(out_, std::nan(""), objective_);
    }
    for (Index j = 0; j < n_; ++j) rank(j);
    measure();
  }

  // sum v and v'Qv, from which the objective is read; steps keep them up to date.
  void measure() {
    total_ = square_ = 0;
    for (Index i = 0; i < n_; ++i)
      for (Index c = 0; positive_[i] > 0 && c < T_; ++c) {
        total_ += a(i, c);
        square_ -= a(i, c) * lack(i, c);
      }
    objective_ = min_norm() ? square_ / (total_ * total_) : 0.5 * square_ - total_;
  }

  // -(Qa) of a variable: what its margin lacks to zero, ridge and all.
  double lack(Index j, Index c) const {
    const double* F = F_.data() + j * T_;
    return F[c] - F[p_.label[j]] - p_.ridge[j] * a_[j * T_ + c];
  }

  // Of a variable a <= u with the slope g.
  static double violation(double g, double a, double u) { return g > 0 ? (a < u ? g : 0) : a > 0 ? -g : 0; }
  double key(Index j, Index c) const {
    return min_norm() ? lack(j, c) : violation(1 + lack(j, c), a_[j * T_ + c], p_.upper[j]);
  }

  void rank(Index j) {
    key_[j] = -std::numeric_limits<double>::infinity();
    for (Index c = 0; c < T_; ++c)
      if (c != p_.label[j]) consider(j, c);
  }
  void consider(Index j, Index c) {
    const double k = key(j, c);
    if (k > key_[j]) key_[j] = k, worst_[j] = c;
  }

  void add(const Move& move, const T* row, Index from, Index to) {
    const Index y = p_.label[move.example];
    for (Index j = from; j < to; ++j) {
      const double s = move.by * row[j];
      F_[j * T_ + y] += s;
      F_[j * T_ + move.cls] -= s;
    }
  }

  // Changes one or two variables: two columns of the scores each, and what is first in turn where those columns matter.
  void apply(std::initializer_list<Move> moves) {
    std::vector<Index>& at = moved_;
    at.clear();
    Index classes[4], n_classes = 0;
    for (const Move& m : moves) {
      at.push_back(m.example);
      for (Index c : {p_.label[m.example], m.cls})
        if (!touched_[c]) touched_[c] = 1, classes[n_classes++] = c;
      put(m.example, m.cls, m.to);
    }
    rows_.all().fetch(span(at), fetched_);
    for (Index j = 0; j < n_; ++j) {
      std::size_t r = 0;
      for (const Move& m : moves) add(m, fetched_[r++], j, j + 1);
      if (touched_[p_.label[j]] || touched_[worst_[j]]) {
        rank(j);
      } else {
        for (Index k = 0; k < n_classes; ++k) consider(j, classes[k]);
      }
    }
    for (Index k = 0; k < n_classes; ++k) touched_[classes[k]] = 0;
  }

  // smo: the largest violation^2 / Q, and the largest violation. Nearest point: the variable with the smallest Qv.
  Pick choose() {
    Pick pick;
    double most = -std::numeric_limits<double>::infinity();
    for (Index j = 0; j < n_; ++j) {
      const double k = min_norm() ? key_[j] : key_[j] * key_[j] / q_[j];
      if (k > most) most = k, pick.example = j;
      pick.violation = std::max(pick.violation, key_[j]);
    }
    if (min_norm()) pick.violation = 1 + most * total_ / square_;  // in the unit of the margin
    return pick;
  }

  // --- steps; each returns how far from optimal the point was, in the unit of the margin ---

  double one(const Pick& next) {
    const Index i = next.example, c = worst_[i];
    const double g = 1 + lack(i, c);
    const double to = std::min(std::max(a(i, c) + g / q_[i], 0.0), p_.upper[i]), s = to - a(i, c);
    apply({{i, c, s, to}});
    objective_ -= s * (g - 0.5 * s * q_[i]);
    return next.violation;
  }

  // v_t grows until the point is nearest to the origin on the segment to vertex t.
  double toward(const Pick& next) {
    const Index i = next.example, c = worst_[i];
    const double h = -lack(i, c), slope = square_ / total_ - h, bend = q_[i] - h / total_;
    if (slope <= 0) return 0;
    const bool vertex = bend <= 1e-12 * q_[i];
    if (vertex || total_ > kHuge) {
      restart(i, c, vertex);
      return next.violation;
    }
    const double s = slope / bend;
    apply({{i, c, s, a(i, c) + s}});
    square_ += s * (2 * h + s * q_[i]);
    total_ += s;
    objective_ = square_ / (total_ * total_);
    return next.violation;
  }

  // Vertex t itself is nearest, or the numbers have grown too large: start over there, or at a multiple of the point.
  void restart(Index i, Index c, bool at_vertex) {
    const double scale = at_vertex ? 0 : 1 / total_;
    for (double& f : F_) f *= scale;
    for (double& v : a_) v *= scale;
    if (at_vertex) {
      std::fill(positive_.begin(), positive_.end(), 0);
      apply({{i, c, 1.0, 1.0}});
    }
    for (Index j = 0; j < n_; ++j) rank(j);
    measure();
  }

  // Weight moves to the variable with the smallest Qv from the one that makes the pair's step gain most.
  double pair(const Pick& next) {
    const Index i = next.example, m = worst_[i], y = p_.label[i];
    const double h = -lack(i, m);
    moved_.assign(1, i);
    rows_.all().fetch(span(moved_), fetched_);
    const T* row = fetched_[0];
    double best = 0, step = 0, spread = 0;
    Index from = -1, cls = -1;
    for (Index j = 0; j < n_; ++j) {
      if (positive_[j] == 0) continue;
      const Index z = p_.label[j];
      for (Index p = 0; p < T_; ++p) {
        if (a(j, p) <= 0 || (j == i && p == m)) continue;
        const double slope = -lack(j, p) - h;
        if (slope <= 0) continue;
        spread = std::max(spread, slope);
        const int sign = (y == z) + (m == p) - (y == p) - (z == m);
        const double bend = std::max(q_[i] + q_[j] - 2 * sign * double(row[j]), 1e-12);
        const double s = std::min(slope / bend, a(j, p)), gain = s * (slope - 0.5 * s * bend);
        if (gain > best) best = gain, step = s, from = j, cls = p;
      }
    }
    if (from < 0) return 0;
    apply({{i, m, step, a(i, m) + step}, {from, cls, -step, a(from, cls) - step}});
    square_ -= 2 * best;
    objective_ = square_ / (total_ * total_);
    return spread * total_ / square_;
  }

  // --- the end ---

  // The best multiple of the point. An indefinite kernel may give it a square that is not positive: then it has none.
  double multiple() const { return !min_norm() ? 1 : square_ > 0 ? total_ / square_ : 0; }

  // What the best multiple of the point proves; its largest violation.
  void certify() {
    if (min_norm()) measure();  // without the rounding errors of the steps
    const double scale = multiple();
    store(scale);
    const Proof proof = polymargin::certify(p_, out_.alpha, out_.gradient);
    out_.primal = proof.primal, out_.dual = proof.dual, gap_ = relative_gap(out_.primal, out_.dual);
    out_.violation = 0;
    for (Index i = 0; i < n_; ++i)
      for (Index c = 0; c < T_; ++c) {
        const double g = 1 + scale * lack(i, c);
        if (c != p_.label[i]) out_.violation = std::max(out_.violation, violation(g, scale * a(i, c), p_.upper[i]));
      }
  }

  // The point times `scale`, and its scores.
  void store(double scale) {
    for (Index c = 0; c < T_; ++c)
      for (Index i = 0; i < n_; ++i) {
        out_.alpha[c * n_ + i] = -scale * a(i, c);
        out_.gradient[c * n_ + i] = scale * F_[i * T_ + c];
      }
  }

  // Scores from weights where rounding the values of a linear kernel shows.
  void weigh() {
    const double squares = std::inner_product(a_.begin(), a_.end(), a_.begin(), 0.0);
    const double error = rounding_error<T>(*std::max_element(q_.begin(), q_.end()), std::sqrt(squares));
    if (K_.kernel().kind != KernelKind::linear || error <= kSeen * set_.tol) return;
    store(1);
    linear_part(p_, K_, out_.alpha, out_.gradient, team_);
    for (Index c = 0; c < T_; ++c)
      for (Index i = 0; i < n_; ++i) F_[i * T_ + c] = out_.gradient[c * n_ + i];
  }

  void finish(bool solved) {
    if (lost_) {
      store(1);
      out_.violation = out_.primal = std::numeric_limits<double>::infinity();
      out_.dual = -out_.primal;
      return;
    }
    weigh(), certify();
    // Steps of polishing may lead away from a solved point before a limit ends them.
    solved = (solved && out_.status == Status::solved) || (min_norm() ? gap_ : out_.violation) <= set_.tol;
    if (out_.status == Status::interrupted) return;
    if (solved)
      out_.status = Status::solved;
    else if (out_.status == Status::solved)
      out_.status = Status::stalled;
  }

  const MarginProblem& p_;
  Method method_;
  const KernelBlocks<T>& K_;
  Team& team_;
  RowStore<T> rows_;
  const Settings& set_;
  Watch watch_;
  const Index n_, T_;
  Solution out_;
  bool lost_ = false;            // stopped while the first scores were computed
  std::vector<double> a_, F_;    // of example j and class c at j * T + c
  std::vector<double> q_;        // Q of a variable with itself
  std::vector<Index> worst_;     // the class of the example that is first in turn ...
  std::vector<double> key_;      // ... and how much it is
  std::vector<Index> positive_;  // variables of the example that are not zero
  std::vector<char> touched_;
  std::vector<Index> moved_;
  std::vector<const T*> fetched_;
  double total_ = 0, square_ = 0, objective_ = 0;  // 1'v, v'Qv, what is minimized
  double gap_ = std::numeric_limits<double>::infinity();
};

}  // namespace

template <class T>
Solution solve(const KeslerProblem& problem, const KernelBlocks<T>& K, std::unique_ptr<RowCache<T>>& cache,
               std::vector<double> b, const Settings& settings, Team& team) {
  return KeslerSolver<T>(problem, K, cache, b, settings, team).run();
}

template Solution solve(const KeslerProblem&, const KernelBlocks<float>&, std::unique_ptr<RowCache<float>>&,
                        std::vector<double>, const Settings&, Team&);
template Solution solve(const KeslerProblem&, const KernelBlocks<double>&, std::unique_ptr<RowCache<double>>&,
                        std::vector<double>, const Settings&, Team&);

}  // namespace polymargin
