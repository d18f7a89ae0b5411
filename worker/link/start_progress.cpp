// SPDX-License-Identifier: MIT
#include "worker/link/start_progress.hpp"

#include <pthread.h>

namespace gangway::worker {

StartProgress::StartProgress() {
  is_over_ = ::pthread_getcpuclockid(::pthread_self(), &clock_) != 0;
}

bool StartProgress::gets_on() {
  timespec now{};
  if (is_over_ || ::clock_gettime(clock_, &now) != 0) {
    return false;
  }
  const bool has_moved = now.tv_sec != used_.tv_sec || now.tv_nsec != used_.tv_nsec;
  used_ = now;
  return has_moved;
}

}  // namespace gangway::worker
