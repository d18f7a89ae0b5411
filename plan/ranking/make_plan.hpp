// SPDX-License-Identifier: MIT
// `gangway plan`: reads job, profile and cluster, and prints the best layouts. Main thread.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/environment.hpp"
#include "job/spec.hpp"
#include "plan/machines/cluster.hpp"
#include "plan/predict.hpp"
#include "plan/profiles/profile.hpp"

namespace gangway::plan {

struct PlanOptions {
  std::filesystem::path job;
  std::vector<std::string> overrides;
  std::filesystem::path profile;  ///< empty: default_profile_file()
  std::filesystem::path cluster;  ///< empty: the host that was profiled
  std::filesystem::path devices;  ///< folder of kinds of devices that a cluster file may name
  std::filesystem::path links;    ///< run folder whose measured links to use; empty: none
  std::vector<std::string> what_ifs;
  int workers = 0;  ///< 0: any number
  std::size_t rows = 10;
  bool whole = false;              ///< whether to rank only data-parallel layouts
  bool as_is = false;              ///< whether to predict only the job's own layout, of `workers`
  std::filesystem::path schedule;  ///< folder for the first layout's lists; "-": standard output
  bool json = false;
  std::string program = "gangway";  ///< as the user typed it, for the printed command
};

/// Returns the profiled host with its GPUs, or with a device for every `threads` cores.
[[nodiscard]] Cluster profiled_host(const Profile& profile);
/// Returns all hosts of the profile's links, each like the profiled one; without links only that.
[[nodiscard]] Cluster profiled_hosts(const Profile& profile);

/// Owns a job and all inputs of a prediction, read and checked.
class Planner {
 public:
  /// @throws ConfigError if the profile belongs to another job
  Planner(JobSpec job, Profile profile, const std::string& profile_name, Cluster cluster);
  Planner(const Planner&) = delete;
  Planner& operator=(const Planner&) = delete;
  [[nodiscard]] PlanInput input() const { return {job_, profile_, costs_, cluster_}; }

 private:
  JobSpec job_;
  Profile profile_;
  Cluster cluster_;
  StepCosts costs_;
};

/// Returns the layout that a plan for the profiled host ranks first.
/// @param job      with the overrides and environment of its run
/// @param workers  0: any number
/// @throws ConfigError, also if no layout fits into memory
[[nodiscard]] Candidate first_layout(const JobSpec& job, const std::filesystem::path& profile,
                                     int workers);

/// Returns the memory that `profile` predicts for `job` under its own layout, of the worker that
/// needs most. Returns nullopt if the profile cannot be read, belongs to another job, or is of a
/// machine with fewer devices than `workers`.
[[nodiscard]] std::optional<WorkerMemory> planned_memory(const JobSpec& job,
                                                         const std::filesystem::path& profile,
                                                         int workers);

/// Makes a plan and prints it. @return exit code. @throws ConfigError
[[nodiscard]] int make_plan(const PlanOptions& options, const Environment& environment);

}  // namespace gangway::plan
