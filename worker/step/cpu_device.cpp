// SPDX-License-Identifier: MIT
#include "worker/step/compute_device.hpp"
#include "worker/step/host_sync.hpp"

namespace gangway::worker {

std::unique_ptr<NetworkSync> CpuDevice::make_sync(NetworkState& state, int network,
                                                  const ExchangeSetup& setup, int worker) {
  const WireSpec& wire = job_.numerics.wire;
  return std::make_unique<HostSync>(state, network, setup, worker,
                                    network == 0 ? wire.generator : wire.discriminator);
}

}  // namespace gangway::worker
