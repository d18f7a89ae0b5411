// SPDX-License-Identifier: MIT
// Parses a job file.
#include <string_view>

#include "job/file/parse.hpp"
#include "tests/fuzz/target.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const gangway::fuzz::TimeLimit limit;
  try {
    const gangway::JobSpec job =
        gangway::parse_job(std::string_view(reinterpret_cast<const char*>(data), size), "fuzzed");
    const std::string again = gangway::to_yaml(job);
    if (gangway::to_yaml(gangway::parse_job(again, "again")) != again) {
      gangway::fuzz::fail("what was accepted is not what is written");
    }
  } catch (const gangway::JobFileError&) {
    // A refusal with its lines is the expected result.
  }
  return 0;
}
