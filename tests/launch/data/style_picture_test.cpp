// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "gan/pictures/png.hpp"
#include "launch/data/require_data.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::launch {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(StylePicture, IsDecodedBeforeARunIsMade) {
  const gangway::testing::ScratchFolder folder;
  const std::filesystem::path file = folder.path() / "style.png";
  pictures::write_png(
      file, {.height = 8, .width = 8, .channels = 1, .pixels = std::vector<std::uint8_t>(64, 7)});
  JobSpec job;
  require_style_picture(job);  // the job has none
  job.training.style.picture.file = file.string();
  require_style_picture(job);
  folder.write("style.png", folder.read("style.png").substr(0, 40));
  try {
    require_style_picture(job);
    ADD_FAILURE() << "half a picture is taken";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("training.style.picture"), HasSubstr(file.string())));
  }
}

}  // namespace
}  // namespace gangway::launch
