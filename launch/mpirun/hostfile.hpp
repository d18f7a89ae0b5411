// SPDX-License-Identifier: MIT
// Hosts of `gangway run --hostfile`: reads Open MPI's format, and writes an unambiguous hostfile
// for mpirun. Called by `gangway run`, main thread.
#pragma once

#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/index.hpp"

namespace gangway::launch {

struct Host {
  std::string name;  ///< as in the hostfile; may be user@name
  int slots = 1;     ///< for workers; 0: only the coordinator may run there
  bool operator==(const Host&) const = default;
};

/// Returns one entry per host, in file order. A host without `slots=` counts as one slot, and each
/// repetition adds one. Ignores other options (max_slots) and comments.
/// @throws ConfigError if the file names no host or no slot, or a slot count is not a number
[[nodiscard]] std::vector<Host> parse_hostfile(std::string_view text);

/// Reads and parses a hostfile. @throws ConfigError also if it does not exist
[[nodiscard]] std::vector<Host> read_hostfile(const std::filesystem::path& path);

/// Returns the number of slots for workers.
[[nodiscard]] int count_slots(const std::vector<Host>& hosts);

/// Formats the hostfile for mpirun. The host of rank 0 gets one more slot, for the coordinator, and
/// moves to the top. Drops other hosts without slots. Rank 0 is on the host that runs mpirun,
/// wherever the file lists it, or else on the first host. Ranks, and therefore micro-batches,
/// follow the order of the file.
[[nodiscard]] std::string hostfile_with_coordinator(
    std::vector<Host> hosts, const std::function<bool(const std::string&)>& is_this_host);

/// Returns each worker's host name, in the order of hostfile_with_coordinator.
/// @param workers  number to start; workers beyond the slots are not listed
[[nodiscard]] std::vector<std::string> hosts_of_workers(
    std::vector<Host> hosts, int workers,
    const std::function<bool(const std::string&)>& is_this_host);

/// Returns the hosts without the slots of the workers of these ranks. A host that lost all its
/// workers has no slot any more.
/// @param workers  number started, from rank 1 on, in the order of hostfile_with_coordinator
/// @param is_this_host  as in hostfile_with_coordinator
[[nodiscard]] std::vector<Host> hosts_without(
    std::vector<Host> hosts, int workers, const std::set<Rank>& ranks,
    const std::function<bool(const std::string&)>& is_this_host);

/// True if a name or address of a hostfile is this host. May query the name server.
[[nodiscard]] bool is_this_host(const std::string& name);

}  // namespace gangway::launch
