// SPDX-License-Identifier: MIT
// One number for all that workers must have in common before they exchange anything: compared by
// the members of a host when they map each other's memory, and by the coordinator before the first
// lease. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "comm/arena/bucket_plan.hpp"
#include "comm/arena/reduction_tree.hpp"
#include "job/layout/layout.hpp"
#include "job/spec.hpp"

namespace gangway::worker {

/// How a job's exchange is laid out.
struct ExchangePlan {
  /// By network: names, sizes and places of tensors, buckets, slices.
  std::vector<const comm::BucketPlan*> networks;
  const Layout& layout;
  std::span<const int> hosts;          ///< by worker: equal where memory is shared
  std::span<const int> machines = {};  ///< by worker: equal where it could be
  std::string_view device = "cpu";     ///< kind of it
};

/// Of `plan` and of what the job says about the order of elements and of sums, the number of
/// micro-batches, the wire, the kernels, and which messages are sent.
[[nodiscard]] std::uint64_t plan_hash(const ExchangePlan& plan, const Job& job);

}  // namespace gangway::worker
