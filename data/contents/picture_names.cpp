// SPDX-License-Identifier: MIT
#include "data/contents/picture_names.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

#include "base/errors.hpp"

namespace gangway::data {
namespace {

constexpr std::array<std::string_view, 6> kReadEndings{".png", ".jpg",  ".jpeg",
                                                       ".jpe", ".jfif", ".webp"};
/// Unsupported picture formats, which a user may expect to be used.
constexpr std::array<std::string_view, 14> kUnreadEndings{
    ".gif", ".bmp", ".tif", ".tiff", ".heic", ".heif", ".avif",
    ".jxl", ".jp2", ".tga", ".ppm",  ".pgm",  ".pbm",  ".svg"};

/// Returns the lower-case ending with its dot; empty for hidden files and macOS's archive extras.
std::string ending_of(std::string_view name) {
  for (std::size_t at = 0; at < name.size();) {
    const std::size_t end = std::min(name.find('/', at), name.size());
    const std::string_view part = name.substr(at, end - at);
    if (part.starts_with('.') || part == "__MACOSX") {
      return {};
    }
    at = end + 1;
  }
  std::string ending(name.substr(std::min(name.rfind('.'), name.size())));
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return ending;
}

bool is_among(const auto& endings, std::string_view ending) {
  return std::find(endings.begin(), endings.end(), ending) != endings.end();
}

}  // namespace

bool is_picture(std::string_view name) {
  const std::string ending = ending_of(name);
  return is_among(kReadEndings, ending) || is_among(kUnreadEndings, ending);
}

bool NameFilter::is_read(std::string_view name) {
  const std::string ending = ending_of(name);
  if (is_among(kUnreadEndings, ending)) {
    ++num_unread_;
    first_unread_ = first_unread_.empty() ? name : std::min<std::string_view>(first_unread_, name);
  }
  return is_among(kReadEndings, ending);
}

void NameFilter::require_all_read(const std::filesystem::path& location) const {
  if (num_unread_ > 0) {
    throw ConfigError(
        fmt::format("{}: holds pictures that are neither PNG, JPEG nor WebP files ({}, such as "
                    "{}); convert them "
                    "(mogrify -format png), or move them away to train without them",
                    location.string(), num_unread_, first_unread_));
  }
}

}  // namespace gangway::data
