// SPDX-License-Identifier: MIT
#include "data/idx_dataset.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <zlib.h>

#include "data/images/pixels.hpp"
#include "tests/data/expect_config_error.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::data {
namespace {

using gangway::testing::expect_config_error;
using gangway::testing::ScratchFolder;

std::string idx_bytes(const std::vector<unsigned>& sizes, const std::string& values) {
  std::string bytes{'\0', '\0', '\x08', static_cast<char>(sizes.size())};
  for (const unsigned size : sizes) {
    for (const unsigned shift : {24U, 16U, 8U, 0U}) {
      bytes.push_back(static_cast<char>((size >> shift) & 0xFFU));
    }
  }
  return bytes + values;
}

/// `count` images of side x side pixels; every pixel of image i is 10 * i + 5.
std::string images(unsigned count, unsigned side) {
  std::string values;
  for (unsigned i = 0; i < count; ++i) {
    values += std::string(std::size_t{side} * side, static_cast<char>(10 * i + 5));
  }
  return idx_bytes({count, side, side}, values);
}

void write_gzip(const std::filesystem::path& path, const std::string& bytes) {
  gzFile file = gzopen(path.c_str(), "wb");
  ASSERT_EQ(gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size())),
            static_cast<int>(bytes.size()));
  ASSERT_EQ(gzclose(file), Z_OK);
}

ModelSpec model_of(int resolution, int channels = 1) {
  ModelSpec model;
  model.resolution = resolution;
  model.channels = channels;
  return model;
}

struct Example {
  std::vector<float> values;
  int label = 0;
};

Example read(const Dataset& dataset, std::int64_t index) {
  Example example{.values = std::vector<float>(dataset.shape().elements()), .label = 0};
  example.label = dataset.read(index, example.values);
  return example;
}

TEST(IdxDataset, ReadsImagesAndLabels) {
  const ScratchFolder folder;
  folder.write("train-images-idx3-ubyte", images(3, 28));
  folder.write("train-labels-idx1-ubyte", idx_bytes({3}, std::string("\x02\x00\x07", 3)));
  const auto dataset = open_idx(folder.path(), model_of(28));
  EXPECT_EQ(dataset->size(), 3);
  EXPECT_EQ(dataset->num_classes(), 8);
  const Example example = read(*dataset, 2);
  EXPECT_EQ(example.label, 7);
  EXPECT_EQ(example.values, std::vector<float>(28 * 28, 25 / 127.5F - 1.0F));
}

TEST(IdxDataset, PadsBy2WithBackgroundFor32Pixels) {
  const ScratchFolder folder;
  folder.write("train-images-idx3-ubyte", images(1, 28));
  const Example example = read(*open_idx(folder.path(), model_of(32)), 0);
  for (std::size_t row = 0; row < 32; ++row) {
    for (std::size_t column = 0; column < 32; ++column) {
      const bool is_inside = row >= 2 && row < 30 && column >= 2 && column < 30;
      ASSERT_EQ(example.values[row * 32 + column], is_inside ? to_unit(5) : -1.0F)
          << row << ' ' << column;
    }
  }
}

TEST(IdxDataset, PadsAndDoublesFor64Pixels) {
  const ScratchFolder folder;
  folder.write("train-images-idx3-ubyte", images(2, 28));
  const Example example = read(*open_idx(folder.path(), model_of(64)), 1);
  ASSERT_EQ(example.values.size(), 64U * 64U);
  EXPECT_EQ(example.values[0], -1.0F);
  EXPECT_EQ(example.values[32 * 64 + 32], to_unit(15));
}

TEST(IdxDataset, RepeatsGrayForThreeChannels) {
  const ScratchFolder folder;
  folder.write("train-images-idx3-ubyte", images(1, 28));
  const auto dataset = open_idx(folder.path(), model_of(28, 3));
  EXPECT_EQ(dataset->shape().channels, 3);
  EXPECT_EQ(read(*dataset, 0).values, std::vector<float>(3 * 28 * 28, to_unit(5)));
}

