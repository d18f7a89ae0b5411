// SPDX-License-Identifier: MIT
#include <filesystem>

#include <gtest/gtest.h>

#include "job/file/parse.hpp"

namespace gangway {
namespace {

TEST(Examples, AreAllRightAndRunAgainResolved) {
  int num_examples = 0;
  for (const auto& entry : std::filesystem::directory_iterator("examples")) {
    if (entry.path().extension() != ".yaml") {
      continue;
    }
    ++num_examples;
    JobSources sources;
    sources.file = entry.path();
    const ResolvedJob job = load_job(sources);
    EXPECT_EQ(parse_job(job.yaml, "job.yaml"), job.spec) << entry.path();
  }
  EXPECT_GE(num_examples, 9);
}

}  // namespace
}  // namespace gangway
