// SPDX-License-Identifier: MIT
#include "launch/process/time_limit.hpp"

#include <algorithm>
#include <condition_variable>
#include <csignal>
#include <stop_token>

#include <unistd.h>

#include "base/guarded.hpp"

namespace gangway::launch {

TimeLimit::TimeLimit(std::chrono::duration<double> limit)
    : end_(begin_ + std::chrono::duration_cast<Clock::duration>(limit)),
      thread_([this](const std::stop_token& stopped) {
        Mutex nobody_elses;
        std::condition_variable_any waiting;
        MutexLock lock(nobody_elses);
        if (!waiting.wait_until(lock, stopped, end_, [&] { return stopped.stop_requested(); })) {
          is_over_ = true;
          (void)::kill(::getpid(), SIGTERM);
        }
      }) {}

double TimeLimit::seconds_left() const {
  return std::max(0.0, std::chrono::duration<double>(end_ - Clock::now()).count());
}

double TimeLimit::seconds_taken() const {
  return std::chrono::duration<double>(Clock::now() - begin_).count();
}

}  // namespace gangway::launch
