// SPDX-License-Identifier: MIT
#include "base/atomic_file.hpp"

#include <fstream>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/errors.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway {
namespace {

namespace fs = std::filesystem;
using testing::ScratchFolder;

template <typename Action>
std::string environment_error(Action action) {
  try {
    action();
  } catch (const EnvironmentError& error) {
    return error.what();
  }
  return "no error";
}

TEST(AtomicFile, ExistsWholeAfterCommit) {
  const ScratchFolder folder;
  const fs::path path = folder.path() / "a.json";
  AtomicFile file(path);
  file.write("one ");
  file.write("two");
  EXPECT_FALSE(fs::exists(path));
  file.commit();
  EXPECT_EQ(read_small_file(path, 100), "one two");
  EXPECT_FALSE(fs::exists(folder.path() / "a.json.tmp"));
}

TEST(AtomicFile, KeepsWhatWasThereWithoutCommit) {
  const ScratchFolder folder;
  const fs::path path = folder.path() / "a.json";
  write_file_atomically(path, "old");
  {
    AtomicFile file(path);
    file.write("new");
  }
  EXPECT_EQ(read_small_file(path, 100), "old");
  EXPECT_FALSE(fs::exists(folder.path() / "a.json.tmp"));
}

TEST(AtomicFile, ReplacesWhatAKilledWriterLeft) {
  const ScratchFolder folder;
  std::ofstream(folder.path() / "a.json.tmp") << "half of somethi";
  write_file_atomically(folder.path() / "a.json", "x");
  EXPECT_EQ(read_small_file(folder.path() / "a.json", 100), "x");
}

TEST(AtomicFile, WritesThroughNoLink) {
  const ScratchFolder folder;
  const fs::path others = folder.write("others", "theirs");
  fs::create_symlink(others, folder.path() / "a.json.tmp");
  const std::string message =
      environment_error([&] { write_file_atomically(folder.path() / "a.json", "x"); });
  EXPECT_NE(message.find("a.json.tmp: cannot be written"), std::string::npos) << message;
  EXPECT_NE(message.find("a link lies in its place; remove it"), std::string::npos) << message;
  EXPECT_EQ(folder.read("others"), "theirs");
}

TEST(AtomicFile, TakesANameWithoutAFolder) {
  const ScratchFolder folder;
  const fs::path before = fs::current_path();
  fs::current_path(folder.path());
  write_file_atomically("bare.txt", "x");
  EXPECT_EQ(read_small_file("bare.txt", 100), "x");
  fs::current_path(before);
}

/// Makes a device node, because links are refused. Returns false if this user may not make it.
bool make_device(const fs::path& path, unsigned minor_number) {
  return ::mknod(path.c_str(), S_IFCHR | S_IRUSR | S_IWUSR, makedev(1, minor_number)) == 0 &&
         FileDescriptor(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
}
constexpr unsigned kNull = 3;  // has no fsync
constexpr unsigned kFull = 7;  // every write fails as on a full disk

TEST(AtomicFile, SaysThatTheDiskIsFull) {
  const ScratchFolder folder;
  const fs::path path = folder.path() / "status.json";
  if (!make_device(path.string() + ".tmp", kFull)) {
    GTEST_SKIP() << "no devices can be made here";
  }
  EXPECT_EQ(environment_error([&] { write_file_atomically(path, "x"); }),
            path.string() +
                ": cannot be written: No space left on device; free some space or choose another "
                "--outdir");
  EXPECT_FALSE(fs::exists(path));
}

TEST(AtomicFile, SaysThatTheFolderIsGone) {
  const std::string message =
      environment_error([] { write_file_atomically("/nowhere/at/all.json", "x"); });
  EXPECT_EQ(
      message,
      "/nowhere/at/all.json: cannot be written: No such file or directory; make its folder, or "
      "choose another place");
}

TEST(AtomicFile, SaysThatTheFolderMayNotBeWrittenTo) {
  // /proc is a file system to which no user may write, not even root.
  EXPECT_NE(environment_error([] {
              write_file_atomically("/proc/status.json", "x");
            }).find("/proc/status.json: cannot be "),
            std::string::npos);
}

TEST(AtomicFile, RefusesToReplaceWhatIsNoFile) {
  const ScratchFolder folder;
  fs::create_directories(folder.path() / "a" / "b");
  const fs::path pipe = folder.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const fs::path& path : {folder.path() / "a", pipe, fs::path("/dev/null")}) {
    EXPECT_EQ(environment_error([&] { write_file_atomically(path, "x"); }),
              path.string() + ": is no regular file; name a file to be written");
  }
  EXPECT_TRUE(fs::is_fifo(pipe));
  EXPECT_FALSE(fs::exists(pipe.string() + ".tmp"));
}

TEST(AtomicFile, SaysThatAFileCannotBeSynced) {
  const ScratchFolder folder;
  if (!make_device(folder.path() / "a.tmp", kNull)) {
    GTEST_SKIP() << "no devices can be made here";
  }
  EXPECT_NE(environment_error([&] {
              write_file_atomically(folder.path() / "a", "x");
            }).find("cannot be synced"),
            std::string::npos);
}

TEST(SmallFile, IsNothingWhereThereIsNone) {
  EXPECT_EQ(read_small_file("/nowhere/at/all", 10), std::nullopt);
  const ScratchFolder pipes;
  ASSERT_EQ(::mkfifo((pipes.path() / "a").c_str(), 0600), 0);
  EXPECT_THROW((void)read_small_file(pipes.path() / "a", 10), EnvironmentError)
      << "and is not waited for";
}

TEST(SmallFile, RefusesAFileThatIsTooLarge) {
  const ScratchFolder folder;
  write_file_atomically(folder.path() / "a", "12345678901");
  EXPECT_NE(environment_error([&] {
              (void)read_small_file(folder.path() / "a", 10);
            }).find("larger than 10 bytes"),
            std::string::npos);
}

TEST(SmallFile, RefusesAFolder) {
  const ScratchFolder folder;
  EXPECT_NE(
      environment_error([&] { (void)read_small_file(folder.path(), 10); }).find("cannot be read"),
      std::string::npos);
}

TEST(SmallFile, RefusesAPathThroughAFile) {
  const ScratchFolder folder;
  write_file_atomically(folder.path() / "a", "x");
  EXPECT_NE(environment_error([&] {
              (void)read_small_file(folder.path() / "a" / "b", 10);
            }).find("cannot be read"),
            std::string::npos);
}

TEST(SyncDirectory, RefusesWhatIsNone) {
  EXPECT_NE(
      environment_error([] { sync_directory("/nowhere"); }).find("/nowhere: cannot be synced"),
      std::string::npos);
}

}  // namespace
}  // namespace gangway
