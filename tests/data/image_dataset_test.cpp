// SPDX-License-Identifier: MIT
#include "data/image_dataset.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <turbojpeg.h>
#include <zip.h>

#include "data/images/pixels.hpp"
#include "data/open_dataset.hpp"
#include "gan/pictures/png.hpp"
#include "tests/data/expect_config_error.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::data {
namespace {

using gangway::testing::expect_config_error;
using gangway::testing::ScratchFolder;

pictures::Raster plain(int height, int width, std::vector<std::uint8_t> color) {
  pictures::Raster raster{
      .height = height, .width = width, .channels = static_cast<int>(color.size()), .pixels = {}};
  for (int i = 0; i < height * width; ++i) {
    raster.pixels.insert(raster.pixels.end(), color.begin(), color.end());
  }
  return raster;
}

std::string png(int height, int width, std::vector<std::uint8_t> color) {
  return pictures::encode_png(plain(height, width, std::move(color)));
}

std::string jpeg(int height, int width, std::vector<std::uint8_t> color) {
  const pictures::Raster raster = plain(height, width, std::move(color));
  const bool is_gray = raster.channels == 1;
  tjhandle encoder = tjInitCompress();
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  EXPECT_EQ(
      tjCompress2(encoder, raster.pixels.data(), width, 0, height, is_gray ? TJPF_GRAY : TJPF_RGB,
                  &bytes, &size, is_gray ? TJSAMP_GRAY : TJSAMP_444, 95, 0),
      0);
  const std::string result(reinterpret_cast<const char*>(bytes), size);
  tjFree(bytes);
  tjDestroy(encoder);
  return result;
}

void write_zip(const std::filesystem::path& path,
               const std::vector<std::pair<std::string, std::string>>& files,
               zip_int32_t method = ZIP_CM_STORE) {
  zip_t* archive = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, nullptr);
  ASSERT_NE(archive, nullptr);
  for (const auto& [name, bytes] : files) {
    zip_source_t* source = zip_source_buffer(archive, bytes.data(), bytes.size(), 0);
    const zip_int64_t index = zip_file_add(archive, name.c_str(), source, ZIP_FL_ENC_UTF_8);
    ASSERT_GE(index, 0);
    ASSERT_EQ(zip_set_file_compression(archive, static_cast<zip_uint64_t>(index), method, 0), 0);
  }
  ASSERT_EQ(zip_close(archive), 0);
}

std::unique_ptr<Dataset> open(const std::filesystem::path& path, int resolution = 16,
                              int channels = 3) {
  ModelSpec model;
  model.resolution = resolution;
  model.channels = channels;
  return open_dataset(DataSpec{.source = "images:" + path.string()}, model, 0);
}

std::vector<float> values_of(const Dataset& dataset, std::int64_t index) {
  std::vector<float> values(dataset.shape().elements());
  (void)dataset.read(index, values);
  return values;
}

int label_of(const Dataset& dataset, std::int64_t index) {
  std::vector<float> values(dataset.shape().elements());
  return dataset.read(index, values);
}

TEST(ImageDataset, ReadsPngAndJpegInSortedOrderWithoutLabels) {
  const ScratchFolder folder;
  folder.write("b.JPG", jpeg(16, 16, {200}));
  folder.write("a.png", png(16, 16, {100}));
  folder.write("notes.txt", "not an image");
  folder.write(".hidden.png", "not an image");
  const auto dataset = open(folder.path(), 16, 1);
  ASSERT_EQ(dataset->size(), 2);
  EXPECT_EQ(dataset->num_classes(), 0);
  EXPECT_EQ(values_of(*dataset, 0), std::vector<float>(256, to_unit(100)));
  EXPECT_NEAR(values_of(*dataset, 1)[77], to_unit(200), 0.02);
}

TEST(ImageDataset, TakesLabelsFromSubFoldersInSortedOrder) {
  const ScratchFolder folder;
  folder.write("zebra/1.png", png(16, 16, {1}));
  folder.write("ant/deeper/1.png", png(16, 16, {2}));
  folder.write("cow/1.png", png(16, 16, {3}));
  folder.write("cow/2.png", png(16, 16, {4}));
  const auto dataset = open(folder.path());
  EXPECT_EQ(dataset->num_classes(), 3);
  EXPECT_EQ(label_of(*dataset, 0), 0);
  EXPECT_EQ(label_of(*dataset, 2), 1);
  EXPECT_EQ(label_of(*dataset, 3), 2);
}

