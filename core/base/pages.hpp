// Large arrays in pages of their own, which go back to the system when they are freed. malloc keeps what a thread has
// freed for that thread, so that fits side by side would hold what each of them has used at its peak.
#pragma once
#include <cstddef>
#include <memory>
#include <new>

#if defined(__unix__) || defined(__APPLE__)
#include <sys/mman.h>
#define POLYMARGIN_MMAP 1
#endif

namespace polymargin {

constexpr std::align_val_t kCacheLine{64};  // where every array begins: vectors then lie in as few lines as they can

struct FreePages {
  std::size_t mapped = 0;  // bytes; 0: from new
  void operator()(void* p) const noexcept {
#ifdef POLYMARGIN_MMAP
    if (mapped > 0) {
      munmap(p, mapped);
      return;
    }
#endif
    ::operator delete(p, kCacheLine);
  }
};

template <class T>
using Pages = std::unique_ptr<T[], FreePages>;

// n values, uninitialized: a page is taken when it is written to. `huge`: all of them will be, so that large pages pay.
template <class T>
Pages<T> pages(std::size_t n, [[maybe_unused]] bool huge = false) {
  const std::size_t bytes = n * sizeof(T);
#ifdef POLYMARGIN_MMAP
  constexpr std::size_t kSmall = 1 << 21;  // fresh pages cost more than the values of such an array
  if (bytes >= kSmall) {
    void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
    if (p == MAP_FAILED) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
    if (huge) madvise(p, bytes, MADV_HUGEPAGE);
#endif
    return Pages<T>(static_cast<T*>(p), FreePages{bytes});
  }
#endif
  return Pages<T>(static_cast<T*>(::operator new(bytes, kCacheLine)), FreePages{});
}

// Room for values that are all written to. It stays for the next ones; where it must grow, what was there is lost.
template <class T>
class Room {
 public:
  T* at_least(std::size_t n) {
    if (size_ < n) {
      values_.reset();
      values_ = pages<T>(n, true), size_ = n;
    }
    return values_.get();
  }
  T* data() const { return values_.get(); }
  T& operator[](std::size_t i) const { return values_[i]; }

 private:
  Pages<T> values_;
  std::size_t size_ = 0;
};

}  // namespace polymargin
