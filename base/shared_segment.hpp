// SPDX-License-Identifier: MIT
// Named memory that the processes of one host share: files in /dev/shm, one a segment. Made by
// comm/host/host_group.cpp; what a killed process has left behind is found by the worker's start
// and by `gangway doctor`. Any thread.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include <sys/mman.h>

#include "base/file_descriptor.hpp"
#include "base/unique_handle.hpp"

namespace gangway {

inline constexpr const char* kSharedMemoryFolder = "/dev/shm";
inline constexpr const char* kSegmentPrefix = "gangway-";

struct MappedRange {
  void* data = nullptr;
  std::size_t bytes = 0;
  bool operator==(const MappedRange&) const = default;
};
struct MappedMemoryTraits {
  using type = MappedRange;
  static type null() noexcept { return {}; }
  static void release(type range) noexcept { (void)::munmap(range.data, range.bytes); }
};
using MappedMemory = UniqueHandle<MappedMemoryTraits>;

/// Zeroed memory of this process alone, at least `bytes`. @throws EnvironmentError
[[nodiscard]] MappedMemory map_private(std::size_t bytes);

/// The name of a segment and the claim on it. The file has its full size, and its creator's claim,
/// before it has a name, so no process sees a partial one. The claim is a lock that the kernel ends
/// with the creator: a segment without one was left behind. That holds across pid namespaces and
/// for reused process ids.
class SharedSegment {
 public:
  /// `bytes` of zeroes (at least one), mode 0600. A file of that name whose creator is dead is
  /// replaced.
  /// @throws EnvironmentError where the memory is too small (needed, free, remedy), or the name is
  /// in use.
  SharedSegment(std::filesystem::path path, std::size_t bytes);
  SharedSegment(SharedSegment&&) noexcept = default;
  SharedSegment& operator=(SharedSegment&&) = delete;
  ~SharedSegment() { remove_name(); }
  SharedSegment(const SharedSegment&) = delete;
  SharedSegment& operator=(const SharedSegment&) = delete;

  /// Readable and writable; outlives this object. @throws EnvironmentError
  [[nodiscard]] MappedMemory map() const;
  /// Existing mappings stay; new ones are impossible. May be called twice.
  void remove_name() noexcept;

 private:
  std::filesystem::path path_;
  std::size_t bytes_;
  FileDescriptor file_;
};

enum class SegmentAccess { kRead, kReadWrite };

/// Maps the whole of an existing segment; empty where there is none of that name whose creator
/// lives.
/// @throws EnvironmentError where it belongs to another user or cannot be mapped.
[[nodiscard]] MappedMemory map_segment(const std::filesystem::path& path, SegmentAccess access);

/// Whether there is a segment of that name, not yet mapped by all, whose creator lives.
[[nodiscard]] bool is_segment_in_use(const std::filesystem::path& path);

/// Removes the segments in `folder` whose creator no longer lives; those of other users and of the
/// living stay. Returns how many; a folder that cannot be read has none.
std::size_t reap_segments(const std::filesystem::path& folder = kSharedMemoryFolder);

}  // namespace gangway
