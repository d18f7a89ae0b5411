// SPDX-License-Identifier: MIT
// The input of a fuzz target as an archive file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <sys/mman.h>
#include <unistd.h>

#include "data/archives/file_part.hpp"
#include "tests/fuzz/target.hpp"

namespace gangway::fuzz {

/// Returns a file in memory, always the same one.
inline const data::Container& container_of(const std::uint8_t* bytes, std::size_t size) {
  static data::Container container{
      .path = "fuzzed", .file = FileDescriptor(::memfd_create("fuzz", MFD_CLOEXEC)), .stamp = {}};
  if (::ftruncate(container.file.get(), 0) != 0 ||
      ::pwrite(container.file.get(), bytes, size, 0) != static_cast<ssize_t>(size)) {
    fail("no file in memory");
  }
  container.stamp.bytes = static_cast<std::int64_t>(size);
  return container;
}

/// Returns a path by which a reader can open the archive.
inline std::string path_of(const data::Container& container) {
  return "/proc/self/fd/" + std::to_string(container.file.get());
}

/// Requires that a found part lies inside the file.
inline void require_within(const data::Container& container, data::FilePart part) {
  if (part.offset > container.bytes() || part.bytes > container.bytes() - part.offset) {
    fail("a part was found that is not in the file");
  }
}

}  // namespace gangway::fuzz
