// SPDX-License-Identifier: MIT
#include "worker/replica.hpp"

#include <optional>
#include <string>
#include <utility>

#include <torch/version.h>

#include "gan/recipes/recipes.hpp"
#include "pipeline/cut_phases.hpp"
#include "pipeline/pass_share.hpp"
#include "pipeline/phases.hpp"
#include "run/control_protocol.hpp"
#include "worker/plan_hash.hpp"

namespace gangway::worker {
namespace {

PerNetwork<gan::Network> initialised_networks(const Job& job) {
  PerNetwork<gan::Network> networks = gan::build_networks(job);
  for (gan::Network& network : networks) {
    network.initialise(job.training.seed);
  }
  return networks;
}

PerNetwork<std::unique_ptr<NetworkState>> states_of(PerNetwork<gan::Network>& networks,
                                                    const Job& job, const Placement& placement,
                                                    comm::HostMemory& memory) {
  PerNetwork<std::unique_ptr<NetworkState>> states;
  for (const NetworkId id : networks.ids()) {
    const NetworkSpec& spec = job.networks[id];
    states.add(std::make_unique<NetworkState>(
        networks[id],
        NetworkStateSetup{.format = job.numerics.memory_format,
                          .num_workers = placement.layout.num_workers(),
                          .group = placement.layout[id],
                          .worker = placement.worker,
                          .optimizer = spec.optimizer.kind,
                          .is_frozen = spec.is_frozen,
                          .has_loss_scale = job.scales_losses() && !spec.is_frozen,
                          .averaging = spec.is_averaged() ? Averaging::kYes : Averaging::kNo,
                          .host = &memory,
                          .buckets = static_cast<std::size_t>(placement.layout.buckets),
                          .least_bucket_bytes = job.numerics.device == DeviceKind::kCuda
                                                    ? comm::kLeastDeviceBucketBytes
                                                    : 0}));
  }
  return states;
}

std::unique_ptr<ImagePools> pools_of(const Job& job, const Placement& placement,
                                     at::Device device) {
  std::vector<std::string> names = pipeline::pools_of(gan::phases_of(job, TORCH_VERSION));
  return names.empty() ? nullptr
                       : std::make_unique<ImagePools>(
                             ImagePoolsSetup{.job = job,
                                             .names = std::move(names),
                                             .ranges = placement.layout.shared_ranges(),
                                             .worker = placement.worker,
                                             .device = device});
}

/// Returns the host's workers that exchange tensors with this one.
std::vector<int> stream_peers(const Job& job, const Placement& placement) {
  if (!placement.layout.is_apart()) {
    return {};
  }
  const std::vector<pipeline::Phase> phases = pipeline::cut_phases(
      gan::phases_of(job, TORCH_VERSION), pipeline::cuts_of(job, placement.layout));
  std::vector<int> peers = pipeline::PassShares(phases, placement.layout, placement.worker).peers();
  const auto host_of = [&](int worker) {
    return placement.hosts[static_cast<std::size_t>(worker)];
  };
  std::erase_if(peers, [&](int peer) { return host_of(peer) != host_of(placement.worker); });
  return peers;
}

std::vector<const comm::BucketPlan*> plans_of(const PerNetwork<NetworkState*>& networks) {
  std::vector<const comm::BucketPlan*> plans;
  for (const NetworkState* network : networks) {
    plans.push_back(&network->plan());
  }
  return plans;
}

comm::HostGroup place_and_connect(const PerNetwork<NetworkState*>& networks,
                                  const Placement& placement, comm::HostMemory memory,
                                  ComputeDevice& device, std::uint64_t plan_hash) {
  for (const NetworkId network : networks.ids()) {
    const NetworkGroup& group = placement.layout[network];
    device.place(*networks[network],
                 group.has(placement.worker) ? std::optional(group.range_of(placement.worker))
                                             : std::nullopt,
                 memory);
  }
  return std::move(memory).connect(plan_hash, comm::Deadline(kStartDeadline));
}

}  // namespace

Replica::Replica(const Job& job, Placement placement, comm::HostMemory memory,
                 ComputeDevice& device)
    : placement_(std::move(placement)),
      networks_(initialised_networks(job)),
      states_(states_of(networks_, job, placement_, memory)),
      pools_(pools_of(job, placement_, device.device())),
      streams_(memory, stream_peers(job, placement_)),
      plan_hash_(worker::plan_hash({.networks = plans_of(networks()),
                                    .layout = placement_.layout,
                                    .hosts = placement_.hosts,
                                    .machines = placement_.machines,
                                    .device = device.kind()},
                                   job)),
      host_(place_and_connect(networks(), placement_, std::move(memory), device, plan_hash_)) {}

std::vector<NetworkState*> Replica::stored() {
  const PerNetwork<NetworkState*> trained = networks();
  std::vector<NetworkState*> all(trained.begin(), trained.end());
  if (pools_) {
    all.push_back(&pools_->state());
  }
  return all;
}

PerNetwork<NetworkState*> Replica::networks() {
  PerNetwork<NetworkState*> networks;
  for (const std::unique_ptr<NetworkState>& state : states_) {
    networks.add(state.get());
  }
  return networks;
}

}  // namespace gangway::worker
