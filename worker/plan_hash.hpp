// SPDX-License-Identifier: MIT
// Hashes everything that workers must have in common before they exchange data. Compared by the
// workers of a host when they map each other's memory, and by the coordinator before the first
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

/// The layout of a job's exchange.
struct ExchangePlan {
  /// By network: names, sizes and places of tensors, buckets, slices.
  std::vector<const comm::BucketPlan*> networks;
  const Layout& layout;
  std::span<const int> hosts;          ///< by worker: equal where memory is shared
  std::span<const int> machines = {};  ///< by worker: equal where it could be
  std::string_view device = "cpu";     ///< ComputeDevice::kind()
};

/// Returns the hash of `plan` and of these settings of the job: order of elements and sums, number
/// of micro-batches, wire format, kernels, messages to send.
[[nodiscard]] std::uint64_t plan_hash(const ExchangePlan& plan, const Job& job);

}  // namespace gangway::worker
