// SPDX-License-Identifier: MIT
// Distinguishes failures for lack of memory, of LibTorch or any allocator, from others, and advises
// what to do. Called by a worker's main(): before anything computes, and where exceptions end.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <optional>
#include <string>

#include "job/layout/layout.hpp"
#include "job/spec.hpp"

namespace gangway::worker {

/// Records requests that LibTorch's CPU allocator could not meet. Any thread.
///
/// The allocator throws a plain c10::Error, recognisable only by its text. So the failure is
/// recorded at the request.
class FailedRequests {
 public:
  void add(std::size_t bytes) noexcept;
  /// Returns the largest failed request in bytes; 0: none has failed.
  [[nodiscard]] std::size_t largest() const noexcept { return largest_; }

 private:
  std::atomic<std::size_t> largest_ = 0;
};

/// Watches LibTorch's requests for CPU memory from now on, until the process ends.
/// @pre called once, before tensors are made
[[nodiscard]] const FailedRequests& watch_requests();

/// Returns one line if `error` is a lack of memory: resident memory, the largest failed request,
/// and what to try next. Nothing if it is another failure.
[[nodiscard]] std::optional<std::string> out_of_memory(const std::exception& error,
                                                       const FailedRequests& requests,
                                                       const Job& job, const Layout& layout);

}  // namespace gangway::worker
