// SPDX-License-Identifier: MIT
// Removes Open MPI's shared memory files (/dev/shm, one per rank) that a killed launcher left.
// Open MPI passes messages within a host through them; a launcher removes its own at its end.
// Called by `gangway run`, `gangway doctor` and a worker's start. Any thread.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>

#include "base/shared_segment.hpp"

namespace gangway {

/// Names of such files in Open MPI 4 and 5: PREFIX + HOST.UID.JOB.RANK, with JOB in hexadecimal.
inline constexpr std::array<std::string_view, 2> kMessageSegmentPrefixes{"vader_segment.",
                                                                         "sm_segment."};

/// Least age of a file that is removed: a process of another container may use it unseen. After
/// this time that process has mapped the file and no longer needs its name.
inline constexpr std::chrono::seconds kMessageSegmentAge{60};

struct ReapedMessageSegments {
  std::size_t removed = 0;
  std::uintmax_t bytes = 0;  ///< memory freed
};

/// Removes this user's segments in `folder` that no process has mapped and that have not changed
/// for `age`.
ReapedMessageSegments reap_message_segments(
    const std::filesystem::path& folder = kSharedMemoryFolder,
    std::chrono::seconds age = kMessageSegmentAge);

/// Returns Open MPI's number of a job: JOB in the names of its segments. 0: another launcher.
/// @param name  PMIX_NAMESPACE of the job's ranks: the number in Open MPI 4, "prterun-HOST-PID@1"
/// in 5
std::uint32_t message_job(std::string_view name);

/// Removes the segments of one job of this user. @pre the job's processes on this host are dead
/// @param job  of message_job()
ReapedMessageSegments remove_message_segments(
    std::uint32_t job, const std::filesystem::path& folder = kSharedMemoryFolder);

}  // namespace gangway
