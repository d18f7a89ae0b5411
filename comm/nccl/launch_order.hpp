// SPDX-License-Identifier: MIT
// In which order the buckets of one network are launched: always that of the plan, whatever order
// their gradients become ready in, because NCCL pairs operations by their order. Pure.
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

  /// Starts a phase: no bucket is ready. @throws InvariantError if the last one is not launched.
  void open();
  [[nodiscard]] bool is_ready(std::size_t bucket) const {
    return ready_[bucket].load(std::memory_order_relaxed);
  }
  /// What the launching thread needs for `bucket` is in place. @pre a phase is open
  void ready(std::size_t bucket) { ready_[bucket].store(true, std::memory_order_release); }

  // --- launching thread ---

  /// The next bucket to be launched, if it is ready.
  [[nodiscard]] std::optional<std::size_t> next() const;
  /// `next` lies on its stream.
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
