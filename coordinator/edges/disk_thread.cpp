// SPDX-License-Identifier: MIT
#include "coordinator/edges/disk_thread.hpp"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

namespace gangway::coordinator {

struct DiskThread::State {
  std::mutex mutex;  // guards all below
  std::condition_variable_any changed;
  std::deque<Work> waiting;
  std::deque<Follow> ended;
  bool is_working = false;

  void run(const std::stop_token& stop) {
    std::unique_lock lock(mutex);
    while (changed.wait(lock, stop, [this] { return !waiting.empty(); })) {
      const Work work = std::move(waiting.front());
      waiting.pop_front();
      is_working = true;
      lock.unlock();
      Follow follow = work();
      lock.lock();
      is_working = false;
      ended.push_back(std::move(follow));
      changed.notify_all();
    }
  }
};

DiskThread::DiskThread()
    : state_(std::make_shared<State>()),
      thread_([state = state_](const std::stop_token& stop) { state->run(stop); }) {}

DiskThread::~DiskThread() {
  thread_.request_stop();
  const std::scoped_lock lock(state_->mutex);
  state_->waiting.clear();
  if (state_->is_working) {
    thread_.detach();
  }
}

void DiskThread::submit(Work work) {
  const std::scoped_lock lock(state_->mutex);
  state_->waiting.push_back(std::move(work));
  state_->changed.notify_all();
}

void DiskThread::finish(std::chrono::milliseconds limit) {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait_for(lock, limit,
                           [this] { return state_->waiting.empty() && !state_->is_working; });
}

void DiskThread::poll() {
  std::deque<Follow> ended;
  {
    const std::scoped_lock lock(state_->mutex);
    ended.swap(state_->ended);
  }
  for (const Follow& follow : ended) {
    follow();
  }
}

}  // namespace gangway::coordinator
