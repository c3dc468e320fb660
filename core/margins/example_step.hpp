// One example solved exactly, all others fixed:
//
//   min over b   1/2 k (|b|^2 + beta (sum b)^2) + r/2 |b|^2 - h'b     -u <= b_c <= 0,  0 <= b_own <= u,  [sum |b| <= u]
//
// For a given z = sum b it separates: b_c = clip((h_c - k beta z) / (k + r)), with a cap moved toward 0 by a common
// amount. sum b(z) - z does not increase in z and is linear in pieces; its root is found by Newton steps inside a
// bracket, O(T) each, seldom more than four.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/data.hpp"

namespace polymargin {

class ExampleStep {
 public:
  ExampleStep(Index classes, double beta, bool has_own, bool capped)
      : n_(classes), beta_(beta), has_own_(has_own), capped_(capped), p_(classes), s_(classes), at_(classes) {}

  // b is the old point (its sum is where the search begins) and becomes the solution; y is the own class.
  void solve(const double* h, Index y, double k, double r, double u, double* b) {
    h_ = h, b_ = b, y_ = y, u_ = u;
    const double curvature = std::max(k + r, 1e-12);
    inverse_ = 1 / curvature;
    pull_ = k * beta_;
    double z = 0;
    for (Index c = 0; c < n_; ++c) z += b[c];
    if (pull_ == 0) {
      at(0);
      return;
    }
    double low = -std::numeric_limits<double>::infinity(), high = -low;
    for (int step = 0; step < 100; ++step) {
      const Sum s = at(z);
      const double miss = s.sum - z;
      if (std::abs(miss) <= 1e-15 * (std::abs(z) + s.size)) return;
      (miss > 0 ? low : high) = z;
      const double slope = 1 + pull_ * inverse_ * s.free;
      double next = slope > 1e-9 ? z + miss / slope : std::numeric_limits<double>::quiet_NaN();
      if (!(next > low && next < high) || step % 8 == 7) {
        if (std::isfinite(low) && std::isfinite(high))
          next = 0.5 * (low + high);
        else if (!(next > low && next < high))
          next = z + miss;
      }
      if (next == z || next <= low || next >= high) return;
      z = next;
    }
  }

 private:
  struct Sum {
    double sum = 0, size = 0;  // of b and of |b|
    double free = 0;           // how fast sum b falls with k beta z / (k + r)
  };

  // b for a given z. p is the size that each variable would like to have, s its sign.
  Sum at(double z) {
    Index m = 0;
    for (Index c = 0; c < n_; ++c) {
      b_[c] = 0;
      if (c == y_ && !has_own_) continue;
      const double x = (h_[c] - pull_ * z) * inverse_, s = c == y_ ? 1 : -1;
      if (s * x <= 0) continue;
      p_[m] = s * x, s_[m] = s, at_[m] = c;
      ++m;
    }
    Sum out;
    if (!capped_) {
      for (Index j = 0; j < m; ++j) {
        const bool inside = p_[j] < u_;
        const double a = inside ? p_[j] : u_;
        out.free += inside;
        add(out, j, a);
      }
      return out;
    }
    double total = 0, shift = 0;
    for (Index j = 0; j < m; ++j) total += p_[j];
    const bool tight = total >= u_ && m > 0;
    while (tight) {  // drops what falls below the common shift, which only grows
      shift = (total - u_) / static_cast<double>(m);
      Index kept = 0;
      double rest = 0;
      for (Index j = 0; j < m; ++j) {
        if (p_[j] <= shift) continue;
        p_[kept] = p_[j], s_[kept] = s_[j], at_[kept] = at_[j];
        rest += p_[j];
        ++kept;
      }
      if (kept == m || kept == 0) break;
      m = kept, total = rest;
    }
    // p - shift has lost digits where the cap is far below p; the sum should be the cap all the same.
    double signs = 0, sum = 0;
    for (Index j = 0; j < m; ++j) sum += p_[j] = std::max(p_[j] - shift, 0.0);
    const double scale = tight && sum > 0 ? u_ / sum : 1;
    if (tight && sum == 0) p_[0] = u_;
    for (Index j = 0; j < m; ++j) {
      signs += s_[j];
      add(out, j, std::min(scale * p_[j], u_));
    }
    out.free = static_cast<double>(m) - (tight ? signs * signs / static_cast<double>(m) : 0);
    return out;
  }

  void add(Sum& out, Index j, double a) {
    b_[at_[j]] = s_[j] * a;
    out.sum += s_[j] * a;
    out.size += a;
  }

  Index n_, y_ = 0;
  double beta_, u_ = 0, inverse_ = 1, pull_ = 0;
  bool has_own_, capped_;
  const double* h_ = nullptr;
  double* b_ = nullptr;
  std::vector<double> p_, s_;
  std::vector<Index> at_;
};

}  // namespace polymargin
