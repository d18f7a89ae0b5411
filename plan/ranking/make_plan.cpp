// SPDX-License-Identifier: MIT
#include "plan/ranking/make_plan.hpp"

#include <algorithm>
#include <iostream>
#include <utility>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "gan/recipes/recipes.hpp"
#include "job/file/parse.hpp"
#include "plan/machines/measured_links.hpp"
#include "plan/machines/what_if.hpp"
#include "plan/ranking/plan_text.hpp"
#include "plan/ranking/search.hpp"
#include "plan/stages/predict_stages.hpp"
#include "plan/stages/schedule_text.hpp"

namespace gangway::plan {
namespace {

JobSpec with_phases(JobSpec job, const Profile& profile) {
  job.training.own.phases = profile.own_phases;
  return job;
}

/// Returns `profile` if it fits the job. Checks it before other members use it.
Profile fitting(Profile profile, const std::string& name, const JobSpec& job) {
  require_fitting(profile, name, job);
  return profile;
}

/// Predicts the job under its own layout.
Prediction predict_placed(const PlanInput& input, int workers) {
  const Candidate candidate = placed_candidate(input.job, workers);
  return candidate.is_whole() ? predict(input, candidate) : StagePlanner(input).predict(candidate);
}

/// Returns the profiled host, extended to at least `workers` devices.
Cluster grown_host(const Profile& profile, int workers) {
  Cluster host = profiled_host(profile);
  if (host.num_devices() < workers) {
    host.nodes.front().speeds.resize(static_cast<std::size_t>(workers), 1.0);
  }
  return host;
}

}  // namespace

Cluster profiled_host(const Profile& profile) {
  // A message within a host is a copy, as fast as one core adds. No profile measures links between
  // GPUs: assume PCI Express.
  constexpr double kFastest = 1e10;
  const bool has_gpus = profile.devices > 0;
  const int devices = has_gpus ? profile.devices : std::max(1, profile.cores / profile.threads);
  const double rate = !has_gpus && profile.add_seconds_per_byte > 0.0
                          ? 1.0 / profile.add_seconds_per_byte
                          : kFastest;
  return {.name = profile.host,
          .nodes = {{.name = profile.host,
                     .speeds = std::vector<double>(static_cast<std::size_t>(devices), 1.0),
                     .memory_bytes = profile.memory_bytes / (has_gpus ? 1 : devices),
                     .cores = has_gpus ? 0 : profile.cores}},
          .inside = {.latency_seconds = profile.wake_seconds, .bytes_per_second = rate}};
}

Cluster profiled_hosts(const Profile& profile) {
  Cluster cluster = profiled_host(profile);
  if (!profile.links) {
    return cluster;
  }
  const ClusterNode like = cluster.nodes.front();
  cluster.nodes.clear();
  for (const std::string& host : profile.links->hosts) {
    cluster.nodes.push_back(like);
    cluster.nodes.back().name = host;
  }
  cluster.name = fmt::format("{} hosts", cluster.nodes.size());
  return with_links(std::move(cluster), *profile.links);
}

Planner::Planner(JobSpec job, Profile profile, const std::string& profile_name, Cluster cluster)
    : job_(with_phases(std::move(job), profile)),
      profile_(fitting(std::move(profile), profile_name, job_)),
      cluster_(std::move(cluster)),
      costs_(profile_, gan::phases_of(job_), job_) {}

Candidate first_layout(const JobSpec& job, const std::filesystem::path& profile, int workers) {
  Profile read = read_profile(profile);
  Cluster host = profiled_host(read);
  const Planner planner(job, std::move(read), profile.string(), std::move(host));
  Search search =
      search_layouts(planner.input(), {.rows = 1, .workers = workers, .shapes = Shapes::kAll});
  if (!search.ranking.front().fits) {
    throw ConfigError(fmt::format(
        "{}: no layout of this job fits into this machine's memory, the nearest is {}; use more "
        "micro-batches of fewer images each, or run it without a plan",
        profile.string(), describe(search.ranking.front().candidate)));
  }
  return runnable(std::move(search.ranking.front().candidate), job, planner.input().cluster);
}

std::optional<WorkerMemory> planned_memory(const JobSpec& job, const std::filesystem::path& profile,
                                           int workers) {
  try {
    Profile read = read_profile(profile);
    Cluster host = profiled_host(read);
    const Planner planner(job, std::move(read), profile.string(), std::move(host));
    if (workers > planner.input().cluster.num_devices()) {
      return std::nullopt;
    }
    return predict_placed(planner.input(), workers).memory;
  } catch (const ConfigError&) {
    return std::nullopt;
  }
}

int make_plan(const PlanOptions& options, const Environment& environment) {
  JobSpec job = load_job({.file = options.job,
                          .text = std::nullopt,
                          .overrides = options.overrides,
                          .environment = gangway_variables(environment)})
                    .spec;
  const std::filesystem::path file =
      options.profile.empty() ? default_profile_file(options.job) : options.profile;
  Profile profile = read_profile(file);
  Cluster cluster = options.as_is             ? grown_host(profile, options.workers)
                    : options.cluster.empty() ? profiled_hosts(profile)
                                              : read_cluster(options.cluster, options.devices);
  if (!options.links.empty()) {
    cluster = with_links_of(std::move(cluster), options.links);
  }
  for (const std::string& what_if : options.what_ifs) {
    cluster = with_what_if(std::move(cluster), what_if);
  }
  const Planner planner(std::move(job), std::move(profile), file.string(), std::move(cluster));
  const PlanInput input = planner.input();
  const Search search =
      options.as_is
          ? Search{.ranking = {predict_placed(input, options.workers)}, .simulated = 1}
          : search_layouts(input, {.rows = options.rows,
                                   .workers = options.workers,
                                   .shapes = options.whole ? Shapes::kWhole : Shapes::kAll});
  const TypedJob typed{
      .file = options.job.string(), .overrides = options.overrides, .program = options.program};
  std::cout << (options.json ? plan_json(search, input, typed) : plan_text(search, input, typed))
            << std::flush;
  if (!options.schedule.empty()) {
    write_schedule(schedule_texts(input, search.ranking.front().candidate), options.schedule);
  }
  return static_cast<int>(ExitCode::kDone);
}

}  // namespace gangway::plan
