// SPDX-License-Identifier: MIT
// Identifies a process exactly, so that it may be killed or declared dead. Host names do not serve:
// two hosts may have the same name, and a container another name than its host. Any thread.
#pragma once

#include <cstdint>
#include <string>

namespace gangway {

/// The identity of a process. The start time tells processes apart that reuse a process id. Boot
/// and namespace are needed because ids are valid only in one boot and one container.
struct ProcessIdentity {
  std::string boot_id;
  std::string pid_namespace;
  std::int64_t pid = 0;
  std::uint64_t start_ticks = 0;  ///< field 22 of /proc/PID/stat, proc(5)
  bool operator==(const ProcessIdentity&) const = default;
};

/// Returns the identity of the calling process.
[[nodiscard]] ProcessIdentity own_process();

/// Returns the start time of a process of this namespace, in clock ticks since boot. Returns 0 if
/// there is none, or it is a zombie: a container's first process may never reap its children.
[[nodiscard]] std::uint64_t start_ticks_of(std::int64_t pid);

/// Sends SIGKILL to the process if it is of this boot and namespace and has the same start time.
/// @return whether the signal was sent
bool kill_process(const ProcessIdentity& process);

/// Returns a number that two processes share exactly if they can share memory. Such processes run
/// under one kernel and see one /dev/shm.
[[nodiscard]] std::uint64_t shared_memory_identity();

}  // namespace gangway
