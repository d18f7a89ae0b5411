// SPDX-License-Identifier: MIT
// Shared memory of others' libraries on this host (Open MPI's, NCCL's, PyTorch's …): whose it is,
// how much, and whether a living process has it. Called by `gangway doctor`; changes nothing.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include <sys/types.h>

namespace gangway::launch {

enum class SegmentUse {
  kMapped,
  kUnmapped,
  kUnknown,  ///< another user's, whose processes cannot be looked into
};

struct ForeignSegment {
  std::filesystem::path file;
  std::string library;  ///< "Open MPI"
  uid_t user = 0;
  std::size_t bytes = 0;  ///< of memory, whatever the file's length
  SegmentUse use = SegmentUse::kUnknown;
};

/// Files in `folder` with the names of libraries that are known here, sorted by name.
/// @param processes  where the maps of processes are looked for
[[nodiscard]] std::vector<ForeignSegment> find_foreign_segments(
    const std::filesystem::path& folder, const std::filesystem::path& processes = "/proc");

/// "2 in use (8.0 MiB); 1 of root that no process has mapped (4.0 MiB), to remove: rm --
/// /dev/shm/…": of the segments of one library. @pre at least one
[[nodiscard]] std::string describe_segments(const std::vector<ForeignSegment>& segments);

/// The user's name, or the number where it has none.
[[nodiscard]] std::string user_name(uid_t user);

}  // namespace gangway::launch
