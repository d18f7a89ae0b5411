// SPDX-License-Identifier: MIT
// Reads a picture from its first byte to the networks' floats: PNG, JPEG or WebP, several
// resolutions, grey or colour. The input's first byte chooses resolution and colour, and whether a
// PNG's checksums are corrected, because few changed inputs would pass them.
#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include <zlib.h>

#include "base/errors.hpp"
#include "data/images/image_decoder.hpp"
#include "data/images/pixels.hpp"
#include "data/images/resample.hpp"
#include "tests/fuzz/target.hpp"

namespace {

namespace data = gangway::data;

constexpr std::int64_t kMostPixels = std::int64_t{1} << 14;
constexpr std::array<int, 4> kSides{1, 8, 32, 64};
constexpr unsigned kMendChecksums = 0x10;
/// A progressive JPEG may visit each pixel 500 times.
constexpr int kMostMilliseconds = 500;

std::size_t big_endian(std::span<const std::uint8_t> bytes) {
  return std::size_t{bytes[0]} << 24U | std::size_t{bytes[1]} << 16U | std::size_t{bytes[2]} << 8U |
         bytes[3];
}

void mend_checksums(std::span<std::uint8_t> file) {
  constexpr std::size_t kSignature = 8;
  constexpr std::size_t kFrame = 12;  // length and name before a chunk, checksum after it
  for (std::size_t at = kSignature; at + kFrame <= file.size();) {
    const std::size_t length = big_endian(file.subspan(at));
    if (length > file.size() - at - kFrame) {
      return;
    }
    const auto sum = crc32(0, file.data() + at + 4, static_cast<uInt>(length + 4));
    for (std::size_t i = 0; i < 4; ++i) {
      file[at + 8 + length + i] = static_cast<std::uint8_t>(sum >> (24U - 8U * i));
    }
    at += kFrame + length;
  }
}

void read(std::span<const std::uint8_t> file, int side, int channels) {
  const data::Pixels image =
      data::decode_image(file, "fuzzed", {.wanted_side = side, .most_pixels = kMostPixels});
  const auto expected = static_cast<std::size_t>(image.height) *
                        static_cast<std::size_t>(image.width) *
                        static_cast<std::size_t>(image.channels);
  if (image.height < 1 || image.width < 1 || (image.channels != 1 && image.channels != 3) ||
      image.values.size() != expected) {
    gangway::fuzz::fail("an image of another size than it says");
  }
  std::vector<float> values(static_cast<std::size_t>(side) * static_cast<std::size_t>(side) *
                            static_cast<std::size_t>(channels));
  data::to_floats(data::fit_square(image, side), channels, values);
  if (!std::ranges::all_of(values, [](float value) { return value >= -1.0F && value <= 1.0F; })) {
    gangway::fuzz::fail("a value outside of [-1, 1]");
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const gangway::fuzz::TimeLimit limit(kMostMilliseconds);
  if (size == 0) {
    return 0;
  }
  std::vector<std::uint8_t> file(data + 1, data + size);
  if ((data[0] & kMendChecksums) != 0) {
    mend_checksums(file);
  }
  try {
    read(file, kSides[data[0] % kSides.size()], data[0] % 8 < 4 ? 1 : 3);
  } catch (const gangway::ConfigError&) {
    // A refusal in one line is the expected result.
  }
  return 0;
}
