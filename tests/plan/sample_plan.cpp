// SPDX-License-Identifier: MIT
#include "tests/plan/sample_plan.hpp"

#include "gan/recipes/recipes.hpp"
#include "job/file/fingerprint.hpp"
#include "job/file/parse.hpp"
#include "pipeline/stages/stage_schedule.hpp"

namespace gangway::plan {

JobSpec sample_job(int microbatches, const std::vector<std::string>& more) {
  std::vector<std::string> overrides{"data.source=toy:ring8", "model.family=mlp", "model.latent=2",
                                     "training.batch=" + std::to_string(8 * microbatches),
                                     "training.microbatches=" + std::to_string(microbatches)};
  overrides.insert(overrides.end(), more.begin(), more.end());
  return load_job({.file = {}, .text = std::nullopt, .overrides = overrides, .environment = {}})
      .spec;
}

Profile bare_profile(const JobSpec& job,
                     const std::function<double(pipeline::Operation)>& seconds) {
  Profile profile{.job = "sample.yaml",
                  .costs_hash = costs_fingerprint(job),
                  .model_hash = model_fingerprint(job),
                  .date = "2026-11-23T12:00:00Z",
                  .host = "sample",
                  .processor = "none",
                  .libtorch = "2.11.0",
                  .cores = 2,
                  .memory_bytes = std::int64_t{1} << 30,
                  .images_per_microbatch = job.images_per_microbatch()};
  const std::vector<pipeline::Phase> phases = gan::phases_of(job);
  for (const pipeline::Instruction& at :
       pipeline::one_stage_schedule(phases, {0, 1}, 0, Overlap::kNone)) {
    if (at.operation != pipeline::Operation::kAwait) {
      profile.instructions.push_back({.operation = at.operation,
                                      .network = job.networks[at.network].name,
                                      .phase = at.phase,
                                      .pass = at.pass,
                                      .node = at.node,
                                      .time = {.seconds = seconds(at.operation)}});
    }
  }
  return profile;
}

Profile sample_profile(const JobSpec& job) {
  Profile profile = bare_profile(job, [](pipeline::Operation operation) {
    return operation == pipeline::Operation::kForward    ? 0.001
           : operation == pipeline::Operation::kBackward ? 0.002
                                                         : 0.0;
  });
  for (const NetworkSpec& network : job.networks) {
    profile.networks.push_back({.name = network.name,
                                .parameters = 90'000,
                                .arena_elements = kArenaElements,
                                .moments = 2,
                                .update = {.seconds = kUpdateSeconds},
                                .buckets = {{.elements = kArenaElements / 2, .first_block = 1},
                                            {.elements = kArenaElements / 2, .first_block = 0}}});
    for (int block = 0; block < 2; ++block) {
      profile.blocks.push_back({.network = network.name,
                                .block = block,
                                .forward = {.seconds = 0.0005},
                                .input_gradient = {.seconds = 0.0005},
                                .weight_gradient = {.seconds = 0.0005},
                                .kept_bytes = 1000,
                                .output_bytes = 500,
                                .parameters = 45'000});
    }
  }
  profile.step = {.seconds = 2 * kMicrobatchSeconds + 2 * kUpdateSeconds};
  profile.memory = {.process_bytes = 1000, .working_bytes = 200, .other_bytes = 30};
  return profile;
}

Cluster sample_cluster(int nodes, int devices) {
  Cluster cluster{.name = "sample"};
  for (int i = 0; i < nodes; ++i) {
    cluster.nodes.push_back(
        {.name = "node-" + std::to_string(i),
         .speeds = std::vector<double>(static_cast<std::size_t>(devices), 1.0)});
  }
  cluster.inside = {.bytes_per_second = 1e18};
  cluster.between = {.bytes_per_second = 1e18};
  return cluster;
}

Candidate sample_whole(int workers, Overlap overlap, TransportKind transport) {
  return whole_candidate(sample_job(1), workers, overlap, transport);
}

Candidate sample_stages(int workers) {
  Candidate candidate = sample_whole(workers);
  candidate.choice.stages = 2;
  for (NetworkPlacement& network : candidate.choice.networks) {
    network.cuts = {1};
  }
  return candidate;
}

Candidate sample_apart() {
  Candidate candidate = sample_whole(2);
  int worker = 0;
  for (NetworkPlacement& network : candidate.choice.networks) {
    network.workers = {worker++};
  }
  return candidate;
}

std::unique_ptr<Planner> sample_planner(int microbatches, const Cluster& cluster) {
  const JobSpec job = sample_job(microbatches);
  return std::make_unique<Planner>(job, sample_profile(job), "sample.profile.json", cluster);
}

}  // namespace gangway::plan