constexpr const char* kTwoShards =
    R"({"labels": [["00000/a.png", 4], ["00000/b.png", 0], ["00001/c.png", 2]]})";

/// StyleGAN's dataset_tool.py spreads images over numbered folders, which are no labels.
std::vector<std::pair<std::string, std::string>> two_shards(const std::string& top,
                                                            const std::string& labels) {
  return {{top + "00000/a.png", png(16, 16, {1})},
          {top + "00000/b.png", png(16, 16, {2})},
          {top + "00001/c.png", png(16, 16, {3})},
          {top + "dataset.json", labels}};
}

std::vector<int> labels_of(const Dataset& dataset) {
  std::vector<int> labels;
  for (std::int64_t i = 0; i < dataset.size(); ++i) {
    labels.push_back(label_of(dataset, i));
  }
  return labels;
}

TEST(ImageDataset, TakesLabelsFromStyleGansList) {
  for (const std::string top : {"", "set/", "data/set/"}) {
    const ScratchFolder folder;
    const auto zip = folder.path() / "set.zip";
    write_zip(zip, two_shards(top, kTwoShards));
    for (const auto& [name, bytes] : two_shards(top, kTwoShards)) {
      folder.write("folder/" + name, bytes);
    }
    for (const auto& path : {zip, folder.path() / "folder"}) {
      const auto dataset = open(path);
      EXPECT_EQ(labels_of(*dataset), (std::vector<int>{4, 0, 2})) << path;
      EXPECT_EQ(dataset->num_classes(), 5);
    }
  }
}

TEST(ImageDataset, TakesLabelsOfASetThatFillsOneNumberedFolder) {
  const ScratchFolder folder;
  folder.write("00000/a.png", png(16, 16, {1}));
  folder.write("00000/b.png", png(16, 16, {2}));
  folder.write("dataset.json", kTwoShards);
  EXPECT_EQ(labels_of(*open(folder.path())), (std::vector<int>{4, 0}));
}

TEST(ImageDataset, HasNoLabelsWhereTheListSaysSo) {
  const ScratchFolder folder;
  for (const auto& [name, bytes] : two_shards("", R"({"labels": null})")) {
    folder.write(name, bytes);
  }
  const auto dataset = open(folder.path());
  EXPECT_EQ(dataset->num_classes(), 0);
  EXPECT_EQ(labels_of(*dataset), (std::vector<int>{0, 0, 0}));
}

TEST(ImageDataset, LeavesAListAloneThatIsNotOfAllImages) {
  const ScratchFolder folder;
  folder.write("ant/1.png", png(16, 16, {1}));
  folder.write("ant/dataset.json", "not looked at");
  folder.write("bee/1.png", png(16, 16, {2}));
  EXPECT_EQ(open(folder.path())->num_classes(), 2);
}

TEST(ImageDataset, NamesAnImageWithoutALabelInTheList) {
  const ScratchFolder folder;
  for (const auto& [name, bytes] : two_shards("", kTwoShards)) {
    folder.write(name, bytes);
  }
  folder.write("00001/d.png", png(16, 16, {4}));
  expect_config_error([&] { (void)open(folder.path()); },
                      {"dataset.json", "has no label for", "00001/d.png"});
}

TEST(ImageDataset, IsAnotherSetWithOtherLabels) {
  const ScratchFolder folder;
  for (const auto& [name, bytes] : two_shards("", kTwoShards)) {
    folder.write(name, bytes);
  }
  const std::string before = open(folder.path())->fingerprint();
  std::string other = kTwoShards;
  other[other.find('4')] = '5';
  folder.write("dataset.json", other);
  EXPECT_NE(open(folder.path())->fingerprint(), before);
}

TEST(ImageDataset, PutsChannelsFirst) {
  const ScratchFolder folder;
  folder.write("a.png", png(16, 16, {10, 20, 30}));
  const auto values = values_of(*open(folder.path()), 0);
  EXPECT_EQ(values[0], to_unit(10));
  EXPECT_EQ(values[256], to_unit(20));
  EXPECT_EQ(values[512 + 255], to_unit(30));
}

TEST(ImageDataset, TurnsColourIntoGrayAndGrayIntoColour) {
  const ScratchFolder folder;
  folder.write("a.png", png(16, 16, {255, 0, 0}));
  folder.write("b.png", png(16, 16, {9}));
  EXPECT_EQ(values_of(*open(folder.path(), 16, 1), 0)[0], to_unit(76));  // 0.299 * 255
  EXPECT_EQ(values_of(*open(folder.path(), 16, 3), 1), std::vector<float>(768, to_unit(9)));
}

