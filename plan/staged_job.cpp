// SPDX-License-Identifier: MIT
#include "plan/staged_job.hpp"

#include <utility>

#include "pipeline/pass_share.hpp"
#include "pipeline/stages/stage_schedule.hpp"

namespace gangway::plan {
namespace {

std::vector<pipeline::PassShares> shares_of(const StagedJob& job,
                                            const std::vector<pipeline::Phase>& phases) {
  std::vector<pipeline::PassShares> shares;
  for (int worker = 0; worker < job.workers; ++worker) {
    shares.emplace_back(phases, job.layout, worker);
  }
  return shares;
}

}  // namespace

StagedJob staged_job(const JobSpec& job, const std::vector<pipeline::Phase>& phases,
                     const Candidate& candidate) {
  StagedJob staged{.job = with_layout(job, candidate),
                   .workers = candidate.workers,
                   .layout = resolve_layout(job, candidate.choice, candidate.workers),
                   .cuts = {},
                   .phases = {}};
  staged.cuts = pipeline::cuts_of(staged.job, staged.layout);
  staged.phases = pipeline::cut_phases(phases, staged.cuts);
  return staged;
}

std::vector<Lists> lists_of_steps(const StagedJob& job, const std::vector<std::int64_t>& steps) {
  const std::vector<pipeline::PassShares> shares = shares_of(job, job.phases);
  std::vector<Lists> all;
  for (const std::int64_t step : steps) {
    all.push_back(pipeline::step_schedules(shares, step));
  }
  return all;
}

StepLists step_lists(const StagedJob& job) {
  std::vector<pipeline::Phase> phases = job.phases;
  const std::vector<pipeline::PassShares> shares = shares_of(job, phases);
  constexpr std::int64_t kUsualStep = 1;  // no phase with an interval above 1 runs in it
  StepLists lists{.usual = pipeline::step_schedules(shares, kUsualStep), .lazy = {}};
  for (pipeline::Phase& phase : phases) {
    if (phase.interval > 1) {
      const int interval = std::exchange(phase.interval, 1);
      lists.lazy.push_back({interval, pipeline::step_schedules(shares, kUsualStep)});
      phase.interval = interval;
    }
  }
  return lists;
}

}  // namespace gangway::plan
