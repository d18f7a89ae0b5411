// SPDX-License-Identifier: MIT
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "data/archives/open_archive.hpp"
#include "data/kept/write_pack.hpp"
#include "data/open_dataset.hpp"
#include "gan/pictures/png.hpp"
#include "tests/data/expect_config_error.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::data {
namespace {

namespace fs = std::filesystem;
using gangway::testing::expect_config_error;

constexpr int kPackSide = 16;
constexpr int kPackedPictures = 40;

/// Makes a picture of many shades.
std::string shaded_png(int number, int channels) {
  pictures::Raster raster{
      .height = 20 + number % 7, .width = 23, .channels = channels, .pixels = {}};
  for (int i = 0; i < raster.height * raster.width * channels; ++i) {
    raster.pixels.push_back(static_cast<std::uint8_t>((i * 7 + number * 13) % 256));
  }
  return pictures::encode_png(raster);
}

class PackTest : public ::testing::Test {
 protected:
  /// Writes pictures of two labels; with `has_colours` every third is in colour.
  void write_pictures(bool has_colours) const {
    for (int i = 0; i < kPackedPictures; ++i) {
      folder_.write("pictures/" + std::to_string(i % 2) + "/" + std::to_string(i) + ".png",
                    shaded_png(i, has_colours && i % 3 == 2 ? 3 : 1));
    }
  }
  Pack pack(int threads = 2) const {
    const fs::path pictures = folder_.path() / "pictures";
    // Three colour pictures per shard.
    return write_pack(*open_image_archive(pictures), pictures.string(),
                      {.folder = packed(),
                       .resolution = kPackSide,
                       .threads = threads,
                       .shard_bytes = 3 * 3 * kPackSide * kPackSide + 1});
  }
  [[nodiscard]] fs::path packed() const { return folder_.path() / "packed"; }
  [[nodiscard]] std::unique_ptr<Dataset> open(const std::string& form, int channels,
                                              int resolution = kPackSide) const {
    ModelSpec model;
    model.resolution = resolution;
    model.channels = channels;
    const fs::path place = form == "pack:" ? packed() : folder_.path() / "pictures";
    return open_dataset({.source = form + place.string()}, model, 0);
  }
  void expect_equal(int channels) const {
    const auto one = open("images:", channels);
    const auto other = open("pack:", channels);
    ASSERT_EQ(one->size(), other->size());
    EXPECT_EQ(one->num_classes(), other->num_classes());
    std::vector<float> values(one->shape().elements());
    std::vector<float> packed_values(values.size());
    for (std::int64_t i = 0; i < one->size(); ++i) {
      EXPECT_EQ(one->read(i, values), other->read(i, packed_values));
      EXPECT_EQ(values, packed_values) << i;
    }
  }
  void read_all() const {
    const auto dataset = open("pack:", 1);
    std::vector<float> values(dataset->shape().elements());
    for (std::int64_t i = 0; i < dataset->size(); ++i) {
      (void)dataset->read(i, values);
    }
  }

  testing::ScratchFolder folder_;
};

TEST_F(PackTest, HasTheValuesAndLabelsOfItsPictures) {
  write_pictures(true);
  EXPECT_EQ(pack().shards.size(), 14U);
  expect_equal(1);
  expect_equal(3);
}

TEST_F(PackTest, OfGreyPicturesHasOneChannel) {
  write_pictures(false);
  EXPECT_EQ(pack().channels, 1);
  expect_equal(1);
  expect_equal(3);
}

TEST_F(PackTest, IsTheSameWithAnyNumberOfThreads) {
  write_pictures(true);
  (void)pack(1);
  const std::string before = open("pack:", 3)->fingerprint();
  fs::remove_all(packed());
  (void)pack(4);
  EXPECT_EQ(open("pack:", 3)->fingerprint(), before);
}

TEST_F(PackTest, NamesTheFileThatIsCutChangedOrGone) {
  write_pictures(false);
  (void)pack();
  const fs::path shard = packed() / "00001.shard";
  const std::string whole = folder_.read("packed/00001.shard");
  std::string changed = whole;
  changed[5] = static_cast<char>(changed[5] + 1);
  folder_.write("packed/00001.shard", changed);
  expect_config_error([&] { read_all(); }, {"00001.shard", "picture 0 of it"});
  folder_.write("packed/00001.shard", whole.substr(1));
  expect_config_error([&] { read_all(); }, {"00001.shard", "bytes where"});
  fs::remove(shard);
  expect_config_error([&] { read_all(); }, {"00001.shard", "is not there"});
  folder_.write("packed/00001.shard", whole);
  read_all();
  const std::string manifest = folder_.read("packed/pack.json");
  const std::size_t count = manifest.find("\"pictures\": ") + 12;
  folder_.write("packed/pack.json", manifest.substr(0, count) + "1152921504606846977" +
                                        manifest.substr(manifest.find(',', count)));
  expect_config_error([&] { read_all(); }, {"index.bin", "is cut or changed"});
  const std::size_t labels = manifest.find("\"labels\": ") + 10;
  folder_.write("packed/pack.json", manifest.substr(0, labels) + "1" + manifest.substr(labels + 1));
  expect_config_error([&] { read_all(); },
                      {"index.bin", "has labels that pack.json does not know"});
  const std::size_t file = manifest.find("00000.shard");
  for (const std::string name : {"/etc/passwd", "../00000.shard", ".."}) {
    folder_.write("packed/pack.json", manifest.substr(0, file) + name + manifest.substr(file + 11));
    expect_config_error([&] { read_all(); }, {"pack.json", "names a shard outside its folder"});
  }
  folder_.write("packed/pack.json", manifest);
  fs::resize_file(packed() / "index.bin", 100);
  expect_config_error([&] { read_all(); }, {"index.bin", "is cut or changed"});
  fs::resize_file(packed() / "pack.json", 100);
  expect_config_error([&] { read_all(); }, {"pack.json", "is damaged"});
  fs::remove(packed() / "pack.json");
  expect_config_error([&] { read_all(); }, {"pack.json", "is not there"});
}

TEST_F(PackTest, OfAnotherResolutionIsRefused) {
  write_pictures(false);
  (void)pack();
  expect_config_error([&] { (void)open("pack:", 1, 32); },
                      {"16 x 16", "model.resolution is 32", "--resolution 32"});
}

TEST_F(PackTest, GoesWhereNothingElseIsAndWhereAKilledPackerWas) {
  write_pictures(false);
  folder_.write("packed/00009.shard", "left");
  folder_.write("packed/00010.shard.tmp", "left");
  (void)pack();
  EXPECT_FALSE(fs::exists(packed() / "00010.shard.tmp"));
  expect_equal(1);
  expect_config_error([&] { (void)pack(); }, {"packed: holds a pack already"});
  fs::remove(packed() / "pack.json");
  folder_.write("packed/letter.txt", "mine");
  expect_config_error([&] { (void)pack(); }, {"letter.txt: is no part of a pack"});
  EXPECT_TRUE(fs::exists(packed() / "letter.txt"));
}

}  // namespace
}  // namespace gangway::data
