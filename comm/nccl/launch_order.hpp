// SPDX-License-Identifier: MIT
// Orders the launches of one network's buckets: always the plan's order, for any order of ready
// gradients, because NCCL pairs operations by order. Thread-safe as marked below.
#pragma once

#include <atomic>
#include <cstddef>
#include <optional>
#include <vector>

namespace gangway::comm {

class LaunchOrder {
 public:
  explicit LaunchOrder(std::size_t num_buckets) : ready_(num_buckets), launched_(num_buckets) {}

  // --- compute thread ---

  /// Starts a phase with no bucket ready. @throws InvariantError unless the last phase is launched.
  void open();
  [[nodiscard]] bool is_ready(std::size_t bucket) const {
    return ready_[bucket].load(std::memory_order_relaxed);
  }
  /// Marks the inputs of `bucket` as in place. @pre a phase is open
  void ready(std::size_t bucket) { ready_[bucket].store(true, std::memory_order_release); }

  // --- launching thread ---

  /// The next bucket to launch, if it is ready.
  [[nodiscard]] std::optional<std::size_t> next() const;
  /// Marks the bucket of `next` as launched.
  void launched() { launched_.fetch_add(1, std::memory_order_release); }

  // --- any thread ---

  [[nodiscard]] std::size_t num_launched() const {
    return launched_.load(std::memory_order_acquire);
  }
  [[nodiscard]] bool all_launched() const { return num_launched() == ready_.size(); }

 private:
  std::vector<std::atomic<bool>> ready_;
  std::atomic<std::size_t> launched_;
};

}  // namespace gangway::comm
