// SPDX-License-Identifier: MIT
// What waits for the disk, beside the event loop: a disk that is slow or hangs keeps nobody from
// training. Owned by the event loop and used on its thread.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <thread>

namespace gangway::coordinator {

class DiskThread {
 public:
  /// What follows from finished work, on the thread that calls poll().
  using Follow = std::function<void()>;
  /// Runs on the disk's thread; must not throw, and must not refer to what may end before it does.
  using Work = std::function<Follow()>;

  DiskThread();
  /// Waits for nothing: a thread that a dead disk holds ends with the process.
  ~DiskThread();
  DiskThread(const DiskThread&) = delete;
  DiskThread& operator=(const DiskThread&) = delete;

  /// One after the other, in this order.
  void submit(Work work);
  /// Waits for the end of all that was submitted, at most for `limit`. Calls nothing.
  void finish(std::chrono::milliseconds limit);
  /// Calls what follows from the work that has ended since the last call. Never waits.
  void poll();

 private:
  struct State;
  std::shared_ptr<State> state_;  // shared with the thread, which may outlive this
  std::jthread thread_;
};

}  // namespace gangway::coordinator
