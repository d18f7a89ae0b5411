// SPDX-License-Identifier: MIT
// A failure that accuses one peer: it is silent, dead, or sent invalid data. Thrown by waits for a
// peer, mostly on the lane. The worker's main reports it to the coordinator, which compares all
// workers' reports. Any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/errors.hpp"
#include "base/index.hpp"

namespace gangway::comm {

class PeerError : public CommError {
 public:
  /// @param worker  the accused
  PeerError(WorkerIndex worker, const std::string& message) : CommError(message), worker_(worker) {}
  [[nodiscard]] WorkerIndex worker() const { return worker_; }

 private:
  WorkerIndex worker_;
};

/// Text: "rank 2 waited 60.0 s for rank 3 (a tensor of step 4); is it alive, …".
[[nodiscard]] std::string silence_text(WorkerIndex worker, double seconds, WorkerIndex peer,
                                       std::string_view what);

/// The worker that a failure accuses; none if it accuses no worker.
[[nodiscard]] inline std::optional<WorkerIndex> accused_by(const Error& error) {
  const auto* of_peer = dynamic_cast<const PeerError*>(&error);
  return of_peer != nullptr ? std::optional(of_peer->worker()) : std::nullopt;
}

}  // namespace gangway::comm
