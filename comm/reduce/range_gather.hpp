// SPDX-License-Identifier: MIT
// Gathers data spread over the owners of slices (moments, averages) at the workers that need it
// whole: at one writer per tensor for a checkpoint, at worker 0 for pictures. Lane thread only.
#pragma once

#include <chrono>
#include <vector>

#include "comm/arena/arena.hpp"
#include "comm/arena/bucket_plan.hpp"
#include "comm/transport/transport.hpp"

namespace gangway::comm {

struct GatherRequest {
  int network = 0;
  int part = 0;  ///< distinguishes the arenas of one gather
  const BucketPlan* plan = nullptr;
  Arena* arena = nullptr;            ///< before: own slices valid; after: also wanted[own worker]
  std::vector<ElementRange> wanted;  ///< by worker; need not be aligned
  std::chrono::milliseconds timeout{60'000};
};

/// Every worker calls it with equal plan and `wanted`. @throws CommError naming the silent worker.
void gather_ranges(Transport& transport, const GatherRequest& request);

}  // namespace gangway::comm
