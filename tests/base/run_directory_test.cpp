// SPDX-License-Identifier: MIT
#include "run/run_directory.hpp"

#include <fstream>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/errors.hpp"
#include "base/file_descriptor.hpp"
#include "job/run_name.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway {
namespace {

namespace fs = std::filesystem;
using testing::ScratchFolder;

TEST(RunDirectory, TakesItsNameFromTheJobFile) {
  EXPECT_EQ(run_name_of("examples/fashion-mnist.yaml"), "fashion-mnist");
  EXPECT_EQ(run_name_of("my job (2).yaml"), "my-job--2-");
  EXPECT_EQ(run_name_of("..hidden.yaml"), "hidden");
  EXPECT_EQ(run_name_of(""), "job");
  EXPECT_EQ(run_name_of("..."), "job");
  EXPECT_EQ(run_name_of(std::string(100, 'x') + ".yaml"), std::string(64, 'x'));
}

TEST(RunDirectory, RefusesBadNames) {
  for (const std::string name : {"", ".", "..", ".x", "a/b", "a b", "\xC3\xA9", "a\n"}) {
    EXPECT_THROW(require_run_name(name), ConfigError) << name;
  }
  EXPECT_THROW(require_run_name(std::string(65, 'x')), ConfigError);
  EXPECT_NO_THROW(require_run_name("A-z_0.9"));
  EXPECT_NO_THROW(require_run_name(std::string(64, 'x')));
  try {
    require_run_name("a/b");
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(),
                 "run name 'a/b': expected 1 to 64 of A-Z a-z 0-9 . _ - without a dot in front; "
                 "give another --run");
  }
}

TEST(RunDirectory, CountsUp) {
  const ScratchFolder folder;
  const fs::path outdir = folder.path() / "runs" / "of" / "today";
  EXPECT_EQ(create_run(outdir, "a"), outdir / "00000-a");
  EXPECT_EQ(create_run(outdir, "a"), outdir / "00001-a");
  fs::create_directories(outdir / "00041-b");
  EXPECT_EQ(create_run(outdir, "c"), outdir / "00042-c");
  fs::create_directories(outdir / "99999-d");
  EXPECT_EQ(create_run(outdir, "e"), outdir / "100000-e");
}

TEST(RunDirectory, LooksOverWhatIsNoRun) {
  const ScratchFolder folder;
  for (const char* name : {"x", "7-a", "00x00-a", "-a", "00000", "-0001-a", "+00001-a"}) {
    fs::create_directories(folder.path() / name);
  }
  std::ofstream(folder.path() / "00009-a") << "a file";
  EXPECT_EQ(find_run(folder.path(), "a"), std::nullopt);
  EXPECT_EQ(create_run(folder.path(), "a").filename(), "00000-a");
}

TEST(RunDirectory, FindsTheNewestOfAName) {
  const ScratchFolder folder;
  (void)create_run(folder.path(), "a-b");
  (void)create_run(folder.path(), "a-b");
  (void)create_run(folder.path(), "other");
  EXPECT_EQ(find_run(folder.path(), "a-b"), folder.path() / "00001-a-b");
  EXPECT_EQ(find_run(folder.path(), "00000-a-b"), folder.path() / "00000-a-b");
  EXPECT_EQ(find_run(folder.path(), "b"), std::nullopt);
  EXPECT_EQ(find_run(folder.path() / "nowhere", "a-b"), std::nullopt);
}

TEST(RunDirectory, IsNoneThatAStrangerHasMade) {
  if (::geteuid() != 0) {
    return;  // only root can give a folder away
  }
  const ScratchFolder folder;
  const fs::path own = create_run(folder.path(), "a");
  const fs::path foreign = create_run(folder.path(), "a");
  ASSERT_EQ(::chown(foreign.c_str(), 65'534, 65'534), 0);
  EXPECT_EQ(find_run(folder.path(), "a"), own);
  fs::remove(own);
  EXPECT_EQ(find_run(folder.path(), "a"), foreign) << "to be looked at";
  const fs::path next = open_run(folder.path(), "a");
  EXPECT_EQ(next.filename(), "00002-a");
  ASSERT_EQ(::chown(folder.path().c_str(), 65'534, 65'534), 0);
  fs::remove(next);
  EXPECT_EQ(open_run(folder.path(), "a"), foreign) << "a file system that shows all as nobody's";
}

TEST(RunDirectory, ReturnsToTheRunOfAName) {
  const ScratchFolder folder;
  const fs::path first = open_run(folder.path(), "a");
  (void)open_run(folder.path(), "b");
  EXPECT_EQ(open_run(folder.path(), "a"), first);
}

TEST(RunDirectory, IsOneForTwoJobsStartedTogether) {
  const ScratchFolder folder;
  fs::path first;
  fs::path second;
  {
    const std::jthread one([&] { first = open_run(folder.path(), "a"); });
    const std::jthread two([&] { second = open_run(folder.path(), "a"); });
  }
  EXPECT_EQ(first, second);
}

TEST(RunDirectory, IsNotWaitedForWithoutEndWhereAStartHangs) {
  const ScratchFolder folder;
  const FileDescriptor watched(::open(folder.path().c_str(), O_RDONLY | O_DIRECTORY));
  ASSERT_EQ(::flock(watched.get(), LOCK_EX), 0) << "by another user, who may do that";
  const fs::path lock =
      open_run(folder.path(), "a").parent_path() / fmt::format(".lock-{}", ::geteuid());
  EXPECT_EQ(fs::status(lock).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  const FileDescriptor hangs(::open(lock.c_str(), O_RDWR));
  ASSERT_EQ(::flock(hangs.get(), LOCK_EX), 0);
  try {
    (void)open_run(folder.path(), "a", std::chrono::milliseconds(100));
    FAIL() << "the folder is locked";
  } catch (const EnvironmentError& error) {
    EXPECT_NE(std::string(error.what()).find("another start has held this folder"),
              std::string::npos);
  }
}

TEST(RunDirectory, IsAnAbsolutePath) {
  const ScratchFolder folder;
  const fs::path before = fs::current_path();
  fs::current_path(folder.path());
  EXPECT_EQ(open_run("runs", "a"), fs::current_path() / "runs" / "00000-a");
  EXPECT_EQ(open_run("runs", "a"), fs::current_path() / "runs" / "00000-a");
  fs::current_path(before);
}

TEST(RunDirectory, SaysThatItCannotBeMade) {
  const ScratchFolder folder;
  std::ofstream(folder.path() / "file") << "x";
  const fs::path outdir = folder.path() / "file" / "runs";
  try {
    (void)create_run(outdir, "a");
    FAIL() << "made a folder in a file";
  } catch (const EnvironmentError& error) {
    EXPECT_EQ(error.what(),
              outdir.string() +
                  ": cannot be made: Not a directory; choose an --outdir that you may write to");
  }
  EXPECT_THROW((void)open_run("/proc/nowhere", "a"), EnvironmentError);
  EXPECT_THROW((void)open_run("/proc", "a"), EnvironmentError);
  EXPECT_THROW((void)open_run(folder.path() / "file", "a"), EnvironmentError);
}

}  // namespace
}  // namespace gangway
