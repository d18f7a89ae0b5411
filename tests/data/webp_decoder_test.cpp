// SPDX-License-Identifier: MIT
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <webp/encode.h>

#include "data/images/image_decoder.hpp"
#include "tests/data/expect_config_error.hpp"

namespace gangway::data {
namespace {

using gangway::testing::expect_config_error;
using std::string_literals::operator""s;
using std::string_view_literals::operator""sv;

Pixels decode_file(const std::string& bytes, const DecodeOptions& options = {}) {
  return decode_image({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}, "a.webp",
                      options);
}

std::string taken_webp(std::uint8_t* bytes, std::size_t size) {
  std::string text(reinterpret_cast<const char*>(bytes), size);
  WebPFree(bytes);
  return text;
}

/// Equal red and green, more blue; the last of four channels is opacity.
std::vector<std::uint8_t> shades(int width, int height, int channels) {
  std::vector<std::uint8_t> pixels;
  for (int i = 0; i < width * height; ++i) {
    for (int channel = 0; channel < channels; ++channel) {
      pixels.push_back(static_cast<std::uint8_t>(channel == 3 ? 128 : i * 3 + channel / 2 * 9));
    }
  }
  return pixels;
}

std::string lossless_webp(int width, int height, const std::vector<std::uint8_t>& pixels) {
  std::uint8_t* bytes = nullptr;
  const bool has_opacity = pixels.size() == static_cast<std::size_t>(width * height * 4);
  const std::size_t size =
      has_opacity ? WebPEncodeLosslessRGBA(pixels.data(), width, height, 4 * width, &bytes)
                  : WebPEncodeLosslessRGB(pixels.data(), width, height, 3 * width, &bytes);
  return taken_webp(bytes, size);
}

std::string lossy_webp(int width, int height) {
  std::uint8_t* bytes = nullptr;
  const std::vector<std::uint8_t> pixels = shades(width, height, 3);
  const std::size_t size = WebPEncodeRGB(pixels.data(), width, height, 3 * width, 90, &bytes);
  return taken_webp(bytes, size);
}

std::string in_four_bytes(std::size_t number) {
  std::string bytes;
  for (unsigned shift = 0; shift < 32; shift += 8) {
    bytes += static_cast<char>(number >> shift);
  }
  return bytes;
}

/// Makes a file in the extended format with these flags and chunks.
std::string extended_webp(char flags, int width, int height, const std::string& chunks) {
  const auto less_one = [](int side) {
    return in_four_bytes(static_cast<std::size_t>(side - 1)).substr(0, 3);
  };
  const std::string body = "WEBPVP8X" + in_four_bytes(10) + std::string{flags, '\0', '\0', '\0'} +
                           less_one(width) + less_one(height) + chunks;
  return "RIFF" + in_four_bytes(body.size()) + body;
}

TEST(DecodeWebp, ReadsALosslessFileBitByBit) {
  const auto pixels = shades(7, 5, 3);
  const Pixels image = decode_file(lossless_webp(7, 5, pixels));
  EXPECT_EQ((std::vector{image.width, image.height, image.channels}), (std::vector{7, 5, 3}));
  EXPECT_EQ(image.values, pixels);
}

TEST(DecodeWebp, LaysOpacityOverWhiteAndKeepsToTheNumberOfPixels) {
  const Pixels image = decode_file(lossless_webp(1, 1, {100, 50, 0, 128}));
  EXPECT_EQ(image.values, (std::vector<std::uint8_t>{177, 152, 127}));
  expect_config_error([&] { (void)decode_file(lossy_webp(30, 10), {.most_pixels = 299}); },
                      {"30 x 10 pixels", "at most 299"});
}

TEST(DecodeWebp, TurnsItAsItsExifSays) {
  constexpr auto kTurned = "II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0"sv;
  constexpr char kHasExif = 0x08;
  for (const std::string& exif : {std::string(kTurned), "Exif\0\0"s + std::string(kTurned)}) {
    const std::string file = extended_webp(kHasExif, 7, 5,
                                           lossless_webp(7, 5, shades(7, 5, 3)).substr(12) +
                                               "EXIF" + in_four_bytes(exif.size()) + exif);
    EXPECT_EQ(decode_file(file).width, 5);
    EXPECT_EQ(decode_file(file).height, 7);
    expect_config_error([&] { (void)decode_file(file.substr(0, file.size() - 3)); },
                        {"a.webp: damaged or truncated WebP"});
  }
}

TEST(DecodeWebp, RefusesWhatMovesOrIsCut) {
  constexpr char kMoves = 0x02;
  expect_config_error(
      [&] { (void)decode_file(extended_webp(kMoves, 9, 9, "ANIM" + in_four_bytes(6) + "abcdef")); },
      {"a.webp: an animated WebP"});
  for (const std::string& whole : {lossy_webp(40, 30), lossless_webp(40, 30, shades(40, 30, 4))}) {
    for (std::size_t length = 12; length < whole.size(); ++length) {
      expect_config_error([&] { (void)decode_file(whole.substr(0, length)); },
                          {"a.webp: damaged or truncated WebP"});
    }
    for (std::size_t length = 30; length < whole.size() - 2; length += 7) {  // in the header
      const std::string shorter = "RIFF" + in_four_bytes(length - 8) + whole.substr(8, length - 8);
      expect_config_error([&] { (void)decode_file(shorter); },
                          {"a.webp: damaged or truncated WebP"});
    }
  }
}

}  // namespace
}  // namespace gangway::data
