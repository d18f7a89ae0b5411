// SPDX-License-Identifier: MIT
// A failure that one peer is accused of: waited for in vain, dead, or sending what it may not.
// Thrown by whatever waits for a peer, mostly on the lane; told to the coordinator, who hears all
// sides, by the worker's main.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/errors.hpp"

namespace gangway::comm {

class PeerError : public CommError {
 public:
  /// @param worker  its index
  PeerError(int worker, const std::string& message) : CommError(message), worker_(worker) {}
  [[nodiscard]] int worker() const { return worker_; }

 private:
  int worker_;
};

/// What people read of a worker: rank 0 is the coordinator.
[[nodiscard]] constexpr int rank_of(int worker) { return worker + 1; }

/// "rank 2 waited 60.0 s for rank 3 (a tensor of step 4); is it alive, …": of workers.
[[nodiscard]] std::string silence_text(int worker, double seconds, int peer, std::string_view what);

/// The worker that a failure names; nothing where it names none.
[[nodiscard]] inline std::optional<int> accused_by(const Error& error) {
  const auto* of_peer = dynamic_cast<const PeerError*>(&error);
  return of_peer != nullptr ? std::optional(of_peer->worker()) : std::nullopt;
}

}  // namespace gangway::comm
