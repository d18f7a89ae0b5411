// SPDX-License-Identifier: MIT
#include "bench/store/plain_disk.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/errors.hpp"
#include "base/file_descriptor.hpp"

namespace gangway::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBlock = std::size_t{4} << 20U;
constexpr mode_t kMode = 0600;

[[noreturn]] void fail(const fs::path& path, const char* what, int error) {
  throw EnvironmentError(
      fmt::format("{}: {}: {}: name a folder on a local disk with free space by "
                  "--outdir",
                  path.string(), what, std::strerror(error)));
}

/// Fills `block` with random bytes, which no disk can compress.
void fill(std::span<std::byte> block) {
  std::uint64_t state = 0x9E3779B97F4A7C15U;  // xorshift64 (Marsaglia, 2003)
  for (std::size_t i = 0; i < block.size(); i += sizeof state) {
    state ^= state << 13U;
    state ^= state >> 7U;
    state ^= state << 17U;
    std::memcpy(&block[i], &state, sizeof state);
  }
}

FileDescriptor open_direct(const fs::path& path, int flags) {
  FileDescriptor file(::open(path.c_str(), flags | O_DIRECT | O_CLOEXEC, kMode));
  if (!file) {
    fail(path, "cannot be opened for direct I/O", errno);
  }
  return file;
}

}  // namespace

PlainFile::PlainFile(fs::path path, std::size_t bytes)
    : path_(std::move(path)),
      bytes_((bytes + checkpoint::kDirectAlignment - 1) / checkpoint::kDirectAlignment *
             checkpoint::kDirectAlignment),
      block_(kBlock) {
  fill(block_.bytes());
}

void PlainFile::write() {
  std::error_code ignored;  // open_direct() reports the cause
  fs::remove(path_, ignored);
  const FileDescriptor file = open_direct(path_, O_WRONLY | O_CREAT | O_EXCL);
  if (const int error = ::posix_fallocate(file.get(), 0, static_cast<off_t>(bytes_)); error != 0) {
    fail(path_, "space cannot be reserved", error);
  }
  for (std::size_t done = 0; done < bytes_;) {
    const ssize_t written =
        ::write(file.get(), block_.bytes().data(), std::min(kBlock, bytes_ - done));
    if (written <= 0 && errno != EINTR) {
      fail(path_, "cannot be written", errno);
    }
    done += written > 0 ? static_cast<std::size_t>(written) : 0;
  }
  if (::fsync(file.get()) != 0) {
    fail(path_, "cannot be synced", errno);
  }
}

void PlainFile::read() {
  const FileDescriptor file = open_direct(path_, O_RDONLY);
  while (true) {
    const ssize_t got = ::read(file.get(), block_.bytes().data(), kBlock);
    if (got == 0) {
      return;
    }
    if (got < 0 && errno != EINTR) {
      fail(path_, "cannot be read", errno);
    }
  }
}

}  // namespace gangway::bench
