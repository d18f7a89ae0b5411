// SPDX-License-Identifier: MIT
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/images/pixels.hpp"
#include "data/kept_datasets.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::data {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::int64_t kShades = 100;

/// Example i is four pixels of shade i, with label i % 3; or of a shade that no byte has.
class Shades : public Dataset {
 public:
  explicit Shades(int& reads, std::string fingerprint = "shades", float beside = 0.0F)
      : reads_(reads), fingerprint_(std::move(fingerprint)), beside_(beside) {}
  [[nodiscard]] std::int64_t size() const override { return kShades; }
  [[nodiscard]] ExampleShape shape() const override { return {.height = 2, .width = 2}; }
  [[nodiscard]] int num_classes() const override { return 3; }
  [[nodiscard]] int read(std::int64_t index, std::span<float> out) const override {
    ++reads_;
    std::ranges::fill(out, to_unit(static_cast<std::uint8_t>(index)) + beside_);
    return label(index);
  }
  [[nodiscard]] int label(std::int64_t index) const override { return static_cast<int>(index % 3); }
  [[nodiscard]] std::string fingerprint() const override { return fingerprint_; }

 private:
  int& reads_;
  std::string fingerprint_;
  float beside_;
};

class CachedDatasetTest : public ::testing::Test {
 protected:
  std::unique_ptr<Dataset> opened(std::unique_ptr<Dataset> all,
                                  std::int64_t cache = DataSpec::kAutoCache) {
    return cached(std::move(all), {.cache = cache}, &check_);
  }
  /// Reads all examples, and expects the values from before the cache.
  static void expect_right(const Dataset& dataset, float beside = 0.0F) {
    for (std::int64_t i = 0; i < kShades; ++i) {
      std::vector<float> values(4);
      EXPECT_EQ(dataset.read(i, values), i % 3);
      EXPECT_EQ(values, std::vector<float>(4, to_unit(static_cast<std::uint8_t>(i)) + beside));
    }
  }
  [[nodiscard]] std::vector<fs::path> files() const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(folder_.path() / "pictures")) {
      found.push_back(entry.path());
    }
    return found;
  }

  testing::ScratchFolder folder_;
  ContentsCheck check_{.index_folder = folder_.path()};
  int reads_ = 0;
};

TEST_F(CachedDatasetTest, ReadsEachExampleOnceInTwoProcessesAndTwoRuns) {
  {
    const auto first = opened(std::make_unique<Shades>(reads_));
    const auto second = opened(std::make_unique<Shades>(reads_));
    expect_right(*first);
    expect_right(*second);
    expect_right(*first);
  }
  expect_right(*opened(std::make_unique<Shades>(reads_)));
  EXPECT_EQ(reads_, kShades);
  EXPECT_THAT(check_.notes, ElementsAre());
}

TEST_F(CachedDatasetTest, OfOtherDataIsAnotherOne) {
  expect_right(*opened(std::make_unique<Shades>(reads_)));
  expect_right(*opened(std::make_unique<Shades>(reads_, "others")));
  EXPECT_EQ(reads_, 2 * kShades);
  EXPECT_EQ(files().size(), 2U);
}

TEST_F(CachedDatasetTest, KeepsNothingThatIsNoByte) {
  const auto dataset = opened(std::make_unique<Shades>(reads_, "between", 0.001F));
  expect_right(*dataset, 0.001F);
  expect_right(*dataset, 0.001F);
  EXPECT_EQ(reads_, 2 * kShades);
}

TEST_F(CachedDatasetTest, DoesNotTakeAHalfWrittenExampleForAWholeOne) {
  expect_right(*opened(std::make_unique<Shades>(reads_)));
  {
    std::fstream file(files().at(0), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-2, std::ios::end);  // in the last example
    file.put('\x7f');
  }
  expect_right(*opened(std::make_unique<Shades>(reads_)));
  EXPECT_EQ(reads_, kShades + 1);
}

TEST_F(CachedDatasetTest, IsMadeAnewWhereItsMakerWasKilled) {
  expect_right(*opened(std::make_unique<Shades>(reads_)));
  fs::resize_file(files().at(0), 5000);
  expect_right(*opened(std::make_unique<Shades>(reads_)));
  EXPECT_EQ(reads_, 2 * kShades);
}

TEST_F(CachedDatasetTest, KeepsTheFirstExamplesWhereAllFindNoRoom) {
  constexpr std::int64_t kRoomForTen = 8192 + 10 * (4 + 8);
  const auto dataset = opened(std::make_unique<Shades>(reads_), kRoomForTen);
  expect_right(*dataset);
  expect_right(*dataset);
  EXPECT_EQ(reads_, 2 * kShades - 10);
  EXPECT_THAT(check_.notes, ElementsAre("data.cache: has room for 10 of 100 examples"));
  EXPECT_LE(fs::file_size(files().at(0)), static_cast<std::uintmax_t>(kRoomForTen));
}

TEST_F(CachedDatasetTest, IsOffInALineWhereThereIsNoRoom) {
  const auto dataset = opened(std::make_unique<Shades>(reads_), 10);
  expect_right(*dataset);
  EXPECT_THAT(check_.notes, ElementsAre(HasSubstr("data.cache: nothing is kept; ")));
  EXPECT_THAT(files(), ElementsAre());
}

TEST_F(CachedDatasetTest, RemovesThoseThatNobodyHasUsedForAWeek) {
  const auto used = opened(std::make_unique<Shades>(reads_, "used"));
  (void)opened(std::make_unique<Shades>(reads_, "old"));
  for (const fs::path& file : files()) {
    fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(8 * 24));
  }
  (void)opened(std::make_unique<Shades>(reads_, "new"));
  EXPECT_EQ(files().size(), 2U);
}

}  // namespace
}  // namespace gangway::data
