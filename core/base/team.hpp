// Threads that share numbered tasks. A job is over when its tasks are: a thread that the system is not running at the
// moment takes no task and delays nobody, so a loaded machine costs no more than it must. (An OpenMP region ends only
// after every one of its threads has been there.)
#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/data.hpp"

namespace polymargin {

class Team {
 public:
  // Never more threads than the machine runs at once or the system grants. They are started
  // when there is work for them: most fits and predictions of a hundred rows have none.
  explicit Team(int threads) : size_(threads) {
    if (threads < 1) throw std::invalid_argument("n_jobs must be at least 1, got " + std::to_string(threads));
    size_ = std::min(threads, std::max(64, static_cast<int>(std::thread::hardware_concurrency())));
  }
  ~Team() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      quit_ = true;
      ++n_jobs_;
    }
    wake_.notify_all();
    for (std::thread& helper : helpers_) helper.join();
  }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int size() const { return size_; }

  // task(0), ..., task(n - 1), each once, by whoever is free, or by the caller `alone` where threads are not worth it;
  // the first exception is thrown again here. While the caller has nothing to do but wait for the others, it calls
  // `meanwhile` now and then. Not reentrant.
  void run(Index n, const std::function<void(Index)>& task, bool alone = false,
           const std::function<void()>& meanwhile = {}) {
    alone = alone || n < 2;
    if (!alone && size_ > 1 && helpers_.empty()) start();
    if (alone || helpers_.empty()) {
      for (Index k = 0; k < n; ++k) task(k);
      return;
    }
    std::unique_lock<std::mutex> lock(mutex_);
    task_ = &task;
    next_ = 0;
    n_ = n;
    ++n_jobs_;
    lock.unlock();
    wake_.notify_all();
    lock.lock();
    work(lock);
    const auto over = [this] { return busy_ == 0; };
    while (meanwhile && !done_.wait_for(lock, std::chrono::milliseconds(50), over))
      if (!error_) attempt(lock, meanwhile);
    done_.wait(lock, over);
    task_ = nullptr;
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }

  // task(begin, end) for all of 0, ..., n - 1, `part` of them at a time.
  template <class Task>
  void parts(Index n, Index part, const Task& task, bool alone = false) {
    run((n + part - 1) / part, [&](Index k) { task(k * part, std::min(n, (k + 1) * part)); }, alone);
  }

 private:
  void start() {
    try {
      for (int k = 1; k < size_; ++k) helpers_.emplace_back([this] { help(); });
    } catch (const std::system_error&) {
    }
    size_ = 1 + static_cast<int>(helpers_.size());
  }

  void work(std::unique_lock<std::mutex>& lock) {
    while (task_ && next_ < n_) {
      const Index k = next_++;
      const auto& task = *task_;
      ++busy_;
      attempt(lock, [&] { task(k); });
      if (--busy_ == 0 && next_ >= n_) done_.notify_one();
    }
  }
  // Without the lock; no task is begun after an exception.
  template <class Call>
  void attempt(std::unique_lock<std::mutex>& lock, const Call& call) {
    lock.unlock();
    std::exception_ptr error;
    try {
      call();
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    if (error) error_ = error, next_ = n_;
  }

  void help() {
    std::uint64_t seen = 0;
    for (;;) {
      // Jobs come in quick succession: watch for the next one a little before going to sleep.
      for (int k = 0; k < 4000 && n_jobs_.load(std::memory_order_relaxed) == seen; ++k) pause();
      std::unique_lock<std::mutex> lock(mutex_);
      wake_.wait(lock, [&] { return n_jobs_.load(std::memory_order_relaxed) != seen; });
      seen = n_jobs_.load(std::memory_order_relaxed);
      if (quit_) return;
      work(lock);
    }
  }

  static void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }

  std::mutex mutex_;
  std::condition_variable wake_, done_;
  std::atomic<std::uint64_t> n_jobs_{0};
  const std::function<void(Index)>* task_ = nullptr;
  Index next_ = 0, n_ = 0;
  int busy_ = 0;
  bool quit_ = false;
  std::exception_ptr error_;
  int size_;  // with the caller
  std::vector<std::thread> helpers_;
};

}  // namespace polymargin