TEST(IdxDataset, CropsAndShrinksLargerOblongImages) {
  const ScratchFolder folder;
  folder.write("train-images-idx3-ubyte", idx_bytes({1, 40, 64}, std::string(40 * 64, '\x40')));
  EXPECT_EQ(read(*open_idx(folder.path(), model_of(32)), 0).values,
            std::vector<float>(32 * 32, to_unit(0x40)));
}

TEST(IdxDataset, KnowsByTheShorterSideWhetherItResamples) {
  const ScratchFolder folder;
  for (const auto& [height, width] : {std::pair(32U, 64U), std::pair(64U, 32U)}) {
    folder.write("train-images-idx3-ubyte",
                 idx_bytes({1, height, width}, std::string(32 * 64, '\x40')));
    const auto fingerprint_at = [&folder](int side) {
      return open_idx(folder.path(), model_of(side))->fingerprint();
    };
    EXPECT_NE(fingerprint_at(32), fingerprint_at(128));
    EXPECT_EQ(fingerprint_at(64), fingerprint_at(128));
  }
}

TEST(IdxDataset, ReadsCompressedFilesWithTheSameFingerprint) {
  const ScratchFolder plain;
  const ScratchFolder compressed;
  plain.write("train-images-idx3-ubyte", images(3, 28));
  write_gzip(compressed.path() / "train-images-idx3-ubyte.gz", images(3, 28));
  const std::string fingerprint = open_idx(plain.path(), model_of(28))->fingerprint();
  EXPECT_EQ(fingerprint.size(), 32U);
  EXPECT_EQ(open_idx(compressed.path(), model_of(32))->fingerprint(), fingerprint);
  EXPECT_NE(open_idx(plain.path(), model_of(64))->fingerprint(), fingerprint)
      << "resampling is part of what is read";
  plain.write("train-images-idx3-ubyte", images(2, 28));
  EXPECT_NE(open_idx(plain.path(), model_of(28))->fingerprint(), fingerprint);
}

TEST(IdxDataset, TakesTheOnlyImageFileOfAFolder) {
  const ScratchFolder folder;
  folder.write("t10k-images-idx3-ubyte", images(3, 28));
  folder.write("t10k-labels-idx1-ubyte", idx_bytes({3}, "\x01\x01\x01"));
  const auto dataset = open_idx(folder.path(), model_of(28));
  EXPECT_EQ(dataset->num_classes(), 2);
  EXPECT_EQ(open_idx(folder.path() / "t10k-images-idx3-ubyte", model_of(28))->size(), 3);
}

TEST(IdxDataset, RefusesAFolderWithoutOrWithSeveralImageFiles) {
  const ScratchFolder folder;
  expect_config_error([&] { (void)open_idx(folder.path(), model_of(28)); },
                      {folder.path().string(), "no files"});
  folder.write("a-idx3-ubyte", images(1, 28));
  folder.write("b-idx3-ubyte", images(1, 28));
  expect_config_error([&] { (void)open_idx(folder.path(), model_of(28)); },
                      {folder.path().string(), "2 files"});
}

TEST(IdxDataset, NamesWhatIsMissing) {
  expect_config_error([] { (void)open_idx("/nowhere/at/all", model_of(28)); },
                      {"/nowhere/at/all: does not exist"});
  expect_config_error([] { (void)open_fashion_mnist("/nowhere", model_of(28)); },
                      {"/nowhere/train-images-idx3-ubyte.gz", "dataset-fashion-mnist"});
}

TEST(IdxDataset, RefusesATruncatedFile) {
  const ScratchFolder folder;
  const std::string whole = images(3, 28);
  const auto path = folder.write("train-images-idx3-ubyte", whole.substr(0, whole.size() - 1));
  expect_config_error([&] { (void)open_idx(folder.path(), model_of(28)); },
                      {path.string(), "truncated: 2351 of the 2352 bytes"});
  folder.write("train-images-idx3-ubyte", whole.substr(0, 9));
  expect_config_error([&] { (void)open_idx(folder.path(), model_of(28)); },
                      {path.string(), "truncated"});
  folder.write("train-images-idx3-ubyte", "");
  expect_config_error([&] { (void)open_idx(folder.path(), model_of(28)); },
                      {path.string(), "truncated"});
}

