// SPDX-License-Identifier: MIT
// Runs a fuzz target on files without libFuzzer, so that the corpus is an ordinary test.
//
//   fuzz_replay_NAME FOLDER
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/fuzz/target.hpp"

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() != 1) {
    (void)std::fprintf(stderr, "usage: fuzz_replay FOLDER\n");
    return 2;
  }
  gangway::fuzz::time_scale = 100;
  std::size_t inputs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(arguments[0])) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string content{std::istreambuf_iterator<char>(file),
                              std::istreambuf_iterator<char>()};
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(content.data());
    (void)LLVMFuzzerTestOneInput(bytes, content.size());
    for (std::size_t length = 0; length < std::min<std::size_t>(content.size(), 64); ++length) {
      (void)LLVMFuzzerTestOneInput(bytes, length);
    }
    ++inputs;
  }
  std::printf("%zu inputs: read or refused\n", inputs);
  return inputs == 0 ? 1 : 0;
}
