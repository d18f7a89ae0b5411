// SPDX-License-Identifier: MIT
#include "launch/data/colour_note.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gan/pictures/png.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::launch {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// One picture of 8 x 8 pixels that are all alike.
JobSpec job_with_picture(const gangway::testing::ScratchFolder& folder,
                         const std::vector<std::uint8_t>& pixel) {
  std::vector<std::uint8_t> pixels;
  for (int i = 0; i < 64; ++i) {
    pixels.insert(pixels.end(), pixel.begin(), pixel.end());
  }
  pictures::write_png(
      folder.path() / "0.png",
      {.height = 8, .width = 8, .channels = static_cast<int>(pixel.size()), .pixels = pixels});
  JobSpec job;
  job.data.source = "images:" + folder.path().string();
  return job;
}

TEST(ColourNote, IsAboutColourPicturesThatAreTrainedGrey) {
  const gangway::testing::ScratchFolder folder;
  JobSpec job = job_with_picture(folder, {200, 40, 10});
  EXPECT_THAT(colour_notes(job),
              ElementsAre(AllOf(HasSubstr(job.data.source), HasSubstr("trained grey"),
                                HasSubstr("model.channels=3"))));
  job.model.channels = 3;
  EXPECT_THAT(colour_notes(job), IsEmpty());
}

TEST(ColourNote, SaysNothingOfGreyPicturesAndOfThoseThatAreNotThere) {
  const gangway::testing::ScratchFolder folder;
  EXPECT_THAT(colour_notes(job_with_picture(folder, {90})), IsEmpty());
  EXPECT_THAT(colour_notes(job_with_picture(folder, {90, 95, 92})), IsEmpty())
      << "grey, saved in colour";
  JobSpec job;
  EXPECT_THAT(colour_notes(job), IsEmpty()) << "no pictures";
  job.data.source = "images:" + (folder.path() / "nowhere").string();
  EXPECT_THAT(colour_notes(job), IsEmpty());
  folder.write("0.png", "no picture");
  job.data.source = "images:" + folder.path().string();
  EXPECT_THAT(colour_notes(job), IsEmpty()) << "its worker complains";
}

}  // namespace
}  // namespace gangway::launch
