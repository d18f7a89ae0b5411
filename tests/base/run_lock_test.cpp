// SPDX-License-Identifier: MIT
#include "run/run_lock.hpp"

#include <optional>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/atomic_file.hpp"
#include "base/errors.hpp"
#include "base/file_descriptor.hpp"
#include "run/run_files.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway {
namespace {

using testing::ScratchFolder;

std::string refusal(const std::filesystem::path& run) {
  try {
    const RunLock lock(run);
  } catch (const EnvironmentError& error) {
    return error.what();
  }
  return "locked";
}

TEST(RunLock, NamesTheHolderToTheSecond) {
  const ScratchFolder folder;
  const RunLock held(folder.path());
  const std::string message = refusal(folder.path());
  EXPECT_EQ(message.find(folder.path().string() + ": in use by pid " + std::to_string(::getpid()) +
                         " on "),
            0U)
      << message;
  EXPECT_NE(message.find("; wait for that job to end, or give this one another --run"),
            std::string::npos);
  EXPECT_EQ(message.find('\n'), std::string::npos);
}

TEST(RunLock, IsTakenThroughNoLink) {
  const ScratchFolder folder;
  const std::filesystem::path others = folder.write("others", "theirs");
  std::filesystem::create_symlink(others, folder.path() / kLockFile);
  EXPECT_NE(refusal(folder.path()).find("cannot be locked"), std::string::npos);
  EXPECT_EQ(folder.read("others"), "theirs");
}

TEST(RunLock, IsFreeAgainWhenTheHolderIsGone) {
  const ScratchFolder folder;
  { const RunLock held(folder.path()); }
  EXPECT_EQ(refusal(folder.path()), "locked");
}

TEST(RunLock, IsNotFooledByAFileThatAKilledJobLeft) {
  const ScratchFolder folder;
  write_file_atomically(folder.path() / kLockFile,
                        "pid 1 on elsewhere, and a longer line than the next holder writes\n");
  const RunLock held(folder.path());
  EXPECT_EQ(
      read_small_file(folder.path() / kLockFile, 1000)->find("pid " + std::to_string(::getpid())),
      0U);
  EXPECT_EQ(read_small_file(folder.path() / kLockFile, 1000)->find("longer line"),
            std::string::npos);
}

TEST(RunLock, CanBeHeldByNoOtherUser) {
  const ScratchFolder folder;
  { const FileDescriptor old(::open((folder.path() / kLockFile).c_str(), O_RDWR | O_CREAT, 0644)); }
  const RunLock held(folder.path());
  EXPECT_EQ(std::filesystem::status(folder.path() / kLockFile).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

TEST(RunLock, MeetsAHolderThatHasNotNamedItself) {
  const ScratchFolder folder;
  const FileDescriptor file(::open((folder.path() / kLockFile).c_str(), O_RDWR | O_CREAT, 0644));
  ASSERT_EQ(::flock(file.get(), LOCK_EX), 0);
  EXPECT_NE(refusal(folder.path()).find("in use by a process that has not named itself yet"),
            std::string::npos);
}

TEST(RunLock, SaysThatItCannotLock) {
  EXPECT_EQ(refusal("/nowhere"),
            "/nowhere/lock: cannot be locked: No such file or directory; choose an --outdir that "
            "you may write to");
}

}  // namespace
}  // namespace gangway
