// SPDX-License-Identifier: MIT
// Reads a tar. Corrects the sums of its headers first, because nearly no input would pass them.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "base/errors.hpp"
#include "data/archives/tar_index.hpp"
#include "tests/fuzz/memory_container.hpp"

namespace {

constexpr std::size_t kBlock = 512;
constexpr std::size_t kSum = 148;
constexpr std::size_t kSumBytes = 8;

/// Corrects each block that may be a header: one with bytes in the place of its sum.
void put_right(std::vector<std::uint8_t>& tar) {
  for (std::size_t at = 0; at + kBlock <= tar.size(); at += kBlock) {
    const auto block = std::span(tar).subspan(at, kBlock);
    if (block[kSum] == 0) {
      continue;
    }
    std::fill_n(block.begin() + kSum, kSumBytes, ' ');
    unsigned sum = 0;
    for (const std::uint8_t byte : block) {
      sum += byte;
    }
    char digits[kSumBytes + 1] = {};
    (void)std::snprintf(digits, sizeof digits, "%06o", sum);
    std::copy_n(digits, 7, block.begin() + kSum);
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const gangway::fuzz::TimeLimit limit;
  std::vector<std::uint8_t> file(data, data + size);
  put_right(file);
  const auto& tar = gangway::fuzz::container_of(file.data(), file.size());
  try {
    for (const gangway::data::TarMember& member : gangway::data::read_tar(tar)) {
      gangway::fuzz::require_within(tar, member.part);
      if (member.name.starts_with('/') ||
          ("/" + member.name + "/").find("/../") != std::string::npos) {
        gangway::fuzz::fail("a path out of the tar");
      }
    }
  } catch (const gangway::ConfigError&) {
    // A refusal in one line is the expected result.
  }
  return 0;
}
