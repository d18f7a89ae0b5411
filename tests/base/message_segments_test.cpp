// SPDX-License-Identifier: MIT
#include "base/message_segments.hpp"

#include <chrono>
#include <filesystem>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/shared_folder.hpp"

namespace gangway {
namespace {

using gangway::testing::SharedFolder;
namespace fs = std::filesystem;

constexpr std::chrono::seconds kAnyAge{0};

fs::path make_segment(const SharedFolder& folder, const std::string& name) {
  SharedSegment segment(folder.path() / "gangway-made", 4096);
  fs::rename(folder.path() / "gangway-made", folder.path() / name);
  return folder.path() / name;
}

std::string name_of(std::uint32_t job, int rank) {
  return fmt::format("vader_segment.node-a.{}.{:x}.{}", ::geteuid(), job, rank);
}

TEST(MessageSegments, OfTheDeadAreReaped) {
  const SharedFolder folder;
  const fs::path left = make_segment(folder, name_of(0xabc0001, 0));
  const ReapedMessageSegments reaped = reap_message_segments(folder.path(), kAnyAge);
  EXPECT_EQ(reaped.removed, 1U);
  EXPECT_EQ(reaped.bytes, 4096U);
  EXPECT_FALSE(fs::exists(left));
  make_segment(folder, "sm_segment.node-a.0.abc0001.0");  // Open MPI 5
  EXPECT_EQ(reap_message_segments(folder.path(), kAnyAge).removed, 1U);
}

TEST(MessageSegments, HaveTheJobOfTheirRanksNamespace) {
  EXPECT_EQ(message_job("3863412737"), 0xe6470001);  // Open MPI 4
  EXPECT_EQ(message_job("prterun-vm-22703@1"), 0xe6470001) << "as Open MPI 5.0.7 named its file";
  EXPECT_EQ(message_job("slurm.pmix.7.0"), 0U);
  EXPECT_EQ(message_job(""), 0U);
}

TEST(MessageSegments, OfTheLivingStay) {
  const SharedFolder folder;
  const fs::path used = folder.path() / name_of(0xabc0001, 0);
  SharedSegment segment(used, 4096);
  const MappedMemory memory = segment.map();
  EXPECT_EQ(reap_message_segments(folder.path(), kAnyAge).removed, 0U);
  EXPECT_TRUE(fs::exists(used));
}

TEST(MessageSegments, OfAnotherContainersStartStay) {
  const SharedFolder folder;
  const fs::path young = make_segment(folder, name_of(0xabc0001, 0));
  EXPECT_EQ(reap_message_segments(folder.path()).removed, 0U);
  EXPECT_TRUE(fs::exists(young));
}

TEST(MessageSegments, OfOtherProgramsAreNotLookedAt) {
  const SharedFolder folder;
  const fs::path other = make_segment(folder, "sem.something");
  EXPECT_EQ(reap_message_segments(folder.path(), kAnyAge).removed, 0U);
  EXPECT_TRUE(fs::exists(other));
}

TEST(MessageSegments, OfOneJobAreRemovedByItsNumber) {
  const SharedFolder folder;
  const fs::path own = make_segment(folder, name_of(0xabc0001, 1));
  const fs::path other = make_segment(folder, name_of(0xabd0001, 1));
  EXPECT_EQ(remove_message_segments(0xabc0001, folder.path()).removed, 1U);
  EXPECT_FALSE(fs::exists(own));
  EXPECT_TRUE(fs::exists(other));
}

}  // namespace
}  // namespace gangway
