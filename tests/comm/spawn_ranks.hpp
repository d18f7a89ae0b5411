// SPDX-License-Identifier: MIT
// Runs ranks as threads of the test's process.
#pragma once

#include <exception>
#include <functional>
#include <thread>
#include <vector>

namespace gangway::comm {

/// Runs `body(rank)` for ranks 0..size-1, each on a thread. Rethrows the first failure, by rank,
/// after all threads have ended.
inline void spawn_ranks(int size, const std::function<void(int)>& body) {
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(size));
  {
    std::vector<std::jthread> ranks;
    for (int rank = 0; rank < size; ++rank) {
      ranks.emplace_back([&, rank] {
        try {
          body(rank);
        } catch (...) {
          failures[static_cast<std::size_t>(rank)] = std::current_exception();
        }
      });
    }
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure) {
      std::rethrow_exception(failure);
    }
  }
}

}  // namespace gangway::comm
