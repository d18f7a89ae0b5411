// SPDX-License-Identifier: MIT
#include "launch/process/temporary_folder.hpp"

#include <ctime>
#include <fstream>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gangway::launch {
namespace {

namespace fs = std::filesystem;

void make_older(const fs::path& folder, std::time_t seconds) {
  const timespec then{.tv_sec = std::time(nullptr) - seconds, .tv_nsec = 0};
  const timespec times[2] = {then, then};
  ASSERT_EQ(::utimensat(AT_FDCWD, folder.c_str(), times, 0), 0);
}

/// Returns the folder of a process that was killed.
fs::path left_by_a_killed_process() {
  int pipe_ends[2];
  EXPECT_EQ(::pipe(pipe_ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const TemporaryFolder folder;
    std::ofstream(folder.path() / "file") << "content";
    const std::string path = folder.path().string();
    (void)!::write(pipe_ends[1], path.data(), path.size());
    ::raise(SIGKILL);
  }
  ::close(pipe_ends[1]);
  std::string path(4096, '\0');
  path.resize(static_cast<std::size_t>(::read(pipe_ends[0], path.data(), path.size())));
  ::close(pipe_ends[0]);
  ::waitpid(child, nullptr, 0);
  return path;
}

TEST(TemporaryFolder, OfAKilledOwnerIsRemovedWhenTheNextIsMade) {
  const fs::path left = left_by_a_killed_process();
  ASSERT_TRUE(fs::exists(left / "file"));
  { const TemporaryFolder young; }
  EXPECT_TRUE(fs::exists(left)) << "its owner may be about to hold it";
  make_older(left.parent_path(), 3600);
  { const TemporaryFolder next; }
  EXPECT_FALSE(fs::exists(left.parent_path()));
}

TEST(TemporaryFolder, OfALivingOwnerStaysUntilTheOwnerEnds) {
  fs::path path;
  {
    const TemporaryFolder folder;
    path = folder.path();
    make_older(path.parent_path(), 3600);
    { const TemporaryFolder next; }
    EXPECT_TRUE(fs::exists(path));
  }
  EXPECT_FALSE(fs::exists(path.parent_path()));
}

}  // namespace
}  // namespace gangway::launch
