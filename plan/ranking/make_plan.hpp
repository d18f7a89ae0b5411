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
  std::filesystem::path links;    ///< a run's folder, whose measured links are meant; empty: none
  std::vector<std::string> what_ifs;
  int workers = 0;  ///< 0: any number
  std::size_t rows = 10;
  bool whole = false;  ///< whether networks apart and stages are left out
  bool as_is = false;  ///< whether the job's own layout alone is predicted, of `workers`
  std::filesystem::path schedule;  ///< folder of the first layout's lists; "-": printed
  bool json = false;
  std::string program = "gangway";  ///< as it was typed, for the command that is printed
};

/// The host that `profile` was measured on: a device a core, and memory shared among them.
[[nodiscard]] Cluster profiled_host(const Profile& profile);
/// All hosts whose links it has, each taken to be like that one; without links that one alone.
[[nodiscard]] Cluster profiled_hosts(const Profile& profile);

/// A job with all that a prediction needs, read and checked.
class Planner {
 public:
  /// @throws ConfigError where the profile is of another job
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

/// What a plan for the machine of the profile would rank first.
/// @param job      with the overrides and environment of its run
/// @param workers  0: any number
/// @throws ConfigError, also where no layout fits into memory
[[nodiscard]] Candidate first_layout(const JobSpec& job, const std::filesystem::path& profile,
                                     int workers);

/// The memory that a plan by `profile` predicts for `job` as its layout stands, of the worker that
/// needs most. Nullopt where the profile cannot be read, is of another job, or of a machine with
/// fewer devices than `workers`.
[[nodiscard]] std::optional<WorkerMemory> planned_memory(const JobSpec& job,
                                                         const std::filesystem::path& profile,
                                                         int workers);

/// @return exit code. @throws ConfigError
[[nodiscard]] int make_plan(const PlanOptions& options, const Environment& environment);

}  // namespace gangway::plan
