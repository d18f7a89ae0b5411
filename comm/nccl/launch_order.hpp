// SPDX-License-Identifier: MIT
// In which order the buckets of one network are launched: always that of the plan, whatever order
// their gradients become ready in, because NCCL pairs operations by their order. Pure; one thread at
// a time.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace gangway::comm {

class LaunchOrder {
 public:
  explicit LaunchOrder(std::size_t num_buckets) : ready_(num_buckets) {}

  /// Starts a phase: no bucket is ready. @throws InvariantError if the last phase is not launched.
  void begin();
  /// @throws InvariantError if no phase is open or the bucket was ready already.
  void ready(std::size_t bucket);
  /// No gradient will come any more: what is not ready travels as it is (zeros where no gradient
  /// fired). Returns how many buckets that were.
  std::size_t close();
  /// The next bucket to be launched, if it is ready; it counts as launched then.
  [[nodiscard]] std::optional<std::size_t> next();

  [[nodiscard]] bool is_open() const { return state_ == State::kOpen; }
  [[nodiscard]] bool is_closed() const { return state_ == State::kClosed; }
  [[nodiscard]] bool all_launched() const { return launched_ == ready_.size(); }

 private:
  enum class State { kIdle, kOpen, kClosed };
  std::vector<bool> ready_;
  std::size_t launched_ = 0;
  State state_ = State::kIdle;
};

}  // namespace gangway::comm
