// SPDX-License-Identifier: MIT
#include "plan/staged_job.hpp"

#include <numeric>
#include <utility>

#include "job/rules/rules.hpp"
#include "pipeline/pass_share.hpp"
#include "pipeline/stages/stage_schedule.hpp"

namespace gangway::plan {
namespace {

std::vector<pipeline::PassShares> shares_of(const StagedJob& job,
                                            const std::vector<pipeline::Phase>& phases) {
  std::vector<pipeline::PassShares> shares;
  for (int worker = 0; worker < job.workers; ++worker) {
    shares.emplace_back(phases, job.groups, worker);
  }
  return shares;
}

pipeline::StageOptions options_of(const StagedJob& job) {
  pipeline::StageOptions options = pipeline::stage_options(job.job.layout);
  options.overlap = job.overlap;
  return options;
}

}  // namespace

JobSpec with_layout(JobSpec job, const PlannedLayout& layout) {
  job.layout.data = 0;
  job.layout.stages = layout.stages;
  job.layout.overlap = layout.overlap;
  job.layout.placement = layout.placement;
  job.layout.schedule = layout.schedule;
  job.layout.in_flight = layout.in_flight;
  job.layout.recompute = layout.recompute;
  int first = 0;
  for (const NetworkId id : job.networks.ids()) {
    const auto index = static_cast<std::size_t>(id);
    NetworkPlacement& network = job.layout.networks[id];
    network.workers.clear();
    network.cuts.reset();
    if (layout.shape == LayoutShape::kStages) {
      network.cuts = layout.cuts[index];
    } else if (layout.shape == LayoutShape::kApart) {
      network.workers.resize(static_cast<std::size_t>(layout.groups[index]));
      std::iota(network.workers.begin(), network.workers.end(), first);
      first += layout.groups[index];
    }
  }
  return job;
}

std::string why_refused(const JobSpec& job) {
  for (const Rule& rule : job_rules(*job.training.recipe)) {
    if (std::string complaint = rule.complaint(job); !complaint.empty()) {
      return complaint;
    }
  }
  return {};
}

StagedJob staged_job(const JobSpec& job, const std::vector<pipeline::Phase>& phases,
                     const PlannedLayout& layout) {
  StagedJob staged{.job = with_layout(job, layout),
                   .workers = layout.workers,
                   .overlap = layout.overlap,
                   .groups = {},
                   .cuts = {},
                   .phases = {}};
  staged.groups = resolve_layout(staged.job, layout.workers);
  staged.cuts = pipeline::cuts_of(staged.job, staged.groups);
  staged.phases = pipeline::cut_phases(phases, staged.cuts);
  return staged;
}

std::vector<Lists> lists_of_steps(const StagedJob& job, const std::vector<std::int64_t>& steps) {
  const std::vector<pipeline::PassShares> shares = shares_of(job, job.phases);
  std::vector<Lists> all;
  for (const std::int64_t step : steps) {
    all.push_back(pipeline::step_schedules(shares, step, options_of(job)));
  }
  return all;
}

StepLists step_lists(const StagedJob& job) {
  std::vector<pipeline::Phase> phases = job.phases;
  const std::vector<pipeline::PassShares> shares = shares_of(job, phases);
  constexpr std::int64_t kUsualStep = 1;  // no interval above 1 divides it
  StepLists lists{.usual = pipeline::step_schedules(shares, kUsualStep, options_of(job)),
                  .lazy = {}};
  for (pipeline::Phase& phase : phases) {
    if (phase.interval > 1) {
      const int interval = std::exchange(phase.interval, 1);
      lists.lazy.push_back(
          {interval, pipeline::step_schedules(shares, kUsualStep, options_of(job))});
      phase.interval = interval;
    }
  }
  return lists;
}

}  // namespace gangway::plan
