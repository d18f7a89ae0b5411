// SPDX-License-Identifier: MIT
// Reads a safetensors file from its first byte: length field, header, shapes, offsets.
#include <algorithm>
#include <array>

#include <sys/mman.h>
#include <unistd.h>

#include "base/errors.hpp"
#include "checkpoint/format/safetensors_layout.hpp"
#include "tests/fuzz/target.hpp"

namespace {

namespace store = gangway::checkpoint;

/// Returns the input as a file in memory, always the same one.
store::OpenFile& file_of(const std::uint8_t* data, std::size_t size) {
  static store::OpenFile file{.fd = gangway::FileDescriptor(::memfd_create("fuzz", MFD_CLOEXEC))};
  if (::ftruncate(file.fd.get(), 0) != 0 ||
      ::pwrite(file.fd.get(), data, size, 0) != static_cast<ssize_t>(size)) {
    gangway::fuzz::fail("no file in memory");
  }
  file.bytes = size;
  return file;
}

/// Accepted tensors must lie inside the file, without gap or overlap.
void require_inside(const store::FileHeader& header, std::size_t size) {
  std::uint64_t position = 0;
  for (const store::FileEntry& entry : header.entries) {
    std::uint64_t bytes = store::item_size(entry.type);
    for (const std::int64_t extent : entry.shape) {
      bytes *= static_cast<std::uint64_t>(extent);
    }
    if (entry.begin != position || entry.end - entry.begin != bytes) {
      gangway::fuzz::fail("a tensor was accepted where it cannot be");
    }
    position = entry.end;
  }
  if (header.data_begin + position != size) {
    gangway::fuzz::fail("the tensors do not cover the file");
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const gangway::fuzz::TimeLimit limit;
  try {
    require_inside(store::read_header(file_of(data, size), "fuzzed"), size);
  } catch (const gangway::CheckpointError&) {
    // A refusal in one line is the expected result.
  }
  return 0;
}
