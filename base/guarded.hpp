// SPDX-License-Identifier: MIT
// Annotated mutexes: the test `unit.thread_safety` refuses code that touches a guarded member
// without its mutex. Clang's -Wthread-safety does the analysis; it needs annotations that the
// standard library's mutexes lack. Under GCC the macros are empty.
//
// Mark a member GANGWAY_GUARDED_BY(mutex_). Mark a function that is called under the mutex, or a
// wait's predicate, GANGWAY_REQUIRES(mutex_). Constructors and destructors are not checked.
#pragma once

#include <mutex>

#if defined(__clang__)
#define GANGWAY_THREAD_SAFETY(...) __attribute__((__VA_ARGS__))
#else
#define GANGWAY_THREAD_SAFETY(...)
#endif
#define GANGWAY_GUARDED_BY(mutex) GANGWAY_THREAD_SAFETY(guarded_by(mutex))
#define GANGWAY_REQUIRES(...) GANGWAY_THREAD_SAFETY(requires_capability(__VA_ARGS__))
#define GANGWAY_ACQUIRES(...) GANGWAY_THREAD_SAFETY(acquire_capability(__VA_ARGS__))
#define GANGWAY_RELEASES(...) GANGWAY_THREAD_SAFETY(release_capability(__VA_ARGS__))
/// The function returns true if it has taken the mutex. Its own body is not checked.
#define GANGWAY_TRIES(...) GANGWAY_THREAD_SAFETY(try_acquire_capability(true, __VA_ARGS__))
/// Marks a function that the analysis cannot follow; a comment there says why it is right.
#define GANGWAY_NOT_CHECKED GANGWAY_THREAD_SAFETY(no_thread_safety_analysis)

namespace gangway {

/// std::mutex, annotated. Has the standard's method names, so that standard templates accept it.
class GANGWAY_THREAD_SAFETY(capability("mutex")) Mutex {
 public:
  void lock() GANGWAY_ACQUIRES() { mutex_.lock(); }
  void unlock() GANGWAY_RELEASES() { mutex_.unlock(); }
  [[nodiscard]] bool try_lock() GANGWAY_THREAD_SAFETY(try_acquire_capability(true)) {
    return mutex_.try_lock();
  }

 private:
  friend class MutexLock;
  std::mutex mutex_;
};

/// Holds a mutex for a scope, like std::unique_lock. Both condition variables of the standard
/// library accept it.
class GANGWAY_THREAD_SAFETY(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) GANGWAY_ACQUIRES(mutex) : lock_(mutex.mutex_) {}
  /// Takes over a mutex that the caller holds already.
  MutexLock(Mutex& mutex, std::adopt_lock_t /*held*/) GANGWAY_REQUIRES(mutex)
      : lock_(mutex.mutex_, std::adopt_lock) {}
  ~MutexLock() GANGWAY_RELEASES() = default;
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void lock() GANGWAY_ACQUIRES() { lock_.lock(); }
  void unlock() GANGWAY_RELEASES() { lock_.unlock(); }
  /// For std::condition_variable, which accepts no other lock.
  operator std::unique_lock<std::mutex>&() { return lock_; }

 private:
  std::unique_lock<std::mutex> lock_;
};

}  // namespace gangway
