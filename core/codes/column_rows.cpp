#include "codes/column_rows.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "dual/box_bias.hpp"

namespace polymargin {

void ColumnRows::list(const CodeProblem& p, Index column, const std::vector<double>& all_diagonal) {
  row.clear(), y.clear();
  for (Index entry : p.column(column)) {
    const Index c = CodeProblem::class_of(entry);
    for (Index i = p.segments[c]; i < p.segments[c + 1]; ++i) row.push_back(i), y.push_back(entry > 0 ? 1 : -1);
  }
  const std::size_t m = row.size();
  upper.resize(m), ridge.resize(m), diagonal.resize(m);
  for (std::size_t k = 0; k < m; ++k)
    upper[k] = p.upper[row[k]], ridge[k] = p.ridge[row[k]], diagonal[k] = all_diagonal[row[k]];
}

std::vector<double> ColumnRows::start(Span<const Index> at, Span<const double> b) const {
  std::vector<double> out(row.size(), 0.0);
  if (at.size == 0) return out;
  double side[2] = {0, 0};
  for (std::size_t k = 0; k < row.size(); ++k) {
    const Index* found = std::lower_bound(at.begin(), at.end(), row[k]);
    if (found == at.end() || *found != row[k]) continue;
    out[k] = y[k] * std::min(std::max(y[k] * b[found - at.begin()], 0.0), upper[k]);
    side[out[k] > 0] += out[k];
  }
  const double sum = side[0] + side[1];
  if (std::abs(sum) <= 1e-10 * (side[1] - side[0])) return out;  // rounding: what is at a bound should stay there
  const bool heavy = sum > 0;
  const double scale = -side[!heavy] / side[heavy];
  for (double& x : out)
    if (x != 0 && (x > 0) == heavy) x *= scale;
  return out;
}

void ColumnRows::store(const std::vector<double>& b, ColumnSolution& out) const {
  out.at.clear(), out.b.clear();
  for (std::size_t k = 0; k < b.size(); ++k)
    if (b[k] != 0) out.at.push_back(row[k]), out.b.push_back(b[k]);
}

// Without upper bounds the bias is the mean over the variables above zero, all of which are free.
void ColumnRows::certify(const std::vector<double>& b, const std::vector<double>& g, ColumnSolution& out) const {
  Level level;
  out.primal = out.dual = 0;
  for (Index k = 0; k < size(); ++k) {
    level.see(b[k]<high(k), b[k]> low(k), g[k]);
    out.dual += 0.5 * b[k] * (y[k] - g[k]);
    out.primal += 0.5 * b[k] * (y[k] + g[k] - ridge[k] * b[k]);
  }
  const bool bounded = std::all_of(upper.begin(), upper.end(), [](double u) { return u < kBlocked; });
  out.bias = bounded ? box_bias(y, upper, g) : -level.value();
  for (Index k = 0; k < size(); ++k) out.primal += loss(k, y[k] * (ridge[k] * b[k] - g[k] - out.bias));  // 1 - y f
  out.violation = std::max(level.most - level.least, 0.0);
  // No comparison finds a violation among numbers that are not finite.
  if (!std::isfinite(out.primal - out.dual)) out.violation = std::numeric_limits<double>::infinity();
  store(b, out);
}

// ||w|| <= r = sum |b| sqrt(k(x, x)).
void ColumnRows::bound(const std::vector<double>& b, ColumnSolution& out) const {
  double r = 0;
  for (Index k = 0; k < size(); ++k) r += std::abs(b[k]) * norm(k);
  bound(r, out);
  store(b, out);
}

// |f - bias| <= r sqrt(k(x, x)); the dual objective of 0 is a lower bound.
void ColumnRows::bound(double r, ColumnSolution& out) const {
  out.primal = 0.5 * r * r, out.dual = 0, out.violation = 2;
  for (Index k = 0; k < size(); ++k) {
    const double off = r * norm(k);
    out.primal += loss(k, 1 - y[k] * out.bias + off);
    out.violation = std::max(out.violation, 2 + 2 * off);
  }
}

}  // namespace polymargin
