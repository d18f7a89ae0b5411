// SPDX-License-Identifier: MIT
// Bounds and refusals of the decoder. compare_with_pillow.py tests its pictures.
#include "data/images/image_decoder.hpp"

#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <png.h>
#include <turbojpeg.h>

#include "tests/data/expect_config_error.hpp"

namespace gangway::data {
namespace {

using gangway::testing::expect_config_error;
using std::string_view_literals::operator""sv;
using ::testing::Each;

Pixels decode(std::string_view bytes, const DecodeOptions& options = {}) {
  return decode_image({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}, "a.png",
                      options);
}

std::string png(std::uint32_t width, std::uint32_t height, png_uint_32 format, const void* pixels) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = width;
  image.height = height;
  image.format = format;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::string bytes(size, '\0');
  EXPECT_NE(png_image_write_to_memory(&image, bytes.data(), &size, 0, pixels, 0, nullptr), 0)
      << image.message;
  bytes.resize(size);
  return bytes;
}

std::string jpeg(int width, int height) {
  const std::vector<std::uint8_t> pixels(
      static_cast<std::size_t>(width) * static_cast<std::size_t>(height), 90);
  tjhandle encoder = tjInitCompress();
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  EXPECT_EQ(tjCompress2(encoder, pixels.data(), width, 0, height, TJPF_GRAY, &bytes, &size,
                        TJSAMP_GRAY, 95, 0),
            0);
  const std::string result(reinterpret_cast<const char*>(bytes), size);
  tjFree(bytes);
  tjDestroy(encoder);
  return result;
}

/// Returns the JPEG with another size in its frame header.
std::string with_size(std::string bytes, std::string_view height_and_width) {
  const std::size_t frame = bytes.find("\xFF\xC0"sv);
  return bytes.replace(frame + 5, 4, height_and_width);
}

TEST(DecodeImage, RefusesAPictureOf60000By60000PixelsByItsHeader) {
  // 60,000 is EA60. The file has only a header of 13 bytes with its CRC.
  const auto header =
      "\x89PNG\r\n\x1A\n\0\0\0\x0DIHDR\0\0\xEA\x60\0\0\xEA\x60\x08\x02\0\0\0\x0F\xB0\xE2\x15"
      "\0\0\0\0IDAT\x35\xAF\x06\x1E"sv;
  expect_config_error([&] { (void)decode(header); },
                      {"a.png: 60000 x 60000 pixels cannot be read (at most 134217728"});
  expect_config_error([&] { (void)decode(with_size(jpeg(8, 8), "\xEA\x60\xEA\x60")); },
                      {"60000 x 60000 pixels"});
}

TEST(DecodeImage, KeepsToTheNumberOfPixelsThatItIsGiven) {
  EXPECT_EQ(decode(jpeg(10, 30), {.most_pixels = 300}).height, 30);
  expect_config_error([&] { (void)decode(jpeg(10, 30), {.most_pixels = 299}); },
                      {"10 x 30 pixels", "at most 299"});
}

TEST(DecodeImage, NamesTheKindOfFileThatItDoesNotRead) {
  const std::vector<std::pair<std::string_view, std::string_view>> cases = {
      {"GIF89a"sv, "GIF"},           {"BM\x10\0\0\0"sv, "BMP"},
      {"II*\0\x08\0\0\0"sv, "TIFF"}, {"\0\0\0\x1C\x66typavif"sv, "AVIF"},
      {"<!DOCTYPE html>"sv, "HTML"}, {"version https://git-lfs"sv, "wrong magic"}};
  for (const auto& [bytes, kind] : cases) {
    expect_config_error([&] { (void)decode(bytes); },
                        {"neither a PNG, JPEG nor WebP", std::string(kind)});
  }
}

TEST(DecodeImage, HalvesALargeJpegAsLongAsThriceTheWantedSideIsLeft) {
  const std::string file = jpeg(1000, 800);
  EXPECT_EQ(decode(file).height, 800);
  EXPECT_EQ(decode(file, {.wanted_side = 134}).height, 800);
  EXPECT_EQ(decode(file, {.wanted_side = 133}).height, 400);
  EXPECT_EQ(decode(file, {.wanted_side = 67}).width, 500);
  EXPECT_EQ(decode(file, {.wanted_side = 66}).width, 250);
  EXPECT_EQ(decode(jpeg(1004, 800), {.wanted_side = 32}).width, 251);
  EXPECT_EQ(decode(file, {.wanted_side = 32}).width, 125);
  EXPECT_THAT(decode(file, {.wanted_side = 32}).values, Each(90));
}

TEST(DecodeImage, MixesHalfTransparencyWithWhiteAsStored) {
  const std::vector<std::uint8_t> gray_and_opacity{100, 255, 100, 128, 100, 0};
  const Pixels image = decode(png(3, 1, PNG_FORMAT_GA, gray_and_opacity.data()));
  EXPECT_EQ(image.channels, 1);
  EXPECT_EQ(image.values, (std::vector<std::uint8_t>{100, 177, 255}));
}

}  // namespace
}  // namespace gangway::data
