// SPDX-License-Identifier: MIT
// Jobs on layouts with schedules of all kinds, for tests of what holds for all of them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "gan/recipes/recipes.hpp"
#include "pipeline/staged/lowering.hpp"
#include "pipeline/validator/validator.hpp"
#include "tests/pipeline/gan_profile.hpp"

namespace gangway::pipeline {

struct StageCase {
  std::string name;
  JobSpec job;
  Layout layout;
  ScheduleOptions options = {};
  int first_step = 0;
  int num_steps = 2;
};

/// Costs of any layout: seconds that differ, so that ties are few, and bytes.
inline Costs uneven_costs(const Layout& layout) {
  Costs costs;
  for (const NetworkLayout& network : layout.networks) {
    std::vector<WorkCosts> chunks;
    for (int chunk = 0; chunk < network.num_chunks(); ++chunk) {
      const double size = 1.0 + 0.25 * chunk + 0.5 * static_cast<double>(costs.chunks.size());
      chunks.push_back({.forward_seconds = size,
                        .input_gradient_seconds = 0.75 * size,
                        .weight_gradient_seconds = 0.5 * size,
                        .sweep_seconds = {size, size, 1.5 * size, 2.0 * size},
                        .update_seconds = 0.1,
                        .output_bytes = 1000 + 100 * chunk,
                        .stored_bytes = 5000,
                        .gradient_bytes = 20000});
    }
    costs.chunks.add(std::move(chunks));
  }
  costs.links.within.latency_seconds = 0.05;
  return costs;
}

inline std::vector<std::pair<std::string, JobSpec>> adversarial_jobs() {
  std::vector<std::pair<std::string, JobSpec>> jobs(8, {"plain", JobSpec{}});
  jobs[1].first = "three critic steps";
  jobs[1].second.network("discriminator").steps = 3;
  jobs[2].first = "reused fakes";
  jobs[2].second.training.reuse_fakes = true;
  jobs[3].first = "relativistic";
  jobs[3].second.training.loss = LossKind::kRelativistic;
  jobs[4].first = "gradient penalty";
  jobs[4].second.training.penalty.gradient_penalty = 10.0;
  jobs[5].first = "lazy R1";
  jobs[5].second.training.penalty = {.r1_gamma = 1.0, .r1_interval = 2};
  jobs[6].first = "R1 and R2";
  jobs[6].second.training.penalty = {.r1_gamma = 1.0, .r1_interval = 1, .r2_gamma = 1.0};
  jobs[7].first = "lazy path lengths";
  jobs[7].second.training.path_length = {.weight = 2.0, .interval = 2};
  return jobs;
}

inline std::vector<std::pair<std::string, JobSpec>> other_jobs() {
  std::vector<std::pair<std::string, JobSpec>> jobs;
  for (const Recipe& recipe : recipes()) {
    jobs.emplace_back(recipe.name, JobSpec::of(recipe));
    jobs.back().second.model.codes = recipe.has_codes ? 2 : 0;
  }
  return jobs;
}

inline std::vector<std::pair<std::string, Layout>> gan_layouts() {
  const Layout row = placed(Placement::kLoop, 2, 2, {2, 2});
  return {{"one worker", placed(Placement::kLoop, 1, 2, {1, 1})},
          {"loop of 3", placed(Placement::kLoop, 3, 4, {3, 3})},
          {"V of 2", placed(Placement::kV, 2, 3, {2, 2})},
          {"two chunks on each of 2", placed(Placement::kTwoChunks, 2, 2, {4, 4})},
          {"1 and 3 apart, cut", placed_apart({1, 3}, 4, {1, 3})},
          {"1 and 3 apart, whole", groups_apart({1, 3}, 5, {1, 1})},
          {"2 and 3 apart, whole", groups_apart({2, 3}, 6, {1, 1})},
          {"two rows of 2", replicated(row, 2, 5)}};
}

inline std::vector<std::pair<std::string, ScheduleOptions>> schedule_kinds() {
  return {{"by pass", {.policy = SchedulePolicy::kByPass}},
          {"1F1B", {.policy = SchedulePolicy::kOneForwardOneBackward}},
          {"fused", {.backward = BackwardKind::kFused}},
          {"split", {}},
          {"one open leaf", {.max_open_leaves = 1}},
          {"fused, two open leaves", {.backward = BackwardKind::kFused, .max_open_leaves = 2}},
          {"few kept", {.max_stored = 6, .max_open_leaves = 1, .max_penalty_leaves = 2}}};
}

/// Every kind of job on every layout, with all kinds of schedules in turn, and every recipe on two.
inline std::vector<StageCase> stage_cases() {
  std::vector<StageCase> cases;
  const auto kinds = schedule_kinds();
  const auto add = [&](const std::string& name, const JobSpec& job, const Layout& layout) {
    const auto& [kind, options] = kinds[cases.size() % kinds.size()];
    cases.push_back({name + ", " + kind, job, layout, options, static_cast<int>(cases.size() % 3)});
  };
  for (const auto& [job_name, job] : adversarial_jobs()) {
    for (const auto& [layout_name, layout] : gan_layouts()) {
      add(job_name + ", " + layout_name, job, layout);
    }
  }
  for (const auto& [name, job] : other_jobs()) {
    PerNetwork<int> twos;
    PerNetwork<int> ones;
    for (std::size_t network = 0; network < job.networks.size(); ++network) {
      twos.add(2);
      ones.add(1);
    }
    add(name + ", loop of 2", job, placed(Placement::kLoop, 2, 3, twos));
    add(name + ", apart", job, placed_apart(ones, 3, ones));
  }
  return cases;
}

/// A case with all that is made of it.
struct Staged {
  explicit Staged(StageCase of)
      : test(std::move(of)),
        phases(gan::phases_of(test.job)),
        costs(uneven_costs(test.layout)),
        names(test.job.network_names()),
        schedule(stage_schedule(phases, test.layout, test.first_step, test.num_steps, costs,
                                test.options)) {}
  [[nodiscard]] ScheduleValidator validator() const {
    return {phases, test.layout, test.first_step, test.num_steps, work_options(test.options),
            costs,  names};
  }

  StageCase test;
  std::vector<Phase> phases;
  Costs costs;
  PerNetwork<std::string> names;
  StageSchedule schedule;
};

}  // namespace gangway::pipeline
