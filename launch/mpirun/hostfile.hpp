// SPDX-License-Identifier: MIT
// The hosts of `gangway run --hostfile`: reads what Open MPI would read, and writes it in the one
// form that leaves Open MPI no choice. Called by `gangway run`, main thread.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace gangway::launch {

struct Host {
  std::string name;  ///< as in the file; may be user@name
  int slots = 1;     ///< for workers; 0: only the coordinator may be there
  bool operator==(const Host&) const = default;
};

/// One entry a host, in the order of the file. A host without `slots=` counts as one slot, named
/// again as one more; what else a line says (max_slots, comments) is left out.
/// @throws ConfigError when the file names no host or no slot, or a number of slots is none.
[[nodiscard]] std::vector<Host> parse_hostfile(std::string_view text);

/// The same from a file. @throws ConfigError also when there is none.
[[nodiscard]] std::vector<Host> read_hostfile(const std::filesystem::path& path);

/// Slots for workers.
[[nodiscard]] int count_slots(const std::vector<Host>& hosts);

/// The hostfile for mpirun: one slot more for the coordinator, on the host where rank 0 will be.
/// Another host without slots is left out.
///
/// That is the host where mpirun runs, whatever its place in the file, or else the first one. It is
/// moved to the top, so that ranks, and with them micro-batches, follow the file.
[[nodiscard]] std::string hostfile_with_coordinator(
    std::vector<Host> hosts, const std::function<bool(const std::string&)>& is_this_host);

/// By worker, the name of its host, in the order of hostfile_with_coordinator.
/// @param workers  that are started; those beyond the slots are not listed
[[nodiscard]] std::vector<std::string> hosts_of_workers(
    std::vector<Host> hosts, int workers,
    const std::function<bool(const std::string&)>& is_this_host);

/// What is left where workers of these ranks gave up their slots; a host that lost all its workers
/// has no slot any more.
///
/// @param workers  that were started, from rank 1 on, in the order of hostfile_with_coordinator
/// @param is_this_host  as there
[[nodiscard]] std::vector<Host> hosts_without(
    std::vector<Host> hosts, int workers, const std::vector<int>& ranks,
    const std::function<bool(const std::string&)>& is_this_host);

/// Whether a name or an address, as in a hostfile, is this host's. May ask the name server.
[[nodiscard]] bool is_this_host(const std::string& name);

}  // namespace gangway::launch
