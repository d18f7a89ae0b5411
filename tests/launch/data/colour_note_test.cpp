// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launch/data/require_data.hpp"
#include "tests/launch/data/one_picture.hpp"

namespace gangway::launch {
namespace {

using gangway::testing::write_picture;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

JobSpec job_with(const gangway::testing::ScratchFolder& folder, int channels) {
  JobSpec job;
  job.data.source = "images:" + folder.path().string();
  job.model.channels = channels;
  return job;
}

TEST(ColourNote, IsAboutColourPicturesThatAreTrainedGrey) {
  const gangway::testing::ScratchFolder folder;
  write_picture(folder.path() / "0.png", {200, 40, 10});
  const JobSpec job = job_with(folder, 1);
  EXPECT_THAT(colour_note(job), AllOf(HasSubstr(job.data.source), HasSubstr("trained grey"),
                                      HasSubstr("model.channels=3")));
  EXPECT_THAT(colour_note(job_with(folder, 3)), IsEmpty());
}

TEST(ColourNote, IsAboutGreyPicturesThatAreTrainedInColour) {
  const gangway::testing::ScratchFolder folder;
  write_picture(folder.path() / "0.png", {90, 95, 92});  // almost grey, in RGB
  const JobSpec job = job_with(folder, 3);
  EXPECT_THAT(colour_note(job), AllOf(HasSubstr(job.data.source), HasSubstr("three equal"),
                                      HasSubstr("model.channels=1")));
  EXPECT_THAT(colour_note(job_with(folder, 1)), IsEmpty());
  JobSpec clothes;
  clothes.model.channels = 3;
  EXPECT_THAT(colour_note(clothes), HasSubstr("fashion-mnist has grey"));
  write_picture(folder.path() / "1.png", {200, 40, 10});
  EXPECT_THAT(colour_note(job), IsEmpty()) << "one has colours";
}

TEST(ColourNote, SaysNothingOfPicturesThatAreNotThere) {
  const gangway::testing::ScratchFolder folder;
  EXPECT_THAT(colour_note(JobSpec{}), IsEmpty());
  EXPECT_THAT(colour_note(job_with(folder, 1)), IsEmpty()) << "its worker complains";
  folder.write("0.png", "no picture");
  EXPECT_THAT(colour_note(job_with(folder, 1)), IsEmpty());
}

}  // namespace
}  // namespace gangway::launch
