#include "class_qp.hpp"

#include <algorithm>
#include <utility>

namespace polymargin {

namespace {

constexpr double kFlat = 1e-12;  // curvature of a flat direction

}  // namespace

ClassQp::ClassQp(Span<const Index> segments, const std::vector<Index>& classes, bool split) {
  for (Index c : classes) {
    parts_.push_back({segments[c], n_, segments[c + 1] - segments[c]});
    n_ += parts_.back().size;
  }
  const Index n_parts = static_cast<Index>(parts_.size());
  for (Index t = 0; split && t < n_parts; ++t) groups_.push_back({t, t + 1});
  if (!split) groups_.push_back({0, n_parts});
  allocate();
}

ClassQp::ClassQp(std::vector<Part> parts) : parts_(std::move(parts)) {
  for (const Part& p : parts_) n_ += p.size;
  groups_.push_back({0, static_cast<Index>(parts_.size())});
  allocate();
}

void ClassQp::allocate() {
  for (auto* v : {&z, &low, &high, &linear, &ridge, &G, &up_, &down_, &diagonal_}) v->assign(n_, 0.0);
}

const ClassQp::Part& ClassQp::part_of(Index k) const {
  return *(std::upper_bound(parts_.begin(), parts_.end(), k, [](Index i, const Part& p) { return i < p.at; }) - 1);
}

void ClassQp::begin(const double* K, Index ld) {
  K_ = K, ld_ = ld;
  std::vector<const double*> rows;
  std::vector<double> coef;
  for (const Part& p : parts_)
    for (Index k = 0; k < p.size; ++k) {
      const Index i = p.at + k;
      diagonal_[i] = K[(p.row + k) * ld + p.row + k] + ridge[i];
      G[i] = ridge[i] * z[i] - linear[i];
      mark(i);
      if (z[i] == 0) continue;
      rows.push_back(K + (p.row + k) * ld);
      coef.push_back(z[i]);
    }
  std::vector<const double*> shifted(rows.size());
  for (const Part& p : parts_) {
    for (std::size_t r = 0; r < rows.size(); ++r) shifted[r] = rows[r] + p.row;
    polymargin::steps<double>().add_rows(shifted.data(), coef.data(), static_cast<Index>(rows.size()), 0, p.size,
                                         G.data() + p.at);
  }
}

void ClassQp::resume(const std::vector<double>& old_ridge, double scale) {
  for (Index k = 0; k < n_; ++k) {
    G[k] = scale * (G[k] + linear[k] - old_ridge[k] * z[k]) - linear[k];
    z[k] *= scale;
    if (z[k] > high[k]) z[k] = high[k];  // rounding
    if (z[k] < low[k]) z[k] = low[k];
    G[k] += ridge[k] * z[k];
    diagonal_[k] += ridge[k] - old_ridge[k];
    mark(k);
  }
}

Index ClassQp::steps(double eps, Index most) {
  const Steps<double>& pass = polymargin::steps<double>();
  for (Index n_steps = 0; n_steps < most; ++n_steps) {
    // The most violating group and its lowest gradient i that may grow.
    Range worst;
    const Group* group = nullptr;
    for (const Group& g : groups_) {
      Range range;
      for (Index t = g.first; t < g.last; ++t) {
        const Part& p = parts_[t];
        const Range r = pass.group_first(G.data() + p.at, up_.data() + p.at, down_.data() + p.at, 0, p.size);
        if (r.low < range.low) range.low = r.low, range.lowest = p.at + r.lowest;
        range.high = std::max(range.high, r.high);
      }
      if (!group || range.high - range.low > worst.high - worst.low) worst = range, group = &g;
    }
    violation_ = worst.lowest < 0 ? 0 : std::max(0.0, worst.high - worst.low);
    if (worst.lowest < 0 || violation_ <= eps) return n_steps;
    // The partner j with the largest gain.
    const Index i = worst.lowest;
    const Part& pi = part_of(i);
    const double* Ki = K_ + (pi.row + i - pi.at) * ld_;
    Index j = -1;
    double best = 0;
    for (Index t = group->first; t < group->last; ++t) {
      const Part& p = parts_[t];
      const Pick pick = pass.group_second(G.data() + p.at, Ki + p.row, G[i], diagonal_[i], down_.data() + p.at,
                                          diagonal_.data() + p.at, 0, p.size);
      if (pick.at >= 0 && pick.key > best) best = pick.key, j = p.at + pick.at;
    }
    if (j < 0) return n_steps;
    const Part& pj = part_of(j);
    const double* Kj = K_ + (pj.row + j - pj.at) * ld_;
    const double curvature = std::max(diagonal_[i] + diagonal_[j] - 2 * Ki[pj.row + j - pj.at], kFlat);
    const double room_i = high[i] - z[i], room_j = z[j] - low[j];
    const double s = std::min({(G[j] - G[i]) / curvature, room_i, room_j});
    if (!(s > 0)) return n_steps;
    // A step to a bound lands on it exactly.
    z[i] = s >= room_i ? high[i] : z[i] + s;
    z[j] = s >= room_j ? low[j] : z[j] - s;
    mark(i), mark(j);
    G[i] += ridge[i] * s;
    G[j] -= ridge[j] * s;
    for (const Part& p : parts_) {
      const Index whole = p.size / kLanes * kLanes;
      double* g = G.data() + p.at;
      const double *a = Ki + p.row, *b = Kj + p.row;
      pass.update(g, a, b, s, -s, whole);
      for (Index k = whole; k < p.size; ++k) g[k] += s * (a[k] - b[k]);
    }
  }
  return most;
}

double ClassQp::quadratic() const {
  double sum = 0;
  for (Index k = 0; k < n_; ++k) sum += z[k] * (G[k] + linear[k]);
  return sum;
}

std::vector<double> ClassQp::multipliers() const {
  std::vector<double> r;
  for (const Group& g : groups_) {
    double sum = 0, lowest = -kBlocked, highest = kBlocked;
    Index n_free = 0;
    for (Index k = parts_[g.first].at, end = parts_[g.last - 1].at + parts_[g.last - 1].size; k < end; ++k) {
      const bool grow = up_[k] == 0, fall = down_[k] == 0;
      if (grow && fall)
        sum += G[k], ++n_free;
      else if (grow)
        highest = std::min(highest, G[k]);
      else if (fall)
        lowest = std::max(lowest, G[k]);
    }
    r.push_back(n_free                ? sum / double(n_free)
                : lowest <= -kBlocked ? highest
                : highest >= kBlocked ? lowest
                                      : 0.5 * (lowest + highest));
  }
  return r;
}

}  // namespace polymargin
