// SPDX-License-Identifier: MIT
// The settings of an NcclSession.
#pragma once

#include <chrono>
#include <vector>

#include <nccl.h>

namespace gangway::comm {

/// kNonBlocking: NCCL calls never hang the caller, but in NCCL 2.28 each group starts a thread.
/// kBlocking: the caller launches groups, and may hang until the watchdog aborts.
enum class NcclCalls { kNonBlocking, kBlocking };

struct NcclSetup {
  ncclUniqueId id{};
  int worker = 0;
  int num_workers = 1;
  std::vector<int> group = {};  ///< indices among all workers, if these are not all
  int device = 0;
  int max_ctas = 8;  ///< of NCCL's kernels (layout.nccl_ctas)
  NcclCalls calls = NcclCalls::kNonBlocking;
  std::chrono::milliseconds timeout{60'000};  ///< of launches and operations
  /// Timeout of initialisation, during which gigabytes of libraries may load from disk.
  std::chrono::milliseconds meeting_timeout{120'000};
  std::chrono::milliseconds abort_timeout{10'000};
};

}  // namespace gangway::comm
