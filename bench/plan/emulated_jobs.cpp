// SPDX-License-Identifier: MIT
#include "bench/plan/emulated_jobs.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "comm/arena/arena_layout.hpp"
#include "comm/arena/bucket_plan.hpp"
#include "gan/recipes/recipes.hpp"
#include "job/file/parse.hpp"
#include "pipeline/stages/stage_schedule.hpp"

namespace gangway::bench {
namespace {

using plan::Cluster;
using plan::Profile;

/// Seconds of a whole network over one micro-batch.
struct Costs {
  double forward = 0.008;
  double backward = 0.016;
  double update = 0.030;
};
/// Elements of the arena in each block of a network.
constexpr std::int64_t kParameters = 20 * static_cast<std::int64_t>(comm::kBlockElements);
constexpr std::size_t kBuckets = 4;
/// Bytes of a micro-batch at a cut: a tenth of the weights and gradients.
constexpr std::int64_t kCutBytes = 200'000;
constexpr std::int64_t kKeptBytes = 4 * kCutBytes;

constexpr std::size_t kEqualBlocks = 16;
constexpr double kLittle = 1.0 / 30.0;

/// Returns a GAN job: five blocks for each network, or more than sixteen for kSixteen.
JobSpec emulated_job(BlockShape shape, int microbatches) {
  std::vector<std::string> overrides{"data.source=images:emulated",
                                     fmt::format("training.batch={}", 2 * microbatches),
                                     fmt::format("training.microbatches={}", microbatches)};
  const std::vector<std::string> model =
      shape == BlockShape::kSixteen
          ? std::vector<std::string>{"model.family=r3gan", "model.resolution=32", "model.blocks=4"}
          : std::vector<std::string>{"model.family=dcgan", "model.resolution=64"};
  overrides.insert(overrides.end(), model.begin(), model.end());
  return load_job({.file = {}, .text = std::nullopt, .overrides = overrides, .environment = {}})
      .spec;
}

/// Returns the share of each block in the network's seconds.
std::vector<double> block_shares(BlockShape shape, bool is_first, std::size_t count) {
  std::vector<double> shares(count, 1.0);
  for (std::size_t block = 0; block < count; ++block) {
    const std::size_t from_images = is_first ? count - 1 - block : block;
    if (shape == BlockShape::kImages) {
      shares[block] = static_cast<double>(count - from_images);
    } else if (shape == BlockShape::kDense) {
      shares[block] = from_images + 1 == count ? static_cast<double>(count) : 1.0;
    } else if (shape == BlockShape::kSixteen) {
      shares[block] = block < kEqualBlocks ? 1.0 : 0.0;
    }
  }
  const double all = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& share : shares) {
    share /= all;
  }
  return shares;
}

void add_network(const JobSpec& job, NetworkId network, BlockShape shape, const Costs& costs,
                 Profile& profile) {
  const std::string& name = job.networks[network].name;
  const std::vector<double> shares =
      block_shares(shape, network == NetworkId{0}, job.architectures()[network].blocks.size());
  std::vector<comm::ArenaLayout::Tensor> tensors;
  for (std::size_t block = 0; block < shares.size(); ++block) {
    tensors.push_back({.name = fmt::format("block-{}", block),
                       .elements = static_cast<std::size_t>(kParameters),
                       .network_block = block});
    profile.blocks.push_back({.network = name,
                              .block = static_cast<int>(block),
                              .forward = {.seconds = costs.forward * shares[block]},
                              .input_gradient = {.seconds = costs.backward / 2 * shares[block]},
                              .weight_gradient = {.seconds = costs.backward / 2 * shares[block]},
                              .kept_bytes = kKeptBytes,
                              .output_bytes = kCutBytes,
                              .parameters = kParameters});
  }
  const comm::ArenaLayout arena(tensors, {});
  plan::NetworkCost cost{.name = name,
                         .parameters = kParameters * static_cast<std::int64_t>(shares.size()),
                         .arena_elements = static_cast<std::int64_t>(arena.size()),
                         .moments = 2,
                         .update = {.seconds = costs.update}};
  const comm::BucketPlan plan(arena, 1, kBuckets);
  for (std::size_t bucket = 0; bucket < plan.num_buckets(); ++bucket) {
    cost.buckets.push_back(
        {.elements = static_cast<std::int64_t>(plan.bucket(bucket).size()),
         .first_block =
             static_cast<int>(static_cast<std::int64_t>(plan.bucket(bucket).begin) / kParameters)});
  }
  profile.networks.push_back(std::move(cost));
}

Profile emulated_profile(const JobSpec& job, BlockShape shape, double slower) {
  Profile profile{.job = "emulated",
                  .costs_hash = plan::costs_fingerprint(job),
                  .images_per_microbatch = job.images_per_microbatch()};
  const Costs costs{
      .forward = Costs{}.forward * slower,
      .backward = Costs{}.backward * slower,
      .update = Costs{}.update * slower * (shape == BlockShape::kSixteen ? kLittle : 1.0)};
  for (const NetworkId network : job.networks.ids()) {
    add_network(job, network, shape, costs, profile);
  }
  for (const pipeline::Instruction& at :
       pipeline::one_stage_schedule(gan::phases_of(job), {0, 1}, 0, Overlap::kNone)) {
    const double seconds = at.operation == pipeline::Operation::kForward    ? costs.forward
                           : at.operation == pipeline::Operation::kBackward ? costs.backward
                                                                            : 0.0;
    if (at.operation != pipeline::Operation::kAwait) {
      profile.instructions.push_back({.operation = at.operation,
                                      .network = job.networks[at.network].name,
                                      .phase = at.phase,
                                      .pass = at.pass,
                                      .node = at.node,
                                      .time = {.seconds = seconds}});
    }
  }
  return profile;
}

Cluster cluster_of(const Machines& machines, double slower) {
  Cluster cluster{.name = machines.name};
  for (int i = 0; i < machines.nodes; ++i) {
    cluster.nodes.push_back(
        {.name = fmt::format("node-{}", i),
         .speeds = std::vector<double>(static_cast<std::size_t>(machines.devices), 1.0),
         .memory_bytes = machines.memory_bytes});
  }
  cluster.nodes.back().speeds.back() = machines.slowest;
  cluster.inside = {.bytes_per_second = 1e12};
  cluster.between = {.latency_seconds = 5e-4, .bytes_per_second = machines.rate / slower};
  return cluster;
}

}  // namespace

std::unique_ptr<plan::Planner> emulated_planner(const PlanCase& of, double slower) {
  const JobSpec job = emulated_job(of.shape, of.microbatches);
  return std::make_unique<plan::Planner>(job, emulated_profile(job, of.shape, slower), "emulated",
                                         cluster_of(of.machines, slower));
}

}  // namespace gangway::bench
