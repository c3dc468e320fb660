// Training rows as Python holds them, and what their solver may take of the machine.
#pragma once
#include "arguments.hpp"
#include "base/team.hpp"

namespace polymargin {

class TrainingRows {
 public:
  TrainingRows(nb::object X, nb::dict kernel, Vector<Index> rows, double memory, int n_jobs)
      : memory(checked_memory(memory)), team(n_jobs), X_(data_of(X, "X")), kernel_(kernel), rows_(rows) {
    check_pair(X_.data, X_.data, kernel_of(kernel_), span(rows_), span(rows_));
    if (span(rows_).size == 0) refuse("rows must not be empty");
  }

  Span<const Index> rows() const { return span(rows_); }
  const Data& data() const { return X_.data; }
  Kernel kernel() const { return kernel_of(kernel_); }

  const double memory;
  Team team;

 private:
  HeldData X_;
  nb::dict kernel_;
  Vector<Index> rows_;
};

}  // namespace polymargin
