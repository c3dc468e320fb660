// Training rows with their kernel rows, as Python holds them from one solve to the next.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "arguments.hpp"
#include "kernels/row_cache.hpp"
#include "running.hpp"

namespace polymargin {

// One set of training rows with its kernel rows, for one solve after another.
class TrainingRows {
 public:
  TrainingRows(nb::object X, nb::dict kernel, Vector<Index> rows, const std::string& dtype, double memory, int n_jobs)
      : X_(data_of(X, "X")), kernel_(kernel), rows_(rows), memory_(checked_memory(memory)), team_(n_jobs) {
    const Kernel k = kernel_of(kernel_);
    check_pair(X_.data, X_.data, k, span(rows_), span(rows_));
    if (span(rows_).size == 0) refuse("rows must not be empty");
    if (is_double(dtype))
      wide_ = std::make_unique<Rows<double>>(X_.data, k);
    else
      narrow_ = std::make_unique<Rows<float>>(X_.data, k);
  }

  Span<const Index> rows() const { return span(rows_); }
  std::uint64_t evaluations() const { return wide_ ? wide_->K.evaluations() : narrow_->K.evaluations(); }

  // What is subtracted from all rows; empty for nothing.
  std::vector<double> center() const {
    const std::vector<float>& mean = wide_ ? wide_->K.mean() : narrow_->K.mean();
    return {mean.begin(), mean.end()};
  }

  template <class Problem>
  nb::dict solve(const Problem& p, Span<const double> alpha, Settings settings, const nb::object& stop) {
    check_run(settings.tol, settings.max_iter, settings.time_limit, stop);
    check_numbers(alpha, -kLargest, kLargest, "the start");
    settings.memory = memory_;
    bool signalled = false;
    settings.stop = asking(stop, signalled);
    Solution out;
    {
      const nb::gil_scoped_release free;
      std::vector<double> start(alpha.begin(), alpha.end());
      out = wide_ ? polymargin::solve<double>(p, wide_->K, wide_->cache, std::move(start), settings, team_)
                  : polymargin::solve<float>(p, narrow_->K, narrow_->cache, std::move(start), settings, team_);
    }
    nb::dict result = report(out, signalled);
    result["alpha"] = as_vector(std::move(out.alpha));
    result["gradient"] = as_vector(std::move(out.gradient));
    result["multiplier"] = as_vector(std::move(out.multiplier));
    return result;
  }

 private:
  template <class T>
  struct Rows {
    Rows(const Data& X, const Kernel& k) : K(X, X, k) {}
    KernelBlocks<T> K;
    std::unique_ptr<RowCache<T>> cache;
  };

  HeldData X_;
  nb::dict kernel_;
  Vector<Index> rows_;
  double memory_;
  Team team_;
  std::unique_ptr<Rows<double>> wide_;
  std::unique_ptr<Rows<float>> narrow_;
};

}  // namespace polymargin