TEST(ImageDataset, BringsImagesOfMixedSizesToTheModels) {
  const ScratchFolder folder;
  folder.write("large.png", png(100, 70, {50, 60, 70}));
  folder.write("small.png", png(5, 9, {50, 60, 70}));
  const auto dataset = open(folder.path(), 32);
  EXPECT_EQ(values_of(*dataset, 0), values_of(*dataset, 1));
  EXPECT_EQ(values_of(*dataset, 0)[0], to_unit(50));
}

TEST(ImageDataset, RefusesPicturesThatWouldBeLeftOutInSilence) {
  const ScratchFolder folder;
  folder.write("a.jfif", jpeg(16, 16, {200}));
  folder.write("Thumbs.db", "no picture");
  folder.write("b/.DS_Store", "no picture");
  folder.write(".cache/c.gif", "hidden");
  EXPECT_EQ(open(folder.path(), 16, 1)->size(), 1);
  folder.write("y.TIFF", "a picture");
  folder.write("x.gif", "a picture");
  expect_config_error([&] { (void)open(folder.path()); },
                      {folder.path().string(), "(2, such as x.gif)"});
  write_zip(folder.path() / "set.zip", {{"a.png", png(16, 16, {1})}, {"b.bmp", "a picture"}});
  expect_config_error([&] { (void)open(folder.path() / "set.zip"); },
                      {"set.zip", "(1, such as b.bmp)"});
}

TEST(ImageDataset, RefusesAFileOfMoreThanAGibibyteWithoutReadingIt) {
  const ScratchFolder folder;
  const auto path = folder.write("a.png", "");
  std::filesystem::resize_file(path, (std::uintmax_t{1} << 30U) + 1);  // a sparse file
  expect_config_error([&] { (void)open(folder.path()); }, {path.string(), "1073741825 bytes"});
}

TEST(ImageDataset, RefusesAFileOfAZipThatIsMadeToFillMemory) {
  const ScratchFolder folder;
  constexpr std::size_t kBytes = std::size_t{17} << 20U;
  write_zip(folder.path() / "set.zip", {{"a.png", std::string(kBytes, '\0')}}, ZIP_CM_DEFLATE);
  expect_config_error([&] { (void)open(folder.path() / "set.zip"); },
                      {"set.zip!a.png: 17825792 bytes packed in"});
  write_zip(folder.path() / "forged.zip", {{"a.png", png(16, 16, {1})}});
  std::string forged = folder.read("forged.zip");
  const std::size_t sizes = forged.find("PK\x01\x02") + 20;  // packed, then unpacked
  forged.replace(sizes, 8, std::string("\0\0\0\x08\0\0\0\x08", 8));
  folder.write("forged.zip", forged);
  expect_config_error(
      [&] { (void)open(folder.path() / "forged.zip"); },
      {fmt::format("forged.zip!a.png: 134217728 bytes packed in {}", forged.size())});
}

TEST(ImageDataset, ReadsAZipAsItsFolder) {
  const ScratchFolder folder;
  std::vector<std::pair<std::string, std::string>> files;
  for (int i = 0; i < 3; ++i) {
    const auto shade = static_cast<std::uint8_t>(40 * i);
    files.emplace_back("set/" + std::string(i < 2 ? "x/" : "y/") + std::to_string(i) + ".png",
                       png(16, 16, {shade}));
    folder.write("set/" + files.back().first.substr(4), files.back().second);
  }
  files.emplace_back("__MACOSX/._0.png", "junk");
  write_zip(folder.path() / "set.zip", files);
  const auto zipped = open(folder.path() / "set.zip");
  const auto loose = open(folder.path() / "set");
  ASSERT_EQ(zipped->size(), 3);
  EXPECT_EQ(zipped->num_classes(), 2);
  EXPECT_EQ(zipped->fingerprint(), loose->fingerprint());
  for (std::int64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(values_of(*zipped, i), values_of(*loose, i));
    EXPECT_EQ(label_of(*zipped, i), label_of(*loose, i));
  }
}

