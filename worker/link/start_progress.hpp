// SPDX-License-Identifier: MIT
// Whether a worker gets on with what comes before its Ready: it lists the data, reads files, builds
// networks. How long that takes is the file system's matter and no fixed time is right; but each
// call that returns costs the thread some of a processor, and a call that hangs costs none. Made by
// the compute thread, asked by the lifeline's.
#pragma once

#include <atomic>
#include <ctime>

namespace gangway::worker {

class StartProgress {
 public:
  /// Of the calling thread, which has to outlive this.
  StartProgress();
  /// It has used a processor since this was asked last. One thread.
  [[nodiscard]] bool gets_on();
  /// Ready: from now on nothing is said.
  void finish() { is_over_ = true; }

 private:
  clockid_t clock_ = 0;
  timespec used_ = {};
  std::atomic<bool> is_over_ = false;
};

}  // namespace gangway::worker
