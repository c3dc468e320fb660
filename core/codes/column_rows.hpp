// The rows of one column of a code (code_problem.hpp), as the variables of its machine, and what coefficients prove.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "codes/code_problem.hpp"
#include "dual/dense_qp.hpp"

namespace polymargin {

// Adjacent rows of an increasing list: `size` from `row` on, at the places `at`, ... of the list.
struct Adjacent {
  Index row, at, size;
};
inline std::vector<Adjacent> adjacent(const std::vector<Index>& rows) {
  std::vector<Adjacent> out;
  for (std::size_t k = 0; k < rows.size(); ++k) {
    if (out.empty() || out.back().row + out.back().size != rows[k]) out.push_back({rows[k], static_cast<Index>(k), 0});
    ++out.back().size;
  }
  return out;
}

// One group of variables, some rows of a matrix G between all: where they lie, each run as a part, or copied to Q.
template <class T>
void hold_in_place(const std::vector<Adjacent>& parts, const Block<T>& G, DenseQp<T>& qp) {
  std::vector<Index> sizes;
  for (const Adjacent& part : parts) sizes.push_back(part.size);
  qp.reset(sizes, {0, static_cast<Index>(sizes.size())});
  for (const Adjacent& a : parts)
    for (const Adjacent& b : parts) qp.blocks.push_back({G.values + a.row * G.ld + b.row, G.ld});
}
template <class T>
void hold_copy(const std::vector<Adjacent>& parts, const Block<T>& G, T* Q, DenseQp<T>& qp) {
  const Index m = parts.empty() ? 0 : parts.back().at + parts.back().size;
  for (const Adjacent& a : parts)
    for (Index k = 0; k < a.size; ++k)
      for (const Adjacent& b : parts)
        std::copy_n(G.values + (a.row + k) * G.ld + b.row, b.size, Q + (a.at + k) * m + b.at);
  qp.reset({m}, {0, 1});
  qp.blocks = {{Q, m}};
}

struct ColumnRows {
  std::vector<Index> row;  // of each variable
  std::vector<double> y, upper, ridge, diagonal;

  Index size() const { return static_cast<Index>(row.size()); }
  double low(Index k) const { return y[k] > 0 ? 0 : -upper[k]; }
  double high(Index k) const { return y[k] > 0 ? upper[k] : 0; }

  void list(const CodeProblem& p, Index column, const std::vector<double>& all_diagonal);
  // Row k as variable v of a dense problem, at the value b, with the gradient of b = 0.
  template <class T>
  void put(Index k, Index v, double b, DenseQp<T>& qp) const {
    qp.low[v] = low(k), qp.high[v] = high(k), qp.ridge[v] = ridge[k], qp.diagonal[v] = diagonal[k];
    qp.z[v] = b, qp.gradient[v] = -y[k];
  }
  // Coefficients of some rows, moved into the feasible set: clipped, then the heavier side is scaled down until the sum
  // is 0.
  std::vector<double> start(Span<const Index> at, Span<const double> b) const;
  // Bias, objectives, violation and coefficients of a solution b with its gradient g = Kb + Rb - y.
  void certify(const std::vector<double>& b, const std::vector<double>& g, ColumnSolution& out) const;
  // The same where no more is known than b and a bias: bounds that hold whatever the kernel values are.
  void bound(const std::vector<double>& b, ColumnSolution& out) const;
  // Those of any weights that are no longer than r.
  void bound(double r, ColumnSolution& out) const;

 private:
  void store(const std::vector<double>& b, ColumnSolution& out) const;
  double norm(Index k) const { return std::sqrt(std::max(diagonal[k], 0.0)); }
  double loss(Index k, double slack) const {
    if (!(slack > 0) || upper[k] <= 0) return 0;
    return ridge[k] > 0 ? 0.5 * slack * slack / ridge[k] : upper[k] * slack;
  }
};

}  // namespace polymargin
