// SPDX-License-Identifier: MIT
#include "coordinator/io/disk_thread.hpp"

#include <condition_variable>
#include <deque>
#include <utility>

#include "base/guarded.hpp"
#include "base/system/thread_name.hpp"

namespace gangway::coordinator {

struct DiskThread::State {
  Mutex mutex;
  std::condition_variable_any changed;
  std::deque<Work> waiting GANGWAY_GUARDED_BY(mutex);
  std::deque<Follow> ended GANGWAY_GUARDED_BY(mutex);
  bool is_working GANGWAY_GUARDED_BY(mutex) = false;

  void run(const std::stop_token& stop) {
    name_this_thread("disk");
    const auto has_work = [this]() GANGWAY_REQUIRES(mutex) { return !waiting.empty(); };
    MutexLock lock(mutex);
    while (changed.wait(lock, stop, has_work)) {
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
  const MutexLock lock(state_->mutex);
  state_->waiting.clear();
  if (state_->is_working) {
    thread_.detach();
  }
}

void DiskThread::submit(Work work) {
  const MutexLock lock(state_->mutex);
  state_->waiting.push_back(std::move(work));
  state_->changed.notify_all();
}

void DiskThread::finish(std::chrono::milliseconds limit) {
  MutexLock lock(state_->mutex);
  state_->changed.wait_for(lock, limit, [this]() GANGWAY_REQUIRES(state_->mutex) {
    return state_->waiting.empty() && !state_->is_working;
  });
}

void DiskThread::poll() {
  std::deque<Follow> ended;
  {
    const MutexLock lock(state_->mutex);
    ended.swap(state_->ended);
  }
  for (const Follow& follow : ended) {
    follow();
  }
}

}  // namespace gangway::coordinator
