// SPDX-License-Identifier: MIT
#include "report/tensorboard.hpp"

#include <string>

#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::report {
namespace {

using gangway::testing::ScratchFolder;

TEST(TensorboardWriter, BeginsWithTheKnownFirstRecord) {
  const ScratchFolder folder;
  const TensorboardWriter writer(
      folder.path() / "events", {.host = "node7", .pid = 42}, [] { return 1.0; }, 0);
  const std::string bytes = folder.read("events/events.out.tfevents.1.node7.42");
  ASSERT_EQ(bytes.size(), 8U + 4U + 24U + 4U);
  EXPECT_EQ(bytes.substr(0, 8), std::string("\x18\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(bytes.substr(8, 4),
            "\xa3\x7f\x4b\x22");  // masked CRC-32C of the length 24, as TensorFlow writes it
  EXPECT_EQ(bytes.substr(12, 24),
            std::string("\x09\0\0\0\0\0\0\xf0\x3f\x1a\x0d", 11) + "brain.Event:2");
}

TEST(TensorboardWriter, RefusesAnImageThatIsNoPng) {
  const ScratchFolder folder;
  TensorboardWriter writer(
      folder.path(), {.host = "h", .pid = 1}, [] { return 1.0; }, 0);
  EXPECT_THROW(writer.add_image("Images/fakes", "JFIF", 1), InvariantError);
}

TEST(TensorboardWriter, NamesAFolderThatCannotBeMade) {
  EXPECT_THROW(TensorboardWriter(
                   "/dev/null/events", {.host = "h", .pid = 1}, [] { return 1.0; }, 0),
               EnvironmentError);
}

}  // namespace
}  // namespace gangway::report
