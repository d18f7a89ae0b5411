// SPDX-License-Identifier: MIT
// Folders on failing file systems. ../image_dataset_test.cpp tests other folders.
#include "data/archives/folder_archive.hpp"

#include <algorithm>
#include <cerrno>
#include <deque>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::data {
namespace {

using ::testing::ElementsAre;
using testing::ScratchFolder;

class TroubledFolder : public ::testing::Test {
 protected:
  /// @param errors  of the next reads, 0: none; the last one repeats
  std::vector<std::uint8_t> read(std::deque<int> errors) {
    folder_.write("a.png", "whole");
    const auto archive = open_folder(
        folder_.path(), nullptr,
        {.read =
             [&errors](const auto& path, std::span<std::uint8_t> bytes, std::size_t& held) {
               const int error = errors.front();
               if (errors.size() > 1) {
                 errors.pop_front();
               }
               return error != 0 ? error : reads_of_disk().read(path, bytes, held);
             },
         .wait = [this](std::chrono::seconds time) { waits_.push_back(time.count()); }});
    return archive->read(0);
  }

  ScratchFolder folder_;
  std::vector<std::int64_t> waits_;
};

TEST_F(TroubledFolder, IsReadAgainAfterEachErrorThatMayPass) {
  const std::string whole = "whole";
  EXPECT_TRUE(std::ranges::equal(read({EIO, ESTALE, ETIMEDOUT, 0}), whole));
  EXPECT_THAT(waits_, ElementsAre(1, 2, 4));
}

TEST_F(TroubledFolder, IsTheLossOfItsWorkerWhereTheErrorStays) {
  try {
    (void)read({EIO});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kWorkerLost);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("a.png: cannot be read"));
  }
  EXPECT_THAT(waits_, ElementsAre(1, 2, 4, 8));
}

TEST_F(TroubledFolder, IsReadOnceWhereThePermissionsAreWrong) {
  EXPECT_THROW((void)read({EACCES}), ConfigError);
  EXPECT_TRUE(waits_.empty());
}

}  // namespace
}  // namespace gangway::data
