// SPDX-License-Identifier: MIT
#include "launch/mpirun/session_folder.hpp"

#include <cstdlib>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "launch/process/child.hpp"
#include "launch/process/environment.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::launch {
namespace {

namespace fs = std::filesystem;

TEST(HeldSessionFolder, IsThereUntilItsLastHolderEnds) {
  const testing::ScratchFolder parent;
  const fs::path folder = parent.path() / "ompi";
  std::optional<HeldSessionFolder> first(folder);
  {
    const HeldSessionFolder second(folder);
    first.reset();
    EXPECT_NE(::rmdir(folder.c_str()), 0);  // launchers try this at their end
    EXPECT_TRUE(fs::exists(folder));
  }
  EXPECT_FALSE(fs::exists(folder));
  EXPECT_NO_THROW(HeldSessionFolder(parent.path() / "nowhere" / "ompi"));
}

TEST(HeldSessionFolder, IsTheOneThatMpirunMakes) {
  const testing::ScratchFolder parent;
  const char* before = std::getenv("TMPDIR");
  ::setenv("TMPDIR", parent.path().c_str(), /*overwrite=*/1);
  let_root_use_mpirun();
  const ChildOutput output =
      output_of_child({"mpirun", "-n", "1", "--oversubscribe", "sh", "-c", "ls -d \"$TMPDIR\"/*"});
  EXPECT_THAT(output.text,
              ::testing::AnyOf(session_folder().string() + "\n",
                               ::testing::MatchesRegex(".*/prterun\\.[^/]+\\.[0-9]+\\.[0-9]+\n")))
      << "Open MPI 5 makes one for each launcher";
  before != nullptr ? ::setenv("TMPDIR", before, 1) : ::unsetenv("TMPDIR");
}

}  // namespace
}  // namespace gangway::launch
