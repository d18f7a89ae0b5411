// SPDX-License-Identifier: MIT
// How an NcclSession is set up.
#pragma once

#include <chrono>
#include <vector>

#include <nccl.h>

namespace gangway::comm {

/// kNonBlocking: no call of NCCL can hang its caller; in NCCL 2.28 each group then costs the
/// start of a thread. kBlocking: groups are launched by the caller, which can hang until the
/// watchdog aborts.
enum class NcclCalls { kNonBlocking, kBlocking };

struct NcclSetup {
  ncclUniqueId id{};
  int worker = 0;
  int num_workers = 1;
  std::vector<int> group = {};  ///< numbers among all workers, where these are not all of them
  int device = 0;
  int max_ctas = 8;  ///< of NCCL's kernels: the backward pass beside them keeps its multiprocessors
  NcclCalls calls = NcclCalls::kNonBlocking;
  std::chrono::milliseconds timeout{60'000};  ///< of launches and operations
  /// Of initialisation, in which libraries of gigabytes may still come from a disk.
  std::chrono::milliseconds meeting_timeout{120'000};
  std::chrono::milliseconds abort_timeout{10'000};
};

}  // namespace gangway::comm