TEST(ImageDataset, IsReadByManyThreadsAtOnce) {
  const ScratchFolder folder;
  std::vector<std::pair<std::string, std::string>> files;
  for (int i = 0; i < 20; ++i) {
    files.emplace_back(std::to_string(100 + i) + ".png",
                       png(16, 16, {static_cast<std::uint8_t>(i)}));
  }
  write_zip(folder.path() / "set.zip", files);
  const auto dataset = open(folder.path() / "set.zip", 16, 1);
  std::vector<int> wrong(4, 0);
  {
    std::vector<std::jthread> threads;
    for (std::size_t thread = 0; thread < wrong.size(); ++thread) {
      threads.emplace_back([&, thread] {
        for (std::int64_t i = 0; i < 20; ++i) {
          wrong[thread] +=
              values_of(*dataset, i)[0] == to_unit(static_cast<std::uint8_t>(i)) ? 0 : 1;
        }
      });
    }
  }
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

TEST(ImageDataset, FingerprintFollowsNamesSizesAndContent) {
  const ScratchFolder folder;
  folder.write("a.png", png(16, 16, {1}));
  const std::string first = open(folder.path())->fingerprint();
  EXPECT_EQ(first.size(), 32U);
  EXPECT_EQ(open(folder.path(), 32, 1)->fingerprint(), first);
  folder.write("a.png", png(16, 16, {2}));
  const std::string second = open(folder.path())->fingerprint();
  EXPECT_NE(second, first);
  std::filesystem::rename(folder.path() / "a.png", folder.path() / "b.png");
  EXPECT_NE(open(folder.path())->fingerprint(), second);
}

TEST(ImageDataset, NamesAMissingOrEmptyPlace) {
  expect_config_error([] { (void)open("/nowhere/pictures"); },
                      {"/nowhere/pictures: does not exist"});
  const ScratchFolder folder;
  expect_config_error([&] { (void)open(folder.path()); },
                      {folder.path().string(), "holds no .png"});
  const auto text = folder.write("list.txt", "no ZIP");
  expect_config_error([&] { (void)open(text); },
                      {text.string(), "neither a folder nor a readable ZIP or tar"});
}

TEST(ImageDataset, RefusesImagesBesideAndInsideSubFolders) {
  const ScratchFolder folder;
  folder.write("a.png", png(16, 16, {1}));
  folder.write("x/a.png", png(16, 16, {1}));
  expect_config_error([&] { (void)open(folder.path()); },
                      {folder.path().string(), "beside and inside sub-folders"});
}

TEST(ImageDataset, NamesADamagedImage) {
  const std::string good_png = png(16, 16, {1, 2, 3});
  const std::string good_jpeg = jpeg(64, 64, {1, 200, 3});
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "empty file"},
      {"GIF89a and so on", "neither a PNG, JPEG nor WebP"},
      {good_png.substr(0, good_png.size() / 2), "damaged or truncated PNG"},
      {good_png.substr(0, 12), "damaged or truncated PNG"},
      {good_jpeg.substr(0, good_jpeg.size() - 40), "damaged or truncated JPEG"},
      {good_jpeg.substr(0, 10), "damaged or truncated JPEG"},
  };
  for (const auto& [bytes, message] : cases) {
    const ScratchFolder folder;
    const auto path = folder.write("a.png", bytes);
    expect_config_error([&] { (void)open(folder.path()); }, {path.string(), message});
  }
}

TEST(ImageDataset, NamesAnImageThatVanishesLater) {
  const ScratchFolder folder;
  folder.write("a.png", png(16, 16, {1}));
  const auto path = folder.write("b.png", png(16, 16, {1}));
  const auto dataset = open(folder.path());
  std::filesystem::remove(path);
  expect_config_error([&] { (void)values_of(*dataset, 1); }, {path.string(), "is gone"});
}

TEST(ImageDataset, NamesADamagedZip) {
  const ScratchFolder folder;
  const auto path = folder.path() / "set.zip";
  write_zip(path, {{"a.png", png(16, 16, {1})}, {"b.png", png(16, 16, {77})}});
  const std::string whole = folder.read("set.zip");
  folder.write("set.zip", whole.substr(0, whole.size() - 30));
  expect_config_error([&] { (void)open(path); }, {path.string(), "make the file again"});
  std::string flipped = whole;
  const std::size_t second_png = flipped.rfind("IDAT") + 8;
  flipped[second_png] = static_cast<char>(flipped[second_png] ^ 0x10);
  folder.write("set.zip", flipped);
  expect_config_error([&] { (void)values_of(*open(path), 1); },
                      {path.string() + "!b.png", "make the ZIP again"});
}

}  // namespace
}  // namespace gangway::data
