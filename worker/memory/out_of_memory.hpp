// SPDX-License-Identifier: MIT
// Tells that memory has run out, of LibTorch's or of anybody's, from other failures, and what to
// do. Installed by a worker's main() before anything computes; asked where its exceptions end.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <optional>
#include <string>

#include "job/layout/layout.hpp"
#include "job/spec.hpp"

namespace gangway::worker {

/// What LibTorch's allocator for CPUs could not give. Any thread.
///
/// It throws a c10::Error like any other: nothing but its text would tell it. So what fails is
/// noted where it is asked for.
class FailedRequests {
 public:
  void add(std::size_t bytes) noexcept;
  /// 0: none has failed.
  [[nodiscard]] std::size_t largest() const noexcept { return largest_; }

 private:
  std::atomic<std::size_t> largest_ = 0;
};

/// From now on LibTorch's requests for memory of the CPU are watched, until the process ends.
/// @pre called once, before tensors are made
[[nodiscard]] const FailedRequests& watch_requests();

/// One line, where `error` comes of want of memory: what is resident, the largest request that
/// failed, and what to try next. Nothing where it is another failure.
[[nodiscard]] std::optional<std::string> out_of_memory(const std::exception& error,
                                                       const FailedRequests& requests,
                                                       const Job& job, const Layout& layout);

}  // namespace gangway::worker
