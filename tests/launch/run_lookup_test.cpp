// SPDX-License-Identifier: MIT
#include "launch/checkpoints/run_lookup.hpp"

#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "run/run_directory.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::launch {
namespace {

TEST(RunReference, SplitsNameAndStep) {
  const RunReference plain = parse_run_reference("first");
  EXPECT_EQ(plain.run, "first");
  EXPECT_FALSE(plain.step);
  const RunReference stepped = parse_run_reference("runs/00000-first@120");
  EXPECT_EQ(stepped.run, "runs/00000-first");
  EXPECT_EQ(stepped.step, 120);
}

TEST(RunReference, RefusesStepsThatAreNoNumbers) {
  for (const char* text : {"first@", "first@x", "first@-1", "first@1x"}) {
    EXPECT_THROW((void)parse_run_reference(text), ConfigError) << text;
  }
}

TEST(RunReference, FindsRunsByDirectoryAndByName) {
  const testing::ScratchFolder scratch;
  const auto run = create_run(scratch.path(), "first");
  EXPECT_EQ(find_run_directory({.run = "first", .step = {}}, scratch.path()), run);
  EXPECT_EQ(find_run_directory({.run = run.string(), .step = {}}, "elsewhere"), run);
  EXPECT_THROW((void)find_run_directory({.run = "second", .step = {}}, scratch.path()),
               ConfigError);
  EXPECT_THROW(
      (void)find_run_directory(parse_run_reference(std::string(5'000, 'x') + "@1"), "runs"),
      ConfigError);
}

TEST(RunReference, TakesAFolderOfPicturesForNoRunThatHasItsName) {
  const testing::ScratchFolder scratch;
  const auto run = create_run(scratch.path() / "runs", "photos");
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::create_directory(scratch.path() / "photos");
  std::filesystem::current_path(scratch.path());
  EXPECT_EQ(find_run_directory({.run = "photos", .step = {}}, scratch.path() / "runs"), run);
  std::filesystem::current_path(before);
}

}  // namespace
}  // namespace gangway::launch
