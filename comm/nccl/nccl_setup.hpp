// SPDX-License-Identifier: MIT
// How an NcclSession is set up.
#pragma once

#include <chrono>
#include <optional>

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
  std::optional<int> known_as = {};  ///< its number among all workers, where these are a group
  /// Of two, the other's number among all workers: whom they accuse who wait in vain.
  std::optional<int> other = {};
  int device = 0;
  int max_ctas = 8;  ///< of NCCL's kernels: the backward pass beside them keeps its multiprocessors
  NcclCalls calls = NcclCalls::kNonBlocking;
  std::chrono::milliseconds timeout{60'000};  ///< of launches and operations
  /// Of initialisation, in which libraries of gigabytes may still come from a disk.
  std::chrono::milliseconds meeting_timeout{120'000};
  std::chrono::milliseconds abort_timeout{10'000};
};

}  // namespace gangway::comm
