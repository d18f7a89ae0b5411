// SPDX-License-Identifier: MIT
#include <malloc.h>

#include "worker/pass/host_carrier.hpp"
#include "worker/step/absent_exchange.hpp"
#include "worker/step/compute_device.hpp"
#include "worker/step/cpu_exchange.hpp"

namespace gangway::worker {

void CpuDevice::place(NetworkState& network, std::optional<MicrobatchRange> own,
                      comm::HostMemory& host) {
  partials_.emplace(
      &network, comm::PartialStack(host, network.layout().size(), own.value_or(MicrobatchRange{}),
                                   job_.training.microbatches, network.parts()));
}

NetworkExchanges CpuDevice::connect(const PerNetwork<NetworkState*>& networks,
                                    const ExchangeSetup& setup) {
  NetworkExchanges exchanges;
  for (const NetworkId network : networks.ids()) {
    NetworkState& state = *networks[network];
    const ExchangeSetup* const own = setup.of(network);
    if (own == nullptr) {
      exchanges.add(std::make_unique<AbsentExchange>());
      continue;
    }
    exchanges.add(
        std::make_unique<CpuExchange>(CpuExchangeSetup{.state = state,
                                                       .network = network,
                                                       .exchange = *own,
                                                       .wire = job_.networks[network].wire},
                                      std::move(partials_.extract(&state).mapped())));
  }
  return exchanges;
}

// Asks the heap, because LibTorch does not count CPU memory unless every request is watched.
void CpuDevice::tell_memory(messages::MemoryFigures& figures) const {
  const struct mallinfo2 heap = ::mallinfo2();
  figures.allocated_bytes = heap.uordblks + heap.hblkhd;
  figures.reserved_bytes = heap.arena + heap.hblkhd;
}

std::unique_ptr<TensorCarrier> CpuDevice::make_carrier(const CarrierSetup& setup) {
  return std::make_unique<HostCarrier>(setup);
}

}  // namespace gangway::worker
