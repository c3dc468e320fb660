// Rows of K over all rows of a problem, for solvers that run side by side: each row is computed once while there is room
// for it, by whoever asks first.
//
// A solver goes through its rows again and again. Where not all of them fit, to drop the one used longest ago would drop
// just what is wanted next. So a row goes only if none of the solvers that run now has used it, and a row for which
// there is no room is computed whenever it is wanted.
#pragma once
#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <vector>

#include "kernel_rows.hpp"

namespace polymargin {

template <class T>
class SharedRows {
 public:
  // Room for `capacity` rows at `memory`, for so many solvers at a time. With a team, which has no other work then, all
  // of it computes.
  SharedRows(const KernelBlocks<T>& K, Span<const Index> rows, T* memory, Index capacity, Index solvers, Team* team)
      : K_(K), rows_(rows), memory_(memory), team_(team), slot_(rows.size, -1), slots_(capacity), begun_(solvers, 0) {}

  // Rows computed so far, those that were computed again included.
  std::uint64_t computed() const { return computed_; }

  // To be called when a solver begins, in the place of one that has ended.
  void begin() {
    const std::lock_guard<std::mutex> lock(mutex_);
    begun_.erase(begun_.begin());
    begun_.push_back(now_);
  }

  // Pointers to the rows at these positions, all different. They stay until they are released; rows without room are in
  // `aside` and stay as long as that does.
  void fetch(Span<const Index> at, std::vector<const T*>& held, std::vector<T>& aside) {
    std::vector<Index> fresh, later;  // to be computed here: in new slots, which are adjacent, and elsewhere
    std::unique_lock<std::mutex> lock(mutex_);
    for (Index p : at) {
      if (slot_[p] >= 0)
        take(p);
      else if (filled_ < static_cast<Index>(slots_.size()))
        give(p, filled_++), fresh.push_back(p);
      else
        later.push_back(p);
    }
    const Index n_later = static_cast<Index>(later.size()), n_kept = replace(later), width = rows_.size;
    lock.unlock();
    try {
      if (static_cast<Index>(aside.size()) < n_later * width) aside.resize(n_later * width);
      compute(fresh, fresh.empty() ? nullptr : row(slot_[fresh[0]]));
      compute(later, aside.data());
    } catch (...) {
      lock.lock();
      failure_ = std::current_exception();
      made_.notify_all();
      throw;
    }
    for (Index r = 0; r < n_kept; ++r) std::copy_n(aside.data() + r * width, width, row(slot_[later[r]]));
    lock.lock();
    for (Index p : fresh) slots_[slot_[p]].ready = true;
    for (Index r = 0; r < n_kept; ++r) slots_[slot_[later[r]]].ready = true;
    computed_ += fresh.size() + later.size();
    made_.notify_all();
    held.assign(at.size, nullptr);
    for (Index r = 0, l = n_kept; r < at.size && l < n_later; ++r)
      if (at[r] == later[l]) held[r] = aside.data() + l++ * width;
    for (Index r = 0; r < at.size; ++r) {
      if (held[r]) continue;
      made_.wait(lock, [&] { return failure_ || slots_[slot_[at[r]]].ready; });
      if (failure_) std::rethrow_exception(failure_);
      held[r] = row(slot_[at[r]]);
    }
  }

  // The same for rows that are there, and null for the others.
  void find(Span<const Index> at, std::vector<const T*>& held) {
    const std::lock_guard<std::mutex> lock(mutex_);
    held.assign(at.size, nullptr);
    for (Index r = 0; r < at.size; ++r)
      if (slot_[at[r]] >= 0 && slots_[slot_[at[r]]].ready) take(at[r]), held[r] = row(slot_[at[r]]);
  }

  void release(Span<const Index> at, const std::vector<const T*>& held) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (Index r = 0; r < at.size; ++r)
      if (slot_[at[r]] >= 0 && held[r] == row(slot_[at[r]])) --slots_[slot_[at[r]]].holders;
  }

 private:
  struct Slot {
    Index owner = -1, holders = 0;
    std::uint64_t used = 0;  // when it was used last, counted in uses of rows
    bool ready = false;
  };

  T* row(Index slot) const { return memory_ + slot * rows_.size; }
  void take(Index p) { ++slots_[slot_[p]].holders, slots_[slot_[p]].used = ++now_; }
  void give(Index p, Index slot) {
    slots_[slot] = Slot{p};
    slot_[p] = slot;
    take(p);
  }

  // Gives slots of rows that have gone out of use to the first of these; how many got one.
  Index replace(const std::vector<Index>& these) {
    std::size_t n = 0;
    for (std::size_t s = 0; s < slots_.size() && n < these.size(); ++s) {
      if (slots_[s].holders > 0 || slots_[s].used > begun_.front()) continue;
      slot_[slots_[s].owner] = -1;
      give(these[n++], static_cast<Index>(s));
    }
    return static_cast<Index>(n);
  }

  void compute(const std::vector<Index>& these, T* out) const {
    std::vector<Index> data;
    for (Index p : these) data.push_back(rows_[p]);
    const Span<const Index> wanted{data.data(), static_cast<Index>(data.size())};
    if (wanted.size == 0) return;
    team_ ? K_.block(wanted, rows_, out, rows_.size, *team_) : K_.block(wanted, rows_, out, rows_.size);
  }

  const KernelBlocks<T>& K_;
  Span<const Index> rows_;
  T* memory_;
  Team* team_;
  std::mutex mutex_;
  std::condition_variable made_;
  std::vector<Index> slot_;  // of each row, or -1
  std::vector<Slot> slots_;
  Index filled_ = 0;
  std::vector<std::uint64_t> begun_;  // when the latest solvers began, the earliest of them first
  std::uint64_t now_ = 0, computed_ = 0;
  std::exception_ptr failure_;
};

}  // namespace polymargin
