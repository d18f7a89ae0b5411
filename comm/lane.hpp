// SPDX-License-Identifier: MIT
// The one thread of a worker that communicates. The compute thread submits tasks, which run in
// order, and waits for them where it needs their result; between tasks the lane pumps the control
// messages that share its thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace gangway::comm {

class Lane {
 public:
  using Task = std::function<void()>;
  using Ticket = std::uint64_t;

  /// @param pump  called after every task, on the lane's thread, and every `idle_period` where
  /// there is none
  explicit Lane(Task pump, std::chrono::microseconds idle_period = std::chrono::microseconds(500));
  /// Ends after the task in hand; tasks not begun are dropped.
  ~Lane();
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  /// Any thread. Never waits.
  Ticket submit(Task task);
  /// Waits until the task of `ticket` and all before it have ended. Rethrows the first failure of
  /// any task: after one, no further task runs.
  void wait(Ticket ticket);
  /// Has the pump run soon; any thread.
  void wake();

 private:
  void run(const std::stop_token& stop);
  /// Runs `body` and keeps its exception if it is the lane's first.
  void attempt(const Task& body);

  Task pump_;
  std::chrono::microseconds idle_period_;
  std::mutex mutex_;  // guards the six below
  std::condition_variable_any changed_;
  std::condition_variable finished_changed_;
  std::deque<Task> tasks_;
  Ticket submitted_ = 0;
  Ticket finished_ = 0;
  bool woken_ = false;
  std::exception_ptr failure_;
  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace gangway::comm
