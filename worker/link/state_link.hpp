// SPDX-License-Identifier: MIT
// What a worker and the coordinator say about state: what there is to begin with, what is to be
// loaded, what was saved. A part of worker/link/coordinator_link.hpp; a fake serves in tests.
#pragma once

#include <chrono>
#include <optional>

#include "run/messages/messages.hpp"

namespace gangway::worker {

class StateLink {
 public:
  virtual ~StateLink() = default;

  /// Tells what lies on this host, and waits until the coordinator, who has heard all, says what to
  /// begin with. Compute thread.
  /// @throws StoppedByCoordinator; CommError when `limit` passes.
  [[nodiscard]] virtual messages::Begin ask_begin(const messages::Inventory& inventory,
                                                  std::chrono::milliseconds limit) = 0;

  /// The last answer could not be loaded by all: what instead? Compute thread.
  /// @param failure  nothing: others failed, and say why
  /// @throws as ask_begin
  [[nodiscard]] virtual messages::Begin ask_another(
      const std::optional<messages::Unloadable>& failure, std::chrono::milliseconds limit) = 0;

  /// So much of what this worker has to read is there. Never waits. Compute thread.
  virtual void loading(const messages::Loading& loading) = 0;

  /// This worker's file of a checkpoint is durable, or failed. Never waits. Any thread.
  virtual void checkpoint_part(const messages::CheckpointPart& part) = 0;
};

}  // namespace gangway::worker
