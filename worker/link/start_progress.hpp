// SPDX-License-Identifier: MIT
// Tells whether a worker makes progress before its Ready: it lists data, reads files, builds
// networks. No fixed deadline fits every file system. But a thread that progresses uses processor
// time, and a thread that hangs uses none. Made by the compute thread, read by the lifeline's
// thread.
#pragma once

#include <atomic>
#include <ctime>

namespace gangway::worker {

class StartProgress {
 public:
  /// Watches the calling thread, which must outlive this.
  StartProgress();
  /// Returns whether the thread has used processor time since the last call. One thread.
  [[nodiscard]] bool gets_on();
  /// Ends the watch when Ready is sent.
  void finish() { is_over_ = true; }

 private:
  clockid_t clock_ = 0;
  timespec used_ = {};
  std::atomic<bool> is_over_ = false;
};

}  // namespace gangway::worker
