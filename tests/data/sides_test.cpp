// SPDX-License-Identifier: MIT
// Sources whose examples are pairs of pictures.
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/open_dataset.hpp"
#include "data/sides/side_datasets.hpp"
#include "data/sides/sided_files.hpp"
#include "data/two_sides.hpp"
#include "gan/pictures/png.hpp"
#include "job/families/families.hpp"
#include "tests/data/expect_config_error.hpp"
#include "tests/named_rows.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::data {
namespace {

using gangway::testing::expect_config_error;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

ModelSpec picture_model() { return {.family = family_named("unet"), .resolution = 32, .width = 4}; }

/// Writes a picture whose halves have one shade each.
void write_halves(const std::filesystem::path& file, std::uint8_t left, std::uint8_t right,
                  int width = 64) {
  std::filesystem::create_directories(file.parent_path());
  pictures::Raster raster{.height = 32, .width = width, .channels = 1, .pixels = {}};
  for (int i = 0; i < 32 * width; ++i) {
    raster.pixels.push_back(i % width < width / 2 ? left : right);
  }
  pictures::write_png(file, raster);
}

/// Returns the shades in the middle of both pictures of an example.
std::vector<int> shades_of(const Dataset& dataset, std::int64_t index) {
  std::vector<float> out(dataset.shape().elements());
  (void)dataset.read(index, out);
  const std::size_t half = out.size() / 2;
  const auto shade = [&](std::size_t at) {
    return static_cast<int>((out[at] + 1.0F) * 127.5F + 0.5F);
  };
  return {shade(16 * 32 + 16), shade(half + 16 * 32 + 16)};
}

std::vector<ArchiveEntry> entries_of(const std::vector<std::string>& names) {
  std::vector<ArchiveEntry> entries;
  for (const std::string& name : names) {
    entries.push_back({.name = name, .bytes = 1});
  }
  return entries;
}

TEST(SidedFiles, AreToldByTheirFolders) {
  const auto entries = entries_of({"testA/1.png", "testB/1.png", "trainA/1.png", "trainB/2.png"});
  const SidedFiles training = sided_files(entries, SourcePart::kTraining);
  EXPECT_THAT(training.first, ElementsAre(2U));
  EXPECT_THAT(training.second, ElementsAre(3U));
  EXPECT_THAT(sided_files(entries, SourcePart::kHeldOut).first, ElementsAre(0U));
  const auto whole = entries_of({"train/x/1.png", "val/2.png", "other/3.png"});
  EXPECT_THAT(sided_files(whole, SourcePart::kTraining).whole, ElementsAre(0U));
  EXPECT_THAT(sided_files(whole, SourcePart::kHeldOut).whole, ElementsAre(1U));
  const auto plain = entries_of({"a/1.png", "b/1.png", "abc/2.png"});
  EXPECT_THAT(sided_files(plain, SourcePart::kTraining).first, ElementsAre(0U));
  EXPECT_THAT(sided_files(plain, SourcePart::kTraining).whole, ElementsAre(2U));
  EXPECT_TRUE(sided_files(plain, SourcePart::kHeldOut).first.empty());
  const auto deep = entries_of({"trainA/b/1.png", "trainB/test/1.png"});
  EXPECT_THAT(sided_files(deep, SourcePart::kTraining).first, ElementsAre(0U));
  EXPECT_THAT(sided_files(deep, SourcePart::kTraining).second, ElementsAre(1U));
}

TEST(Pairs, AreTheHalvesOfAPicture) {
  const gangway::testing::ScratchFolder folder;
  write_halves(folder.path() / "train" / "1.png", 10, 200);
  write_halves(folder.path() / "val" / "2.png", 30, 90);
  const DataSpec spec{.source = "pairs:" + folder.path().string()};
  const auto training = open_dataset(spec, picture_model(), 0);
  ASSERT_EQ(training->size(), 1);
  EXPECT_EQ(training->shape().channels, 2);
  EXPECT_THAT(shades_of(*training, 0), ElementsAre(10, 200));
  EXPECT_THAT(shades_of(*open_two_sides(spec, picture_model(), SourcePart::kHeldOut), 0),
              ElementsAre(30, 90));
}

TEST(Pairs, AreNotMadeOfASideAloneNorOfSquares) {
  const auto complaint = [](const gangway::testing::ScratchFolder& folder) -> std::string {
    try {
      const auto pairs =
          open_dataset({.source = "pairs:" + folder.path().string()}, picture_model(), 0);
      return shades_of(*pairs, 0).empty() ? "" : "none";
    } catch (const ConfigError& error) {
      return error.what();
    }
  };
  const gangway::testing::ScratchFolder alone;
  write_halves(alone.path() / "a" / "1.png", 10, 200);
  EXPECT_THAT(complaint(alone), HasSubstr("has no picture of equal name"));
  write_halves(alone.path() / "b" / "1.png", 10, 200);
  EXPECT_EQ(complaint(alone), "none");
  write_halves(alone.path() / "2.png", 10, 200);
  EXPECT_THAT(complaint(alone), HasSubstr("lies beside folders of two sides"));
  const gangway::testing::ScratchFolder squares;
  write_halves(squares.path() / "1.png", 10, 200, 32);
  EXPECT_THAT(complaint(squares), HasSubstr("32x32 pixels are not two pictures side by side"));
  const gangway::testing::ScratchFolder held_out;
  write_halves(held_out.path() / "test" / "1.png", 10, 200);
  EXPECT_THAT(complaint(held_out), HasSubstr("holds no pair of pictures"));
}

TEST(Pairs, AreFilesOfEqualName) {
  const gangway::testing::ScratchFolder folder;
  write_halves(folder.path() / "a" / "1.png", 10, 10, 32);
  write_halves(folder.path() / "a" / "2.png", 20, 20, 32);
  write_halves(folder.path() / "b" / "2.png", 60, 60, 32);
  write_halves(folder.path() / "b" / "1.png", 50, 50, 32);
  const DataSpec spec{.source = "pairs:" + folder.path().string()};
  const auto pairs = open_two_sides(spec, picture_model(), SourcePart::kTraining);
  EXPECT_THAT(shades_of(*pairs, 0), ElementsAre(10, 50));
  EXPECT_THAT(shades_of(*pairs, 1), ElementsAre(20, 60));
  EXPECT_EQ(open_two_sides(spec, picture_model(), SourcePart::kHeldOut), nullptr);
  std::filesystem::remove(folder.path() / "b" / "1.png");
  expect_config_error([&] { (void)open_two_sides(spec, picture_model(), SourcePart::kTraining); },
                      {"1.png", "no picture of equal name"});
}

TEST(Unpaired, BringEachPictureTogetherWithAnyOfTheOtherSide) {
  const gangway::testing::ScratchFolder folder;
  for (const int i : {1, 2, 3}) {
    write_halves(folder.path() / "trainA" / (std::to_string(i) + ".png"),
                 static_cast<std::uint8_t>(i), static_cast<std::uint8_t>(i), 32);
  }
  for (const int i : {7, 8}) {
    write_halves(folder.path() / "trainB" / (std::to_string(i) + ".png"),
                 static_cast<std::uint8_t>(i), static_cast<std::uint8_t>(i), 32);
  }
  const auto all = open_two_sides({.source = "unpaired:" + folder.path().string()}, picture_model(),
                                  SourcePart::kTraining);
  ASSERT_EQ(all->size(), 6);
  std::set<std::vector<int>> seen;
  for (std::int64_t i = 0; i < all->size(); ++i) {
    seen.insert(shades_of(*all, i));
  }
  EXPECT_EQ(seen.size(), 6U);
  EXPECT_EQ(seen.count({3, 8}), 1U);
}

TEST(Unpaired, IsLimitedOnEachSide) {
  const gangway::testing::ScratchFolder folder;
  for (const int i : {1, 2, 3}) {
    const auto shade = static_cast<std::uint8_t>(i);
    const std::string name = std::to_string(i) + ".png";
    write_halves(folder.path() / "a" / name, shade, shade, 32);
    write_halves(folder.path() / "b" / name, shade, shade, 32);
    write_halves(folder.path() / "testA" / name, shade, shade, 32);
    write_halves(folder.path() / "testB" / name, shade, shade, 32);
  }
  write_halves(folder.path() / "b" / "4.png", 4, 4, 32);
  DataSpec spec{.source = "unpaired:" + folder.path().string(), .limit = 2};
  const auto some = open_two_sides(spec, picture_model(), SourcePart::kTraining);
  ASSERT_EQ(some->size(), 4);
  std::set<std::vector<int>> seen;
  for (std::int64_t i = 0; i < some->size(); ++i) {
    seen.insert(shades_of(*some, i));
  }
  EXPECT_EQ(seen, (std::set<std::vector<int>>{{1, 1}, {1, 2}, {2, 1}, {2, 2}}));
  EXPECT_EQ(open_two_sides(spec, picture_model(), SourcePart::kHeldOut)->size(), 9);
  spec.limit = 4;
  expect_config_error([&] { (void)open_two_sides(spec, picture_model(), SourcePart::kTraining); },
                      {"data.limit", "more than the 3 of the first side of unpaired:"});
}

TEST(Pairs, AreLimitedAndMayGoTheOtherWay) {
  const gangway::testing::ScratchFolder folder;
  write_halves(folder.path() / "train" / "1.png", 10, 200);
  write_halves(folder.path() / "train" / "2.png", 20, 220);
  write_halves(folder.path() / "val" / "3.png", 30, 90);
  DataSpec spec{
      .source = "pairs:" + folder.path().string(), .limit = 1, .direction = PairDirection::kBToA};
  const auto some = open_dataset(spec, picture_model(), 0);
  ASSERT_EQ(some->size(), 1);
  EXPECT_THAT(shades_of(*some, 0), ElementsAre(200, 10));
  EXPECT_THAT(shades_of(*open_two_sides(spec, picture_model(), SourcePart::kHeldOut), 0),
              ElementsAre(90, 30));
  spec.direction = PairDirection::kAToB;
  EXPECT_NE(open_dataset(spec, picture_model(), 0)->fingerprint(), some->fingerprint());
  spec.limit = 3;
  expect_config_error([&] { (void)open_dataset(spec, picture_model(), 0); },
                      {"data.limit", "use 2 at most"});
}

/// Ten pictures of two labels, 1 and 3.
class TwoKinds : public Dataset {
 public:
  [[nodiscard]] std::int64_t size() const override { return 10; }
  [[nodiscard]] ExampleShape shape() const override { return {}; }
  [[nodiscard]] int num_classes() const override { return 4; }
  [[nodiscard]] int read(std::int64_t index, std::span<float> out) const override {
    out[0] = 0.0F;
    return index % 2 == 0 ? 1 : 3;
  }
  [[nodiscard]] std::string fingerprint() const override { return "two kinds"; }
};

TEST(OneClass, SaysWhichLabelsThereMayBe) {
  EXPECT_EQ(OneClass(std::make_unique<TwoKinds>(), 3).size(), 5);
  expect_config_error([] { const OneClass none(std::make_unique<TwoKinds>(), 7); },
                      {"no picture of label 7", "use labels from 0 to 3"});
}

/// One picture: black, with a white square.
class Square : public Dataset {
 public:
  [[nodiscard]] std::int64_t size() const override { return 1; }
  [[nodiscard]] ExampleShape shape() const override { return {1, 8, 8}; }
  [[nodiscard]] int num_classes() const override { return 0; }
  [[nodiscard]] int read(std::int64_t, std::span<float> out) const override {
    for (std::size_t i = 0; i < 64; ++i) {
      const bool is_inside = i / 8 >= 2 && i / 8 < 6 && i % 8 >= 2 && i % 8 < 6;
      out[i] = is_inside ? 1.0F : -1.0F;
    }
    return 0;
  }
  [[nodiscard]] std::string fingerprint() const override { return "square"; }
};

TEST(Outlines, AreWhereShadesChange) {
  const Outlines outlines(std::make_unique<Square>());
  std::vector<float> out(128);
  (void)outlines.read(0, out);
  EXPECT_EQ(out[0], -1.0F);          // far outside
  EXPECT_EQ(out[3 * 8 + 3], -1.0F);  // inside
  EXPECT_EQ(out[3 * 8 + 2], 1.0F);   // on both sides of an edge
  EXPECT_EQ(out[3 * 8 + 1], 1.0F);
  EXPECT_EQ(out[64 + 3 * 8 + 3], 1.0F);
}

TEST(TwoSides, ComplainAboutWhatTheyCannotRead) {
  expect_config_error(
      [] {
        (void)open_two_sides({.source = "classes:fashion-mnist:5"}, picture_model(),
                             SourcePart::kTraining);
      },
      {"two labels"});
  expect_config_error(
      [] {
        (void)open_two_sides({.source = "edges:images"}, picture_model(), SourcePart::kTraining);
      },
      {"fashion-mnist or idx:DIR"});
}

}  // namespace
}  // namespace gangway::data
