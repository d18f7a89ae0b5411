// SPDX-License-Identifier: MIT
// Whether all hosts of a job can start its ranks and share its run directory, asked by `gangway
// run` before the job starts: afterwards mpirun keeps silent about a rank that cannot start, and
// hosts that do not share a file system would notice at the first checkpoint.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "launch/mpirun/hostfile.hpp"
#include "launch/mpirun/mpirun_command.hpp"
#include "launch/process/command_line.hpp"
#include "launch/process/command_output.hpp"

namespace gangway::launch {

/// A host as a rank on it sees it.
struct CheckedHost {
  std::string daemon;  ///< of Open MPI: one an entry of the hostfile
  std::string memory;  ///< the shared memory of the host: kernel and device; "none"
  std::string name;
};

/// Two entries of a hostfile that are one host to Open MPI, or share its memory: its transport
/// within a host then crashes. Says which, and the remedy.
[[nodiscard]] std::optional<std::string> find_twins(const std::vector<CheckedHost>& hosts);

/// Starts `gangway check-host` as mpirun would start the job's ranks, and waits for them: some 0.3
/// s. @return how long that took
/// @param job whose `program` and `hostfile` are set. @param run its directory.
/// @throws EnvironmentError that names the first host in trouble and the remedy; where mpirun has
/// more to say, it is on standard error before.
std::chrono::duration<double> require_ready_hosts(MpirunRequest job,
                                                  const std::filesystem::path& run);

/// `gangway` with these arguments on each of the hosts, all at once, by an mpirun each: one that is
/// down spoils no other's.
/// @param job  whose `program` and `exported_variables` are set
/// @param limit  s; what has not ended by then is killed
[[nodiscard]] std::vector<CommandOutput> run_on_each(const MpirunRequest& job,
                                                     const std::vector<Host>& hosts,
                                                     const std::vector<std::string>& arguments,
                                                     int limit);

/// Those of `hosts`, this one aside, on which mpirun cannot start a rank in time: they are down,
/// cut off, or do not have what a rank needs. Asks all at once; many by one mpirun at first.
/// @param usual  as of require_ready_hosts; three times that is in time, and 4 s always
[[nodiscard]] std::vector<std::string> find_silent_hosts(MpirunRequest job, std::vector<Host> hosts,
                                                         const std::filesystem::path& run,
                                                         std::chrono::duration<double> usual);

/// A command that prints those of `hosts` that are not silent, by the same question.
[[nodiscard]] std::vector<std::string> command_that_asks(const MpirunRequest& job,
                                                         const std::vector<Host>& hosts,
                                                         const std::filesystem::path& run,
                                                         std::chrono::duration<double> usual);

/// What `gangway count-gpus` has said on a host; 0: nothing.
[[nodiscard]] int gpus_in(const std::string& said);

/// `gangway check-host`, what a rank of that looks at, `gangway ask-hosts`, and `gangway
/// count-gpus`; all hidden.
void add_host_commands(CLI::App& app, CommandLine& line);

}  // namespace gangway::launch
