// SPDX-License-Identifier: MIT
// Runs disk work beside the event loop, so that a slow or hanging disk never blocks training. Owned
// by the event loop and used on its thread.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <thread>

namespace gangway::coordinator {

class DiskThread {
 public:
  /// Continuation of finished work; runs on the thread that calls poll().
  using Follow = std::function<void()>;
  /// Work for the disk's thread; must not throw or refer to objects that may end before it.
  using Work = std::function<Follow()>;

  DiskThread();
  /// Waits for nothing: a thread that a dead disk blocks ends with the process.
  ~DiskThread();
  DiskThread(const DiskThread&) = delete;
  DiskThread& operator=(const DiskThread&) = delete;

  /// Queues work; work runs one at a time, in order of submission.
  void submit(Work work);
  /// Waits until all submitted work has ended, at most for `limit`. Calls no Follow.
  void finish(std::chrono::milliseconds limit);
  /// Calls the Follow of all work that has ended since the last call. Never waits.
  void poll();

 private:
  struct State;
  std::shared_ptr<State> state_;  // shared with the thread, which may outlive this
  std::jthread thread_;
};

}  // namespace gangway::coordinator
