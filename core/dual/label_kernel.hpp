// Products with the kernel part of Q: sum[k] += sum_r M(y_r, y_k) change_r k(x_r, x_k), by segments of equal class.
//
// Variables come sorted by class, so M takes one pass with `other` over all columns and one with `same - other` over
// the columns of each row's own class: the cost does not grow with the number of classes.
#pragma once
#include <algorithm>
#include <vector>

#include "dual/dual_problem.hpp"
#include "kernels/kernel_sums.hpp"
#include "kernels/linear_scores.hpp"
#include "simd/steps.hpp"

namespace polymargin {

template <class T>
class LabelKernel {
 public:
  LabelKernel(const DualProblem& problem, const KernelBlocks<T>& K, Team& team)
      : p_(problem), K_(K), team_(team), label_(problem.labels()) {}

  Index label(Index variable) const { return label_[variable]; }
  double operator()(Index i, Index j) const { return label_[i] == label_[j] ? p_.same : p_.other; }

  // Kernel values of variables become those of Q.
  void multiply(Span<const Index> rows, Span<const Index> columns, T* values, Index ld) const {
    if (p_.same == 1 && p_.other == 1) return;
    std::vector<T> factor(columns.size);
    for (Index k = 0; k < rows.size; ++k) {
      if (k == 0 || label_[rows[k]] != label_[rows[k - 1]])
        for (Index l = 0; l < columns.size; ++l) factor[l] = T((*this)(rows[k], columns[l]));
      for (Index l = 0; l < columns.size; ++l) values[k * ld + l] *= factor[l];
    }
  }

  // From rows in memory; row r belongs to variable rows_of[r], and `columns` are the variables of their entries.
  void add_rows(const std::vector<const T*>& rows, Span<const Index> rows_of, const double* change,
                Span<const Index> columns, double* sum) const {
    constexpr Index tile = 2048;
    const bool alone = rows_of.size * columns.size <= kSerial;
    const auto one = [&](Index begin, Index end) {
      std::vector<const T*> shifted(rows.begin(), rows.begin() + rows_of.size);
      for (const T*& row : shifted) row += begin;
      add(shifted.data(), rows_of, change, columns.sub(begin, end), sum + begin);
    };
    team_.parts(columns.size, tile, one, alone);
  }

  // From rows that are computed on the way and not kept.
  void add_blocks(Span<const Index> rows_of, const double* change, Span<const Index> columns, double* sum) const {
    by_blocks(K_, p_.rows, rows_of, columns, team_,
              [&](const T* const* values, Index first, Index last, Index begin, Index end) {
                add(values, rows_of.sub(first, last), change + first, columns.sub(begin, end), sum + begin);
              });
  }

 private:
  static constexpr Index kSerial = 200000;  // multiply-adds below which threads cost more than they gain

  void add(const T* const* rows, Span<const Index> rows_of, const double* change, Span<const Index> columns,
           double* sum) const {
    const Steps<T>& pass = steps<T>();
    std::vector<double> scaled(change, change + rows_of.size);
    for (double& x : scaled) x *= p_.other;
    pass.add_rows(rows, scaled.data(), rows_of.size, 0, columns.size, sum);
    if (p_.same == p_.other) return;
    for (Index r = 0; r < rows_of.size; ++r) scaled[r] = (p_.same - p_.other) * change[r];
    for (Index r = 0, k = 0; r < rows_of.size && k < columns.size;) {
      Index c = label_[rows_of[r]], own = label_[columns[k]];
      if (own < c) {
        ++k;
      } else if (own > c) {
        ++r;
      } else {
        Index r1 = r, k1 = k;
        while (r1 < rows_of.size && label_[rows_of[r1]] == c) ++r1;
        while (k1 < columns.size && label_[columns[k1]] == c) ++k1;
        pass.add_rows(rows + r, scaled.data() + r, r1 - r, k, k1, sum);
        r = r1, k = k1;
      }
    }
  }

  const DualProblem& p_;
  const KernelBlocks<T>& K_;
  Team& team_;
  std::vector<Index> label_;
};

// The kernel's part of Qa in a problem with one variable per row.
template <class T>
void linear_part(const DualProblem& p, const KernelBlocks<T>& K, const std::vector<double>& a,
                 std::vector<double>& scores) {
  const Index n = p.rows.size;
  std::vector<double> all(n), own(n);
  linear_scores(K, p.rows, a.data(), p.rows, all.data());
  for (Index c = 0; c + 1 < p.segments.size; ++c) {
    const Index from = p.segments[c], to = p.segments[c + 1];
    linear_scores(K, p.rows.sub(from, to), a.data() + from, p.rows.sub(from, to), own.data() + from);
  }
  for (Index i = 0; i < n; ++i) scores[i] = (p.same - p.other) * own[i] + p.other * all[i];
}

}  // namespace polymargin
