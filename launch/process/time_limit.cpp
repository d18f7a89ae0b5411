// SPDX-License-Identifier: MIT
#include "launch/process/time_limit.hpp"

#include <algorithm>
#include <csignal>

#include <unistd.h>

namespace gangway::launch {

TimeLimit::TimeLimit(std::chrono::duration<double> limit)
    : end_(begin_ + std::chrono::duration_cast<Clock::duration>(limit)), thread_([this] {
        if (!ended_.try_acquire_until(end_)) {
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
