// SPDX-License-Identifier: MIT
#include "worker/replica.hpp"

#include <utility>

#include "run/control_protocol.hpp"
#include "worker/plan_hash.hpp"

namespace gangway::worker {
namespace {

gan::NetworkPair initialised_networks(const JobSpec& job) {
  gan::NetworkPair pair = gan::build_networks(job);
  pair.generator.initialise(job.training.seed);
  pair.discriminator.initialise(job.training.seed);
  return pair;
}

comm::HostGroup place_and_connect(PerNetwork<NetworkState*> networks, MicrobatchRange own,
                                  comm::HostMemory memory, ComputeDevice& device,
                                  std::uint64_t plan_hash) {
  for (const NetworkId network : kNetworkIds) {
    device.place(*networks[network], own, memory);
  }
  return std::move(memory).connect(plan_hash, comm::Deadline(kStartDeadline));
}

}  // namespace

Replica::Replica(const JobSpec& job, Placement placement, comm::HostMemory memory,
                 ComputeDevice& device)
    : placement_(std::move(placement)),
      pair_(initialised_networks(job)),
      generator_(pair_.generator,
                 {.format = job.numerics.memory_format,
                  .num_workers = static_cast<int>(placement_.ranges.size()),
                  .optimizer = job.generator.optimizer.kind,
                  .averaging = job.generator.ema_kimg > 0.0 ? Averaging::kYes : Averaging::kNo,
                  .host = &memory}),
      discriminator_(pair_.discriminator,
                     {.format = job.numerics.memory_format,
                      .num_workers = static_cast<int>(placement_.ranges.size()),
                      .optimizer = job.discriminator.optimizer.kind,
                      .host = &memory}),
      plan_hash_(worker::plan_hash({.generator = generator_.plan(),
                                    .discriminator = discriminator_.plan(),
                                    .ranges = placement_.ranges,
                                    .hosts = placement_.hosts,
                                    .device = device.kind()},
                                   job)),
      host_(place_and_connect(networks(), placement_.own_range(), std::move(memory), device,
                              plan_hash_)) {}

}  // namespace gangway::worker
