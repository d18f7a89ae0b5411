// SPDX-License-Identifier: MIT
#include "comm/lane.hpp"

namespace gangway::comm {

Lane::Lane(Task pump, std::chrono::microseconds idle_period)
    : pump_(std::move(pump)),
      idle_period_(idle_period),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

Lane::~Lane() {
  thread_.request_stop();
  changed_.notify_all();
}

Lane::Ticket Lane::submit(Task task) {
  const std::scoped_lock lock(mutex_);
  tasks_.push_back(std::move(task));
  changed_.notify_one();
  return ++submitted_;
}

void Lane::wait(Ticket ticket) {
  std::unique_lock lock(mutex_);
  finished_changed_.wait(lock, [&] { return finished_ >= ticket || failure_ != nullptr; });
  if (failure_ != nullptr) {
    std::rethrow_exception(failure_);
  }
}

void Lane::wake() {
  const std::scoped_lock lock(mutex_);
  woken_ = true;
  changed_.notify_one();
}

void Lane::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    Task task;
    {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, stop, idle_period_,
                        [&] { return woken_ || (!tasks_.empty() && failure_ == nullptr); });
      woken_ = false;
      if (!tasks_.empty() && failure_ == nullptr) {
        task = std::move(tasks_.front());
        tasks_.pop_front();
      }
    }
    if (task) {
      attempt(task);
      const std::scoped_lock lock(mutex_);
      ++finished_;
      finished_changed_.notify_all();
    }
    attempt(pump_);  // after every task too: a lane that is never idle must not silence the control
                     // messages
  }
}

void Lane::attempt(const Task& body) {
  try {
    body();
  } catch (...) {
    const std::scoped_lock lock(mutex_);
    if (failure_ == nullptr) {  // later ones are mostly consequences of the first
      failure_ = std::current_exception();
    }
    finished_changed_.notify_all();
  }
}

}  // namespace gangway::comm
