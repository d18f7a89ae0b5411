// SPDX-License-Identifier: MIT
#include "launch/mpirun/session_folder.hpp"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/system/poll_until.hpp"
#include "launch/mpirun/launcher_guard.hpp"
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

TEST(HeldSessionFolder, IsRidOfTheEntryOfAKilledRun) {
  const testing::ScratchFolder parent;
  const fs::path folder = parent.path() / "ompi";
  const pid_t killed = ::fork();
  if (killed == 0) {
    const HeldSessionFolder held(folder);
    (void)::kill(::getpid(), SIGKILL);
  }
  ASSERT_EQ(::waitpid(killed, nullptr, 0), killed);
  EXPECT_FALSE(fs::is_empty(folder));
  {
    const HeldSessionFolder next(folder);
    EXPECT_FALSE(fs::is_empty(folder));
  }
  EXPECT_FALSE(fs::exists(folder));
}

TEST(LauncherGuard, EndsAMpirunThatOutlivesItsSupervisorAndRemovesItsFiles) {
  const testing::ScratchFolder parent;
  const char* before = std::getenv("TMPDIR");
  ::setenv("TMPDIR", parent.path().c_str(), /*overwrite=*/1);
  const pid_t mpirun = start_child({.words = {"sleep", "60"}});
  fs::create_directories(session_folder() / ("pid." + std::to_string(mpirun)));
  (void)guard_launcher(mpirun);  // as if the supervisor ended at once
  int status = 0;
  ASSERT_EQ(::waitpid(mpirun, &status, 0), mpirun);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  EXPECT_TRUE(poll_until(std::chrono::seconds(20), std::chrono::milliseconds(20),
                         [] { return !fs::exists(session_folder()); }));
  before != nullptr ? ::setenv("TMPDIR", before, 1) : ::unsetenv("TMPDIR");
}

TEST(HeldSessionFolder, IsTheOneThatMpirunMakes) {
  const testing::ScratchFolder parent;
  const fs::path temporary = parent.path() / "tmp";
  const fs::path said = parent.path() / "said";
  fs::create_directory(temporary);
  const char* before = std::getenv("TMPDIR");
  ::setenv("TMPDIR", temporary.c_str(), /*overwrite=*/1);
  let_root_use_mpirun();
  (void)output_of_child({"mpirun", "-n", "1", "--oversubscribe", "sh", "-c",
                         R"(ls -d "$TMPDIR"/* >"$0"; echo $PPID >>"$0"; kill -9 $PPID)",
                         said.string()});
  std::ifstream lines(said);
  std::string folder;
  pid_t launcher = 0;
  ASSERT_TRUE(lines >> folder >> launcher);
  EXPECT_THAT(folder,
              ::testing::AnyOf(session_folder().string(),
                               ::testing::MatchesRegex(".*/prterun\\.[^/]+\\.[0-9]+\\.[0-9]+")))
      << "Open MPI 5 makes one for each launcher";
  EXPECT_FALSE(fs::is_empty(temporary)) << "a killed launcher leaves its files";
  remove_session_of(launcher);
  EXPECT_TRUE(fs::is_empty(temporary));
  before != nullptr ? ::setenv("TMPDIR", before, 1) : ::unsetenv("TMPDIR");
}

}  // namespace
}  // namespace gangway::launch
