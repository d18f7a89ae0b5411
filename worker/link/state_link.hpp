// SPDX-License-Identifier: MIT
// Messages between worker and coordinator about state: snapshots found, state to load, checkpoints
// saved. Part of worker/link/coordinator_link.hpp; tests use a fake.
#pragma once

#include <chrono>
#include <optional>

#include "run/messages/messages.hpp"

namespace gangway::worker {

class StateLink {
 public:
  virtual ~StateLink() = default;

  /// Sends the inventory of this host and waits for the coordinator's answer. It names the state to
  /// begin with once it has heard all workers. Compute thread.
  /// @throws StoppedByCoordinator; CommError when `limit` passes.
  [[nodiscard]] virtual messages::Begin ask_begin(const messages::Inventory& inventory,
                                                  std::chrono::milliseconds limit) = 0;

  /// Asks for another state, because not all workers could load the last one. Compute thread.
  /// @param failure  nothing: other workers failed, and report why
  /// @throws as ask_begin
  [[nodiscard]] virtual messages::Begin ask_another(
      const std::optional<messages::Unloadable>& failure, std::chrono::milliseconds limit) = 0;

  /// Sends a message that has no answer: Loading, Ready, Progress, CheckpointPart or Picture. Never
  /// waits. Any thread.
  virtual void send(const messages::Message& message) = 0;
};

}  // namespace gangway::worker
