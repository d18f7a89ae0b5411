// SPDX-License-Identifier: MIT
// Flips random bits in a checkpoint, and cuts its files off, as often as asked: everything must be
// found, nothing may crash. Prints one line of counts; exit code 1 at the first damage that passes.
//
//   checkpoint_corruption CHECKPOINT FLIPS SEED   changes the files in place and puts them back:
//                                                 give it a copy
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/errors.hpp"
#include "base/file_descriptor.hpp"
#include "checkpoint/store/verify.hpp"
#include "checkpoint/tools/digest.hpp"

namespace {

namespace fs = std::filesystem;
namespace store = gangway::checkpoint;

constexpr std::uint64_t kPage = 4096;

/// False when the checkpoint verifies, or its digest is taken, all the same.
bool is_found(const fs::path& checkpoint) {
  try {
    (void)store::verify_checkpoint(checkpoint);
    return false;
  } catch (const gangway::CheckpointError&) {
    return true;
  }
}

void flip(const fs::path& file, std::uint64_t bit) {
  const gangway::FileDescriptor fd(::open(file.c_str(), O_RDWR | O_CLOEXEC));
  unsigned char byte = 0;
  const auto offset = static_cast<off_t>(bit / 8);
  if (fd.get() < 0 || ::pread(fd.get(), &byte, 1, offset) != 1) {
    throw gangway::EnvironmentError(file.string() + ": cannot be read");
  }
  byte = static_cast<unsigned char>(byte ^ (1U << (bit % 8)));
  if (::pwrite(fd.get(), &byte, 1, offset) != 1) {
    throw gangway::EnvironmentError(file.string() + ": cannot be written");
  }
}

std::vector<fs::path> files_of(const fs::path& checkpoint) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(checkpoint)) {
    files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// A third each: a file's header, the manifest, anywhere.
std::uint64_t random_bit(std::mt19937_64& random, const fs::path& file, std::uint64_t turn) {
  const std::uint64_t bytes = fs::file_size(file);
  return random() % ((turn % 3 == 0 ? std::min(bytes, kPage) : bytes) * 8);
}

void flip_bits(const fs::path& checkpoint, std::uint64_t flips, std::uint64_t seed) {
  const std::vector<fs::path> files = files_of(checkpoint);
  std::mt19937_64 random(seed);
  for (std::uint64_t turn = 0; turn < flips; ++turn) {
    const fs::path& file = files[random() % files.size()];
    const std::uint64_t bit = random_bit(random, file, turn);
    flip(file, bit);
    if (!is_found(checkpoint)) {
      throw gangway::CheckpointError(
          fmt::format("{}: bit {} was flipped and passed", file.string(), bit));
    }
    flip(file, bit);
  }
}

/// At every page, then at every byte of the first, where the header is.
std::uint64_t cut_off(const fs::path& checkpoint) {
  std::uint64_t cuts = 0;
  for (const fs::path& file : files_of(checkpoint)) {
    const fs::path kept = file.string() + ".kept";
    fs::copy_file(file, kept);
    std::uint64_t length = fs::file_size(file);
    while (length > 0) {
      length = length <= kPage ? length - 1 : (length - 1) / kPage * kPage;
      fs::resize_file(file, length);
      if (!is_found(checkpoint)) {
        throw gangway::CheckpointError(
            fmt::format("{}: was cut off at {} and passed", file.string(), length));
      }
      ++cuts;
    }
    fs::rename(kept, file);
  }
  return cuts;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() != 3) {
    fmt::print(stderr, "usage: checkpoint_corruption CHECKPOINT FLIPS SEED\n");
    return static_cast<int>(gangway::ExitCode::kUsage);
  }
  try {
    const fs::path checkpoint = arguments[0];
    const std::uint64_t flips = std::stoull(arguments[1]);
    const std::string before = store::digest(checkpoint);
    flip_bits(checkpoint, flips, std::stoull(arguments[2]));
    const std::uint64_t cuts = cut_off(checkpoint);
    if (store::digest(checkpoint) != before) {
      throw gangway::CheckpointError("the campaign itself changed the checkpoint");
    }
    fmt::print("{} flipped bits, {} truncations: all found\n", flips, cuts);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
