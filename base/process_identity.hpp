// SPDX-License-Identifier: MIT
// Which process, beyond doubt: what may be killed, or believed to be dead. Hosts' names are for
// people: two hosts may have the same, and a container another than its host. Any thread.
#pragma once

#include <cstdint>
#include <string>

namespace gangway {

/// A process id is reused, so the start time goes with it; it means nothing in another boot (of
/// this or another host) or in another process-id namespace (a container), so these go too.
struct ProcessIdentity {
  std::string boot_id;
  std::string pid_namespace;
  std::int64_t pid = 0;
  std::uint64_t start_ticks = 0;  ///< field 22 of /proc/PID/stat, proc(5)
  bool operator==(const ProcessIdentity&) const = default;
};

/// The calling process.
[[nodiscard]] ProcessIdentity own_process();

/// Start time of a process of this namespace in clock ticks since boot; 0: there is none, or it is
/// a zombie (proc(5), state Z): for ever in a container whose first process reaps no children.
[[nodiscard]] std::uint64_t start_ticks_of(std::int64_t pid);

/// Ends the process by SIGKILL, if it is one that the caller can tell from all others: of this boot
/// and namespace, and still the one that began then. @return whether it was sent the signal.
bool kill_process(const ProcessIdentity& process);

/// Equal for two processes exactly if they can share memory: they run under one kernel and see one
/// /dev/shm.
[[nodiscard]] std::uint64_t shared_memory_identity();

}  // namespace gangway