TEST(IdxDataset, RefusesATruncatedOrDamagedCompressedFile) {
  const ScratchFolder folder;
  const auto path = folder.path() / "train-images-idx3-ubyte.gz";
  write_gzip(path, images(3, 28));
  const std::string whole = folder.read(path.filename());
  for (const std::size_t length : {whole.size() - 1, whole.size() / 2}) {
    folder.write(path.filename(), whole.substr(0, length));
    expect_config_error([&] { (void)open_idx(folder.path(), model_of(28)); },
                        {path.string(), "truncated"});
  }
  std::string flipped = whole;
  flipped[whole.size() - 6] =
      static_cast<char>(flipped[whole.size() - 6] ^ 1);  // in the CRC of the trailer
  folder.write(path.filename(), flipped);
  expect_config_error([&] { (void)open_idx(folder.path(), model_of(28)); },
                      {path.string(), "damaged"});
}

TEST(IdxDataset, RefusesAFileLongerThanAnnounced) {
  const ScratchFolder folder;
  const auto path = folder.write("train-images-idx3-ubyte", images(3, 28) + "x");
  expect_config_error([&] { (void)open_idx(folder.path(), model_of(28)); },
                      {path.string(), "holds more than"});
}

TEST(IdxDataset, RefusesAWrongMagic) {
  const ScratchFolder folder;
  const auto path =
      folder.write("train-images-idx3-ubyte", idx_bytes({3}, "abc") + std::string(20, 'x'));
  expect_config_error([&] { (void)open_idx(folder.path(), model_of(28)); },
                      {path.string(), "wrong magic 00000801"});
}

TEST(IdxDataset, RefusesImpossibleSizesWithoutAllocatingThem) {
  const ScratchFolder folder;
  const auto path =
      folder.write("train-images-idx3-ubyte", idx_bytes({0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF}, "x"));
  expect_config_error([&] { (void)open_idx(folder.path(), model_of(28)); },
                      {path.string(), "impossible sizes"});
  folder.write("train-images-idx3-ubyte", idx_bytes({0, 28, 28}, ""));
  expect_config_error([&] { (void)open_idx(folder.path(), model_of(28)); },
                      {path.string(), "impossible sizes"});
  folder.write("train-images-idx3-ubyte",
               idx_bytes({0xFFFFFF, 1000, 1000}, "x"));  // header says 15 TiB
  expect_config_error([&] { (void)open_idx(folder.path(), model_of(28)); },
                      {path.string(), "impossible sizes"});
  folder.write("train-images-idx3-ubyte",
               idx_bytes({0x5000, 100, 100}, "x"));  // header says 195 MiB; there is 1 byte
  expect_config_error([&] { (void)open_idx(folder.path(), model_of(28)); },
                      {path.string(), "truncated: 1 of"});
  folder.write("train-images-idx3-ubyte", idx_bytes({1, 20000, 1}, std::string(20000, 'x')));
  expect_config_error([&] { (void)open_idx(folder.path(), model_of(28)); },
                      {path.string(), "at most 16384"});
}

TEST(IdxDataset, RefusesLabelsThatDoNotMatchTheImages) {
  const ScratchFolder folder;
  folder.write("train-images-idx3-ubyte", images(3, 28));
  const auto path = folder.write("train-labels-idx1-ubyte", idx_bytes({2}, "\x01\x02"));
  expect_config_error([&] { (void)open_idx(folder.path(), model_of(28)); },
                      {path.string(), "2 labels for the 3 images of", "train-images-idx3-ubyte"});
}

}  // namespace
}  // namespace gangway::data
