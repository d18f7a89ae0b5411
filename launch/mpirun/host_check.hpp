// SPDX-License-Identifier: MIT
// Checks that all hosts of a job can start its ranks and share its run directory. Called by
// `gangway run` before a job starts. mpirun does not report a rank that cannot start. Hosts without
// a shared file system would fail only at the first checkpoint.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "launch/mpirun/hostfile.hpp"
#include "launch/mpirun/mpirun_command.hpp"
#include "launch/process/child.hpp"

namespace gangway::launch {

/// Facts that a rank reports about its host.
struct CheckedHost {
  std::string daemon;  ///< daemon of Open MPI: one per hostfile entry
  std::string memory;  ///< identity of the host's shared memory: kernel and device; "none"
  std::string name;
};

/// Finds two hostfile entries that are one host to Open MPI, or that share memory: Open MPI's
/// transport within a host then crashes. Returns a message with the remedy.
[[nodiscard]] std::optional<std::string> find_twins(const std::vector<CheckedHost>& hosts);

/// Starts `gangway check-host` with mpirun, like the job's ranks, and waits: about 0.3 s.
/// @return duration of the check
/// @param job  with `program` and `hostfile` set. @param run  its directory
/// @throws EnvironmentError naming the first host that fails and the remedy; mpirun's own messages
/// are on standard error before
std::chrono::duration<double> require_ready_hosts(MpirunRequest job,
                                                  const std::filesystem::path& run);

/// Runs `gangway` with these arguments on all hosts at once. Each host has its own mpirun, so that
/// a host that is down does not affect others.
/// @param job  with `program` and `exported_variables` set
/// @param limit  as in output_within
[[nodiscard]] std::vector<ChildOutput> run_on_each(const MpirunRequest& job,
                                                   const std::vector<Host>& hosts,
                                                   const std::vector<std::string>& arguments,
                                                   std::chrono::seconds limit);

/// Returns the time that hosts have to answer: three times `usual`, from 4 s to a minute.
/// @param usual  result of require_ready_hosts
[[nodiscard]] std::chrono::seconds answer_limit(std::chrono::duration<double> usual);

/// Returns the remote hosts on which mpirun cannot start a rank in time: down, cut off, or unable
/// to run a rank. Asks all hosts at once, many hosts by one mpirun first.
/// @param usual  as for answer_limit
[[nodiscard]] std::vector<std::string> find_silent_hosts(MpirunRequest job, std::vector<Host> hosts,
                                                         const std::filesystem::path& run,
                                                         std::chrono::duration<double> usual);

/// Returns a command that prints which of `hosts` answer find_silent_hosts.
[[nodiscard]] std::vector<std::string> command_that_asks(const MpirunRequest& job,
                                                         const std::vector<Host>& hosts,
                                                         const std::filesystem::path& run,
                                                         std::chrono::duration<double> usual);

/// Parses the output of `gangway count-gpus`; 0: no output.
[[nodiscard]] int gpus_in(const std::string& said);

}  // namespace gangway::launch
