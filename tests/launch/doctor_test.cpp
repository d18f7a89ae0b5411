// SPDX-License-Identifier: MIT
#include "launch/doctor.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "checkpoint/snapshot_memory.hpp"
#include "job/shared_segment.hpp"
#include "tests/shared_folder.hpp"

namespace gangway::launch {
namespace {

TEST(Findings, AreHealthyUnlessOneIsBad) {
  std::vector<Finding> findings{{"a", Health::kGood, "1"}, {"b", Health::kNote, "2"}};
  EXPECT_TRUE(is_healthy(findings));
  findings.push_back({"c", Health::kBad, "mend it"});
  EXPECT_FALSE(is_healthy(findings));
}

TEST(Findings, CanBeReadByPrograms) {
  const auto json = nlohmann::json::parse(findings_json({{"disk", Health::kBad, "\"full\""}}));
  EXPECT_EQ(json["healthy"], false);
  EXPECT_EQ(json["findings"][0]["health"], "bad");
  EXPECT_EQ(json["findings"][0]["detail"], "\"full\"");
}

TEST(Findings, CanBeReadByPeople) {
  const std::string text = findings_text({{"disk", Health::kGood, "1 GiB"}});
  EXPECT_NE(text.find("disk  good    1 GiB"), std::string::npos) << text;
}

TEST(CleanSharedMemory, RemovesWhatKilledWorkersLeftAndNothingElse) {
  const gangway::testing::SharedFolder folder;
  const SharedSegment used(folder.path() / "gangway-used", 64);
  folder.leave_behind("gangway-left");
  const Finding finding = clean_shared_memory(folder.path());
  EXPECT_EQ(finding.health, Health::kNote);
  EXPECT_NE(finding.detail.find("removed 1 "), std::string::npos) << finding.detail;
  EXPECT_EQ(folder.names(), std::vector<std::string>{"gangway-used"});
  EXPECT_EQ(clean_shared_memory(folder.path()).health, Health::kGood);
}

TEST(CleanSnapshots, RemovesThoseOfRunsThatAreOverAndCountsTheOthers) {
  const gangway::testing::SharedFolder folder;
  EXPECT_EQ(clean_snapshots(folder.path()).health, Health::kGood);
  const std::vector<checkpoint::SnapshotPiece> pieces{{.name = "a", .shape = {4}, .end = 4}};
  const checkpoint::SnapshotMemory used({.folder = folder.path(),
                                         .run_directory = folder.path(),
                                         .job_fingerprint = "job"},
                                        pieces);
  {
    const checkpoint::SnapshotMemory left({.folder = folder.path(),
                                           .run_directory = folder.path() / "gone",
                                           .job_fingerprint = "job"},
                                          pieces);
  }
  const Finding finding = clean_snapshots(folder.path());
  EXPECT_EQ(finding.health, Health::kNote);
  EXPECT_NE(finding.detail.find("removed 2 of runs that are over"), std::string::npos)
      << finding.detail;
  EXPECT_NE(finding.detail.find("kept 2 in use"), std::string::npos) << finding.detail;
  EXPECT_EQ(folder.names().size(), 2U);
}

}  // namespace
}  // namespace gangway::launch
