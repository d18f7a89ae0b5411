// SPDX-License-Identifier: MIT
// Makes the exchange setup of each network: of all workers, or, if networks are apart, of the group
// that holds the network or the same chunk. Compute thread.
#pragma once

#include <memory>
#include <vector>

#include "comm/transport/group_transport.hpp"
#include "job/layout/layout.hpp"
#include "worker/step/network_exchange.hpp"

namespace gangway::worker {

class GroupSetups {
 public:
  /// @param world  setup of all workers; the objects that it refers to outlive this
  GroupSetups(ExchangeSetup world, const Layout& groups);

  /// Returns the setup of all workers, with each network's own inside (ExchangeSetup::of).
  [[nodiscard]] const ExchangeSetup& all() const { return world_; }

 private:
  /// Setup of a group of workers.
  struct Group {
    comm::GroupTransport transport;
    comm::HostGroup host;
    ExchangeSetup setup;
    /// @param chunk  of `network`, shared by the group
    Group(const ExchangeSetup& world, const NetworkGroup& network, ChunkIndex chunk);

   private:
    Group(const ExchangeSetup& world, const NetworkGroup& group);
  };
  ExchangeSetup world_;
  std::vector<std::unique_ptr<Group>> groups_;
};

}  // namespace gangway::worker
