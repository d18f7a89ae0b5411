// SPDX-License-Identifier: MIT
#include "coordinator/resume/equal_data.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gangway::coordinator {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const DataFiles kFiles{
    .earlier_fingerprint = "earlier", .marks = {{"a.png", 1}, {"c.png", 2}}, .changed = {}};

TEST(FirstDifference, IsNamedByItsNeighbours) {
  DataFiles other = kFiles;
  EXPECT_EQ(first_difference(kFiles, other), "");
  other.marks[1].hash = 7;
  EXPECT_EQ(first_difference(kFiles, other), "c.png or a file after it");
  other.marks[0].hash = 7;
  EXPECT_EQ(first_difference(kFiles, other), "a.png or a file between it and c.png");
  EXPECT_EQ(first_difference(kFiles, DataFiles{}), "a.png or a file between it and c.png");
  EXPECT_EQ(first_difference(DataFiles{}, kFiles), "");
}

TEST(DataWarning, TakesTheFingerprintsOfBothForms) {
  const messages::Ready ready{.data_fingerprint = "now", .data = kFiles};
  EXPECT_THAT(data_warning({.data_fingerprint = "now"}, ready), IsEmpty());
  EXPECT_THAT(data_warning({.data_fingerprint = "earlier"}, ready), IsEmpty());
  EXPECT_THAT(data_warning({.data_fingerprint = "others"}, ready),
              HasSubstr("the data have changed since the checkpoint was saved: from"));
}

TEST(DataWarning, NamesWhatHasChangedSinceTheCheckpoint) {
  messages::Ready ready{.data_fingerprint = "now", .data = kFiles};
  ready.data.changed = {{"c.png", "2026-12-02T10:00:00Z"}, {"a.png", "2026-11-30T10:00:00Z"}};
  const std::string line =
      data_warning({.data_fingerprint = "others", .created = "2026-12-01T10:00:00Z"}, ready);
  EXPECT_THAT(line, HasSubstr("(for example c.png)"));
  EXPECT_THAT(line, Not(HasSubstr("a.png")));
}

}  // namespace
}  // namespace gangway::coordinator
