// SPDX-License-Identifier: MIT
// gangway-bench-plan: emulated layouts beside their predictions, a row each, and the error.
#include <algorithm>
#include <array>
#include <cmath>
#include <exception>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/errors.hpp"
#include "bench/plan/emulated_run.hpp"
#include "gan/recipes/recipes.hpp"
#include "job/file/parse.hpp"
#include "launch/plan/ranking/make_plan.hpp"
#include "launch/plan/ranking/search.hpp"

namespace gangway::bench {
namespace {

using launch::Cluster;
using launch::Planner;
using launch::Profile;

/// Of operations that are long beside the time in which threads wake up.
struct Costs {
  double forward = 0.008;
  double backward = 0.016;
  double update = 0.030;
};
constexpr int kBlocks = 8;  // of each network
constexpr std::int64_t kArenaBlocks = 120;
constexpr std::int64_t kBlockSize = 4096;

JobSpec emulated_job(int microbatches) {
  return load_job({.file = {},
                   .text = std::nullopt,
                   .overrides = {"data.source=toy:ring8", "model.family=mlp", "model.latent=2",
                                 fmt::format("training.batch={}", 8 * microbatches),
                                 fmt::format("training.microbatches={}", microbatches)},
                   .environment = {}})
      .spec;
}

Profile emulated_profile(const JobSpec& job, const std::vector<pipeline::Phase>& phases,
                         double slower) {
  Profile profile{.job = "emulated",
                  .costs_hash = launch::costs_fingerprint(job),
                  .images_per_microbatch = job.images_per_microbatch()};
  const Costs costs{.forward = Costs{}.forward * slower,
                    .backward = Costs{}.backward * slower,
                    .update = Costs{}.update * slower};
  for (const NetworkSpec& network : job.networks) {
    launch::NetworkCost cost{.name = network.name,
                             .parameters = kArenaBlocks * kBlockSize,
                             .arena_elements = kArenaBlocks * kBlockSize,
                             .moments = 2,
                             .update = {.seconds = costs.update}};
    // As BucketPlan cuts 120 blocks in four: the last ones first, and few of them.
    std::int64_t end = kArenaBlocks;
    for (const std::int64_t begin : {110, 73, 36, 0}) {
      cost.buckets.push_back({.elements = (end - begin) * kBlockSize,
                              .first_block = static_cast<int>(begin * kBlocks / kArenaBlocks)});
      end = begin;
    }
    profile.networks.push_back(std::move(cost));
    for (int block = 0; block < kBlocks; ++block) {
      profile.blocks.push_back({.network = network.name,
                                .block = block,
                                .input_gradient = {.seconds = costs.backward / 2 / kBlocks},
                                .weight_gradient = {.seconds = costs.backward / 2 / kBlocks}});
    }
  }
  for (const pipeline::Instruction& at :
       pipeline::one_stage_schedule(phases, {0, 1}, 0, Overlap::kNone)) {
    const double seconds = at.operation == pipeline::Operation::kForward    ? costs.forward
                           : at.operation == pipeline::Operation::kBackward ? costs.backward
                                                                            : 0.0;
    profile.instructions.push_back({.operation = at.operation,
                                    .network = job.networks[at.network].name,
                                    .phase = at.phase,
                                    .pass = at.pass,
                                    .node = at.node,
                                    .time = {.seconds = seconds}});
  }
  std::erase_if(profile.instructions, [](const launch::InstructionCost& cost) {
    return cost.operation == pipeline::Operation::kAwait;
  });
  return profile;
}

/// Nodes, devices each, and what connects them.
struct Machines {
  std::string name;
  int nodes = 1;
  int devices = 1;
  double rate = 1e9;     ///< bytes a second between nodes
  double slowest = 1.0;  ///< speed of the last device
};

Cluster cluster_of(const Machines& machines, double slower) {
  Cluster cluster{.name = machines.name};
  for (int i = 0; i < machines.nodes; ++i) {
    cluster.nodes.push_back(
        {.name = fmt::format("node-{}", i),
         .speeds = std::vector<double>(static_cast<std::size_t>(machines.devices), 1.0)});
  }
  cluster.nodes.back().speeds.back() = machines.slowest;
  cluster.inside = {.bytes_per_second = 1e12};
  cluster.between = {.latency_seconds = 5e-4, .bytes_per_second = machines.rate / slower};
  return cluster;
}

int run(int steps, double slower) {
  const std::vector<std::pair<Machines, int>> cases{
      {{"one device", 1, 1}, 2},
      {{"one host of 2", 1, 2}, 4},
      {{"one host of 3, uneven", 1, 3}, 4},
      {{"one host of 4", 1, 4}, 8},
      {{"one host of 2, one slow", 1, 2, 1e9, 0.7}, 4},
      {{"2 hosts, fast link", 2, 1, 1e9}, 4},
      {{"2 hosts, slow link", 2, 1, 5e7}, 4},
      {{"2 hosts, slower link", 2, 1, 2e7}, 2},
      {{"2 hosts of 2, slow link", 2, 2, 5e7}, 4},
      {{"3 hosts, slow link, uneven", 3, 1, 5e7}, 8},
      {{"4 hosts, slow link, one slow", 4, 1, 1e8, 0.8}, 8},
      {{"3 hosts of 2, slow link", 3, 2, 1e8}, 6},
  };
  fmt::print("{:<32}{:>4}  {:<8}{:>12}{:>12}{:>9}\n", "machines", "M", "overlap", "emulated ms ",
             "predicted ms", "error");
  double sum = 0.0;
  double worst = 0.0;
  int count = 0;
  for (const auto& [machines, microbatches] : cases) {
    const JobSpec job = emulated_job(microbatches);
    const std::vector<pipeline::Phase> phases = gan::phases_of(job);
    const Planner planner(job, emulated_profile(job, phases, slower), "emulated",
                          cluster_of(machines, slower));
    for (const Overlap overlap : {Overlap::kNone, Overlap::kWithin, Overlap::kAcross}) {
      const launch::PlannedLayout layout{machines.nodes * machines.devices, overlap,
                                         TransportKind::kShm};
      const double emulated = emulated_step_seconds(planner.input(), phases, layout, steps);
      const double predicted = launch::predict(planner.input(), layout).step_seconds;
      const double error = predicted / emulated - 1.0;
      sum += std::abs(error);
      worst = std::max(worst, std::abs(error));
      ++count;
      constexpr std::array kNames{"none", "within", "across"};
      fmt::print("{:<32}{:>4}  {:<8}{:>12.2f}{:>12.2f}{:>+8.1f} %\n", machines.name, microbatches,
                 kNames.at(static_cast<std::size_t>(overlap)), emulated * 1e3, predicted * 1e3,
                 error * 100.0);
      (void)std::fflush(stdout);
    }
  }
  fmt::print("{} layouts: error mean {:.1f} %, worst {:.1f} %\n", count, sum / count * 100.0,
             worst * 100.0);
  return 0;
}

}  // namespace
}  // namespace gangway::bench

int main(int argc, char** argv) {
  CLI::App app("Steps whose operations sleep their cost, beside what plans predict",
               "gangway-bench-plan");
  int steps = 5;
  app.add_option("--steps", steps, "Steps that are timed")->capture_default_str();
  double slower = 1.0;
  app.add_option("--slower", slower,
                 "Factor on all costs: a machine that does other work disturbs less")
      ->capture_default_str()
      ->check(CLI::Range(0.5, 100.0));
  CLI11_PARSE(app, argc, argv);
  try {
    return gangway::bench::run(steps, slower);
  } catch (const std::exception& error) {
    fmt::print(stderr, "gangway-bench-plan: {}\n", error.what());
    return 1;
  }
}
