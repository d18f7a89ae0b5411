// SPDX-License-Identifier: MIT
#include "base/shared_segment.hpp"

#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/errors.hpp"
#include "base/file_claim.hpp"
#include "tests/shared_folder.hpp"

namespace gangway {
namespace {

using gangway::testing::SharedFolder;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string environment_error_of(const std::filesystem::path& path, std::size_t bytes) {
  try {
    const SharedSegment segment(path, bytes);
  } catch (const EnvironmentError& error) {
    return error.what();
  }
  return "";
}

TEST(SharedSegment, IsSeenByWhoeverMapsItsName) {
  const SharedFolder folder;
  const SharedSegment segment(folder.path() / "gangway-a", 5000);
  const MappedMemory own = segment.map();
  const MappedMemory other = map_segment(folder.path() / "gangway-a", SegmentAccess::kRead);
  std::memcpy(static_cast<char*>(own.get().data) + 4990, "hello", 6);
  EXPECT_EQ(other.get().bytes, 5000U);
  EXPECT_STREQ(static_cast<const char*>(other.get().data) + 4990, "hello");
}

TEST(SharedSegment, IsForItsUserAlone) {
  const SharedFolder folder;
  const SharedSegment segment(folder.path() / "gangway-a", 1);
  struct stat status {};
  ASSERT_EQ(::stat((folder.path() / "gangway-a").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST(SharedSegment, LosesItsNameButNotItsMemory) {
  const SharedFolder folder;
  std::optional<SharedSegment> segment(std::in_place, folder.path() / "gangway-a", 100);
  const MappedMemory memory = segment->map();
  segment->remove_name();
  segment->remove_name();
  EXPECT_THAT(folder.names(), IsEmpty());
  segment.reset();
  static_cast<char*>(memory.get().data)[99] = 'x';
}

TEST(SharedSegment, IsAbsentWhereNobodyMadeIt) {
  const SharedFolder folder;
  EXPECT_FALSE(map_segment(folder.path() / "gangway-a", SegmentAccess::kRead));
  EXPECT_FALSE(is_segment_in_use(folder.path() / "gangway-a"));
}

TEST(SharedSegment, IsAbsentWhereItsCreatorIsDead) {
  const SharedFolder folder;
  folder.leave_behind("gangway-a");
  EXPECT_FALSE(map_segment(folder.path() / "gangway-a", SegmentAccess::kRead));
}

// Two members take over a dead run's segment: neither may map it while the other removes it.
TEST(SharedSegment, IsAbsentWhileItIsBeingRemoved) {
  const SharedFolder folder;
  folder.leave_behind("gangway-a");
  const std::filesystem::path path = folder.path() / "gangway-a";
  const FileDescriptor remover(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_TRUE(claim_to_remove(remover));
  EXPECT_FALSE(map_segment(path, SegmentAccess::kRead));
  EXPECT_FALSE(is_segment_in_use(path));
}

TEST(SharedSegment, IsRemovedByNobodyWhileItsCreatorLives) {
  const SharedFolder folder;
  const std::filesystem::path path = folder.path() / "gangway-a";
  const SharedSegment segment(path, 100);
  EXPECT_FALSE(claim_to_remove(FileDescriptor(::open(path.c_str(), O_RDWR | O_CLOEXEC))));
  EXPECT_EQ(reap_segments(folder.path()), 0U);
  EXPECT_THAT(folder.names(), ElementsAre("gangway-a"));
}

TEST(SharedSegment, RefusesANameThatIsInUse) {
  const SharedFolder folder;
  {
    const SharedSegment segment(folder.path() / "gangway-a", 100);
    EXPECT_THAT(environment_error_of(folder.path() / "gangway-a", 100),
                HasSubstr("in use by a living process"));
    EXPECT_THAT(folder.names(), ElementsAre("gangway-a"));
    EXPECT_TRUE(is_segment_in_use(folder.path() / "gangway-a"));
  }
  EXPECT_THAT(folder.names(), IsEmpty());
}

TEST(SharedSegment, ReplacesOneThatWasLeftBehind) {
  const SharedFolder folder;
  folder.leave_behind("gangway-a");
  EXPECT_FALSE(is_segment_in_use(folder.path() / "gangway-a"));
  const SharedSegment segment(folder.path() / "gangway-a", 100);
  EXPECT_EQ(map_segment(folder.path() / "gangway-a", SegmentAccess::kRead).get().bytes, 100U);
}

TEST(SharedSegment, SaysHowMuchIsNeededAndFreeWhereMemoryIsTooSmall) {
  const SharedFolder folder;
  struct statvfs status {};
  ASSERT_EQ(::statvfs(folder.path().c_str(), &status), 0);
  if (status.f_blocks == 0) {
    GTEST_SKIP() << "shared memory has no limit here";
  }
  const std::size_t all = status.f_blocks * status.f_frsize;
  EXPECT_THAT(environment_error_of(folder.path() / "gangway-a", 2 * all),
              AllOf(HasSubstr("MiB of shared memory needed"), HasSubstr("MiB free in"),
                    HasSubstr("--shm-size"), HasSubstr("layout.transport=mpi")));
  EXPECT_THAT(folder.names(), IsEmpty());
}

TEST(SharedSegment, NamesAFolderThatIsNotThere) {
  EXPECT_THAT(environment_error_of("/nowhere/gangway-a", 1),
              AllOf(HasSubstr("/nowhere/gangway-a"), HasSubstr("layout.transport=mpi")));
}

TEST(ReapSegments, RemovesWhatNobodyHolds) {
  const SharedFolder folder;
  const SharedSegment used(folder.path() / "gangway-used", 100);
  folder.leave_behind("gangway-left");
  folder.leave_behind("gangway-left-too");
  folder.leave_behind("of-another-program");
  std::filesystem::create_directory(folder.path() / "gangway-folder");
  std::filesystem::create_symlink("/etc/passwd", folder.path() / "gangway-link");
  EXPECT_EQ(reap_segments(folder.path()), 2U);
  EXPECT_THAT(folder.names(),
              ElementsAre("gangway-folder", "gangway-link", "gangway-used", "of-another-program"));
}

TEST(ReapSegments, FindsNothingInAFolderThatIsNotThere) {
  EXPECT_EQ(reap_segments("/nowhere"), 0U);
}

}  // namespace
}  // namespace gangway
