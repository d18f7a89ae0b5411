// SPDX-License-Identifier: MIT
// The memory through which Open MPI passes messages within a host: files in /dev/shm, one a rank,
// that its launcher removes. A launcher that was killed leaves them; they are reaped here. Called
// by `gangway run`, `gangway doctor` and a worker's start. Any thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>

#include "base/shared_segment.hpp"

namespace gangway {

/// How Open MPI's transport within a host names them: vader_segment.HOST.UID.JOB.RANK, the job in
/// hexadecimal.
inline constexpr std::string_view kMessageSegmentPrefix = "vader_segment.";

/// A process of another container cannot be seen to use a file. After so long it has mapped what it
/// needs, and a name less does it no harm.
inline constexpr std::chrono::seconds kMessageSegmentAge{60};

struct ReapedMessageSegments {
  std::size_t removed = 0;
  std::uintmax_t bytes = 0;  ///< memory that came free
};

/// Removes this user's segments in `folder` that no process has mapped and that are unchanged for
/// `age`.
ReapedMessageSegments reap_message_segments(
    const std::filesystem::path& folder = kSharedMemoryFolder,
    std::chrono::seconds age = kMessageSegmentAge);

/// Removes those of one of this user's jobs, whose processes are dead on this host.
/// @param job  Open MPI's number of it (PMIX_NAMESPACE in the environment of its ranks)
ReapedMessageSegments remove_message_segments(
    std::uint32_t job, const std::filesystem::path& folder = kSharedMemoryFolder);

}  // namespace gangway
