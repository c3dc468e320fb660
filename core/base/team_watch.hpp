// A watch that all threads of a team look at. Only the one that made it may ask the caller: signals arrive there.
#pragma once
#include <atomic>
#include <thread>

#include "base/watch.hpp"

namespace polymargin {

class TeamWatch {
 public:
  explicit TeamWatch(const Settings& settings) : watch_(settings) {}

  // Whether to stop: a limit is reached, or the caller wants it. No step is counted, and no violation is known.
  bool operator()() {
    const bool is_caller = std::this_thread::get_id() == caller_;
    if (!halted_ && (is_caller ? watch_.halted(state_, kUnknown, 0) : watch_.late())) halted_ = true;
    return halted_;
  }
  bool halted() const { return halted_; }
  // How a run ended that would have ended like this.
  Status status(Status without = Status::solved) const {
    if (!halted_) return without;
    return state_.status == Status::solved ? Status::time_limit : state_.status;  // another thread saw the time
  }

 private:
  static constexpr double kUnknown = 2;
  Watch watch_;
  Solution state_;
  const std::thread::id caller_ = std::this_thread::get_id();
  std::atomic<bool> halted_{false};
};

}  // namespace polymargin
