// SPDX-License-Identifier: MIT
#include "data/images/exif.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

namespace gangway::data {
namespace {

constexpr std::uint32_t kOrientationTag = 0x0112;
constexpr std::uint32_t kShortType = 3;
constexpr std::size_t kEntryBytes = 12;
constexpr int kUpright = 1;

/// Reads numbers of a TIFF file, in the byte order of its first two bytes; never reads outside the
/// block.
class TiffBytes {
 public:
  explicit TiffBytes(std::span<const std::uint8_t> bytes)
      : bytes_(bytes), is_little_(!bytes.empty() && bytes[0] == 'I') {}

  /// Returns the number in `length` bytes at `at`, or nothing if they are outside.
  [[nodiscard]] std::optional<std::uint32_t> number(std::size_t at, std::size_t length) const {
    if (at > bytes_.size() || bytes_.size() - at < length) {
      return std::nullopt;
    }
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < length; ++i) {
      value = value << 8U | bytes_[at + (is_little_ ? length - 1 - i : i)];
    }
    return value;
  }

  [[nodiscard]] bool has_header() const {
    return bytes_.size() >= 2 && bytes_[0] == bytes_[1] && (is_little_ || bytes_[0] == 'M') &&
           number(2, 2) == 42U;
  }

 private:
  std::span<const std::uint8_t> bytes_;
  bool is_little_;
};

}  // namespace

int exif_orientation(std::span<const std::uint8_t> block) {
  const TiffBytes tiff(block);
  const auto directory = tiff.has_header() ? tiff.number(4, 4) : std::nullopt;
  const auto entries = directory ? tiff.number(*directory, 2) : std::nullopt;
  for (std::size_t i = 0; entries && i < *entries; ++i) {
    const std::size_t at = std::size_t{*directory} + 2 + i * kEntryBytes;
    const auto tag = tiff.number(at, 2);
    if (!tag) {
      break;
    }
    if (*tag == kOrientationTag) {
      const auto value =
          tiff.number(at + 2, 2) == kShortType ? tiff.number(at + 8, 2) : std::nullopt;
      return value && *value >= 1 && *value <= 8 ? static_cast<int>(*value) : kUpright;
    }
  }
  return kUpright;
}

Pixels turn_upright(Pixels image, int orientation) {
  if (orientation == kUpright) {
    return image;
  }
  // Orientations 5 to 8 swap rows and columns. Before that, 3, 4, 6, 7 flip vertically and 2, 3, 7,
  // 8 horizontally.
  const bool is_transposed = orientation >= 5;
  const bool from_bottom =
      orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  const bool from_right =
      orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  Pixels result{.height = is_transposed ? image.width : image.height,
                .width = is_transposed ? image.height : image.width,
                .channels = image.channels,
                .values = std::vector<std::uint8_t>(image.values.size())};
  const std::ptrdiff_t pixel = image.channels;
  const std::ptrdiff_t row = pixel * image.width;
  const std::ptrdiff_t down = from_bottom ? -row : row;
  const std::ptrdiff_t right = from_right ? -pixel : pixel;
  const std::uint8_t* const first = image.values.data() +
                                    (from_bottom ? row * (image.height - 1) : 0) +
                                    (from_right ? row - pixel : 0);
  std::uint8_t* target = result.values.data();
  for (int y = 0; y < result.height; ++y) {
    const std::uint8_t* source = first + y * (is_transposed ? right : down);
    for (int x = 0; x < result.width; ++x) {
      target = std::copy_n(source + x * (is_transposed ? down : right), pixel, target);
    }
  }
  return result;
}

}  // namespace gangway::data
