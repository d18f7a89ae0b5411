// SPDX-License-Identifier: MIT
// Makes and maps named memory that processes of one host share: one /dev/shm file per segment.
// Called by comm/host/host_group.cpp. A worker's start and `gangway doctor` remove segments that a
// killed process left. Any thread.
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
inline void unmap(MappedRange range) noexcept { (void)::munmap(range.data, range.bytes); }
using MappedMemory = UniqueHandle<MappedRange, unmap>;

/// Returns at least `bytes` of zeroed memory, not shared. @throws EnvironmentError
[[nodiscard]] MappedMemory map_private(std::size_t bytes);

/// Owns a segment's name and the claim on it. The file gets its full size and the claim before its
/// name, so no process sees a partial segment. The claim is a lock that the kernel releases when
/// the creator dies, so a segment without a claim was left behind. This also holds across pid
/// namespaces and with reused process ids.
class SharedSegment {
 public:
  /// Makes `bytes` of zeroes (at least one), mode 0600. Replaces a file of that name whose creator
  /// is dead.
  /// @throws EnvironmentError if memory is short (message: needed, free, remedy), or if the name
  /// is in use
  SharedSegment(std::filesystem::path path, std::size_t bytes);
  SharedSegment(SharedSegment&&) noexcept = default;
  SharedSegment& operator=(SharedSegment&&) = delete;
  ~SharedSegment() { remove_name(); }
  SharedSegment(const SharedSegment&) = delete;
  SharedSegment& operator=(const SharedSegment&) = delete;

  /// Maps it to read and write; the mapping outlives this object. @throws EnvironmentError
  [[nodiscard]] MappedMemory map() const;
  /// Removes the name: existing mappings stay, new ones are impossible. May be called twice.
  void remove_name() noexcept;

 private:
  std::filesystem::path path_;
  std::size_t bytes_;
  FileDescriptor file_;
};

enum class SegmentAccess { kRead, kReadWrite };

/// Maps an existing segment whole. Returns empty if no segment of that name has a living creator.
/// @throws EnvironmentError if it belongs to another user or cannot be mapped
[[nodiscard]] MappedMemory map_segment(const std::filesystem::path& path, SegmentAccess access);

/// Whether a segment of that name exists (not all have mapped it yet) and its creator lives.
[[nodiscard]] bool is_segment_in_use(const std::filesystem::path& path);

/// Removes this user's segments in `folder` whose creator is dead. Returns their number; 0 if the
/// folder cannot be read.
std::size_t reap_segments(const std::filesystem::path& folder = kSharedMemoryFolder);

}  // namespace gangway
