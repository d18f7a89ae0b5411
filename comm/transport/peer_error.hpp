// SPDX-License-Identifier: MIT
// A failure that accuses one peer: it is silent, dead, or sent invalid data. Thrown by waits for a
// peer, mostly on the lane. The worker's main reports it to the coordinator, which compares all
// workers' reports. Any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/errors.hpp"

namespace gangway::comm {

class PeerError : public CommError {
 public:
  /// @param worker  the accused worker's index
  PeerError(int worker, const std::string& message) : CommError(message), worker_(worker) {}
  [[nodiscard]] int worker() const { return worker_; }

 private:
  int worker_;
};

/// The rank that messages name for a worker; rank 0 is the coordinator.
[[nodiscard]] constexpr int rank_of(int worker) { return worker + 1; }

/// Text: "rank 2 waited 60.0 s for rank 3 (a tensor of step 4); is it alive, …". Takes workers.
[[nodiscard]] std::string silence_text(int worker, double seconds, int peer, std::string_view what);

/// The worker that a failure accuses; none if it accuses no worker.
[[nodiscard]] inline std::optional<int> accused_by(const Error& error) {
  const auto* of_peer = dynamic_cast<const PeerError*>(&error);
  return of_peer != nullptr ? std::optional(of_peer->worker()) : std::nullopt;
}

}  // namespace gangway::comm
