// SPDX-License-Identifier: MIT
// Turns a job file into a checked start: everything that `gangway run` reads, decides and checks
// before it makes a run. Main thread.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "job/file/parse.hpp"
#include "launch/fit/fit_to_memory.hpp"
#include "launch/process/environment.hpp"
#include "launch/run/job_hosts.hpp"
#include "run/start_request.hpp"

namespace gangway::launch {

/// Command-line options of `gangway run`.
struct RunOptions : StartRequest {
  int workers = 0;  ///< 0: as many as the job and the machine allow
  std::filesystem::path hostfile;
  std::string progress = "auto";  ///< auto, lines, bar
  std::string profile;            ///< profile whose plan gives the layout; empty: as the job says
  bool dry_run = false;
  bool fit = false;      ///< finds changes that fit the memory, and measures a few steps
  bool verbose = false;  ///< prints mpirun's command
};

struct Prepared {
  ResolvedJob read;  ///< as all sources say; its spec lacks hosts that its layout names
  JobSpec job;       ///< to train: `read.spec` on `where`, planned if a plan was requested
  JobHosts where;
  DeviceFacts device = {};  ///< of the workers
  FitQuestion fit = {};     ///< about the memory of this host; bytes 0: workers are on other hosts
  /// Description of the data; empty if workers on other hosts may have other data.
  std::string data = {};
};

/// Reads the job and its hosts, fills in open keys, applies a plan's layout, and checks the user's
/// networks and the data. Prints its findings.
/// @throws ConfigError for faults of the job; EnvironmentError for faults of this machine
[[nodiscard]] Prepared prepare(const RunOptions& asked, const Environment& environment);

/// Checks generator.weights and discriminator.weights without building the networks. The workers
/// compare every name and shape.
/// @throws ConfigError naming the key of a file that is missing, damaged, not float32, or has
/// another number of parameters than the job's network
void require_initial_weights(const JobSpec& spec);

/// Returns `prepared.job` with its auto keys settled as the coordinator will settle them.
/// @param lines  receives a line for each, if not null
[[nodiscard]] JobSpec settled_job(const RunOptions& asked, const Prepared& prepared,
                                  std::vector<std::string>* lines = nullptr);

/// Reads the job's files again; keeps the earlier values of open keys.
[[nodiscard]] ResolvedJob read_again(const RunOptions& asked, const ResolvedJob& before,
                                     const Environment& environment);

/// Returns the job of the run that `options` would resume; nullopt if there is no such run.
[[nodiscard]] std::optional<JobSpec> job_before(const RunOptions& options);

}  // namespace gangway::launch
