// SPDX-License-Identifier: MIT
#include "bench/pipeline/emulated_case.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "gan/recipes/recipes.hpp"
#include "job/file/parse.hpp"
#include "launch/plan/profiles/profile.hpp"
#include "launch/plan/staged_costs.hpp"
#include "pipeline/layout/placements.hpp"
#include "pipeline/simulator/simulator.hpp"
#include "pipeline/staged/lowering.hpp"
#include "pipeline/validator/validator.hpp"

namespace gangway::bench {
namespace {

using pipeline::WorkCosts;
using BlockWork = PerNetwork<std::vector<WorkCosts>>;

/// Equal blocks: a pass of a network forward, and backward, as docs/pipeline-schedules.md has it.
BlockWork equal_blocks(int devices) {
  BlockWork work;
  for (const auto& [forward, backward] : {std::pair(15.0, 22.0), std::pair(18.0, 16.0)}) {
    work.add(std::vector<WorkCosts>(static_cast<std::size_t>(devices),
                                    {.forward_seconds = forward,
                                     .input_gradient_seconds = backward / 2,
                                     .weight_gradient_seconds = backward / 2,
                                     .sweep_seconds = {forward, backward, backward, backward},
                                     .output_bytes = 64 << 10,
                                     .stored_bytes = 256 << 10,
                                     .gradient_bytes = 256 << 10}));
  }
  return work;
}

JobSpec job_of(const CaseOptions& options) {
  if (options.job.empty()) {
    return {};
  }
  return load_job({.file = options.job,
                   .text = std::nullopt,
                   .overrides = options.overrides,
                   .environment = {}})
      .spec;
}

BlockWork blocks_of(const JobSpec& job, const CaseOptions& options) {
  if (options.profile.empty()) {
    return equal_blocks(options.devices);
  }
  const launch::Profile profile = launch::read_profile(options.profile);
  launch::require_fitting(profile, options.profile.string(), job);
  return launch::block_work(profile, gan::phases_of(job), job.network_names());
}

/// A row of devices, with chunks that cost about alike.
pipeline::Layout row_of(const BlockWork& blocks, const CaseOptions& options) {
  if (options.copies < 1 || options.devices % options.copies != 0) {
    throw ConfigError(fmt::format("{} devices are no {} rows of equal length; --copies",
                                  options.devices, options.copies));
  }
  PerNetwork<int> counts;
  for (const std::vector<WorkCosts>& network : blocks) {
    counts.add(static_cast<int>(network.size()));
  }
  pipeline::Layout row =
      pipeline::placed(pipeline::Placement::kLoop, options.devices / options.copies,
                       options.microbatches / options.copies, counts);
  for (const NetworkId id : row.networks.ids()) {
    std::vector<double> seconds;
    for (const WorkCosts& block : blocks[id]) {
      seconds.push_back(block.forward_seconds + block.input_gradient_seconds +
                        block.weight_gradient_seconds);
    }
    row.networks[id].chunks = pipeline::balanced_chunks(seconds, row.networks[id].num_chunks());
  }
  return row;
}

void scale(WorkCosts& chunk, double factor) {
  chunk.forward_seconds *= factor;
  chunk.input_gradient_seconds *= factor;
  chunk.weight_gradient_seconds *= factor;
  for (double& sweep : chunk.sweep_seconds) {
    sweep *= factor;
  }
}

/// Compute of the busiest device in a step without a penalty.
double busiest_seconds(const EmulatedCase& of) {
  const pipeline::Simulation once = pipeline::simulate(
      pipeline::stage_schedule(of.phases, of.layout, 1, 1, of.costs, {}), of.costs);
  return std::ranges::max(once.workers, {}, &pipeline::SimulatedWorker::busy_seconds).busy_seconds;
}

}  // namespace

EmulatedCase make_case(const CaseOptions& options) {
  JobSpec job = job_of(options);
  const BlockWork blocks = blocks_of(job, options);
  job.training.penalty = {.r1_gamma = options.r1_interval > 0 ? 1.0 : 0.0,
                          .r1_interval = std::max(1, options.r1_interval)};
  const pipeline::Layout row = row_of(blocks, options);
  EmulatedCase made{.phases = gan::phases_of(job),
                    .layout = options.copies > 1
                                  ? pipeline::replicated(row, options.copies, options.microbatches)
                                  : row,
                    .names = job.network_names(),
                    .steps = options.steps,
                    .has_penalty = options.r1_interval > 0};
  for (const NetworkId id : row.networks.ids()) {
    std::vector<WorkCosts> chunks;
    for (const pipeline::Chunk& chunk : row.networks[id].chunks) {
      chunks.push_back(pipeline::joined(
          std::span(blocks[id])
              .subspan(static_cast<std::size_t>(chunk.first_block),
                       static_cast<std::size_t>(chunk.end_block - chunk.first_block))));
    }
    made.costs.chunks.add(std::move(chunks));
  }
  const double factor = options.step_seconds / busiest_seconds(made);
  for (std::vector<WorkCosts>& network : made.costs.chunks) {
    for (WorkCosts& chunk : network) {
      scale(chunk, factor);
    }
  }
  made.costs.links.within.latency_seconds = options.hop_seconds;
  check(made.layout, made.names);
  return made;
}

pipeline::ScheduleOptions schedule_options(const std::string& name, int microbatches) {
  using pipeline::SchedulePolicy;
  if (name == "by-pass") {
    return {.policy = SchedulePolicy::kByPass};
  }
  if (name == "1f1b") {
    return {.policy = SchedulePolicy::kOneForwardOneBackward};
  }
  if (name == "fused") {
    return {.backward = pipeline::BackwardKind::kFused};
  }
  if (name == "fill") {
    return {};
  }
  if (name == "one-leaf") {
    return {.max_open_leaves = 1};
  }
  if (name == "capped") {
    return {.max_stored = 2 * microbatches};
  }
  throw ConfigError(fmt::format(
      "--schedules: '{}' is none of by-pass, 1f1b, fused, fill, one-leaf, capped", name));
}

pipeline::StageSchedule proved_schedule(const EmulatedCase& of,
                                        const pipeline::ScheduleOptions& options) {
  pipeline::StageSchedule schedule =
      pipeline::stage_schedule(of.phases, of.layout, 0, of.steps, of.costs, options);
  const pipeline::ScheduleValidator validator(of.phases, of.layout, 0, of.steps,
                                              pipeline::work_options(options), of.costs, of.names);
  const std::vector<std::string> violations = validator.violations(
      schedule, {.max_open_leaves = of.has_penalty ? 0 : options.max_open_leaves});
  if (!violations.empty()) {
    throw InvariantError(violations.front() + "; please report this");
  }
  return schedule;
}

}  // namespace gangway::bench
