// SPDX-License-Identifier: MIT
// With whom this worker exchanges each network: all workers, or where networks are apart those that
// hold it, or its chunk of it, as a world of their own. Compute thread.
#pragma once

#include <memory>
#include <vector>

#include "comm/transport/group_transport.hpp"
#include "job/layout/layout.hpp"
#include "worker/step/network_exchange.hpp"

namespace gangway::worker {

class GroupSetups {
 public:
  /// @param world  of all workers; what it refers to outlives this
  GroupSetups(ExchangeSetup world, const Layout& groups);

  /// Of all workers, with each network's own inside (ExchangeSetup::of).
  [[nodiscard]] const ExchangeSetup& all() const { return world_; }

 private:
  /// Of workers that are not all.
  struct Group {
    comm::GroupTransport transport;
    comm::HostGroup host;
    ExchangeSetup setup;
    /// @param chunk  of `network` that they share
    Group(const ExchangeSetup& world, const NetworkGroup& network, int chunk);

   private:
    Group(const ExchangeSetup& world, const NetworkGroup& group);
  };
  ExchangeSetup world_;
  std::vector<std::unique_ptr<Group>> groups_;
};

}  // namespace gangway::worker
