// SPDX-License-Identifier: MIT
#include "data/archives/tar_archive.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "base/text/parse_number.hpp"
#include "base/text/utf8.hpp"
#include "data/archives/archive_names.hpp"
#include "data/archives/container_archive.hpp"
#include "data/archives/tar_index.hpp"
#include "data/contents/picture_names.hpp"
#include "data/images/label_list.hpp"

namespace gangway::data {
namespace {

namespace fs = std::filesystem;
using std::string_view_literals::operator""sv;

constexpr std::int64_t kMostTars = 100'000;
/// Maximum bytes of a label file.
constexpr std::uint64_t kMostLabelText = std::uint64_t{1} << 24U;

struct Compression {
  std::string_view program;
  std::string_view magic;
};
constexpr std::array<Compression, 4> kCompressions{{{"gzip", "\x1F\x8B"sv},
                                                    {"xz", "\xFD\x37zXZ"sv},
                                                    {"zstd", "\x28\xB5\x2F\xFD"sv},
                                                    {"bzip2", "BZh"sv}}};

void require_plain(const Container& tar) {
  std::array<std::uint8_t, 6> bytes{};
  const std::size_t count = read_at(tar, 0, bytes);
  const std::string_view begin(reinterpret_cast<const char*>(bytes.data()), count);
  for (const Compression& by : kCompressions) {
    if (begin.starts_with(by.magic)) {
      throw ConfigError(fmt::format(
          "{}: is compressed, and pictures are read one by one; unpack it with '{} -d', and name "
          "the tar that comes of it",
          tar.path.string(), by.program));
    }
  }
}

std::optional<std::int64_t> number_of(std::string_view digits) {
  const auto number = parse_number<std::int64_t>(digits);
  return number && *number >= 0 ? number : std::nullopt;
}

/// A range such as "{0000..0007}" in a pattern.
struct NumberRange {
  std::size_t begin = 0;  ///< its place in the text
  std::size_t end = 0;
  std::int64_t first = 0;
  std::int64_t last = 0;
  int digits = 1;
};

std::optional<NumberRange> range_in(std::string_view text) {
  const std::size_t begin = text.find('{');
  const std::size_t dots = text.find("..", begin);
  const std::size_t end = text.find('}', dots);
  if (begin == std::string_view::npos || dots == std::string_view::npos ||
      end == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view from = text.substr(begin + 1, dots - begin - 1);
  const auto first = number_of(from);
  const auto last = number_of(text.substr(dots + 2, end - dots - 2));
  return first && last && *first <= *last
             ? std::optional(NumberRange{.begin = begin,
                                         .end = end + 1,
                                         .first = *first,
                                         .last = *last,
                                         .digits = static_cast<int>(from.size())})
             : std::nullopt;
}

std::vector<fs::path> named_by(const std::string& pattern) {
  const std::optional<NumberRange> range = range_in(pattern);
  if (!range) {
    return {pattern};
  }
  if (range->last - range->first >= kMostTars) {
    throw ConfigError(
        fmt::format("{}: names more than {} tars; name a part of them", pattern, kMostTars));
  }
  std::vector<fs::path> tars;
  for (std::int64_t number = range->first; number <= range->last; ++number) {
    tars.emplace_back(fmt::format("{}{:0{}}{}", pattern.substr(0, range->begin), number,
                                  range->digits, pattern.substr(range->end)));
  }
  return tars;
}

/// Returns a sample's name: the path up to the first dot after the folders.
std::string_view key_of(std::string_view name) {
  const std::size_t slash = name.rfind('/');
  return name.substr(0, name.find('.', slash == std::string_view::npos ? 0 : slash));
}

struct Sample {
  const TarMember* picture = nullptr;
  const TarMember* number = nullptr;       ///< .cls
  const TarMember* description = nullptr;  ///< .json
};

/// One tar of an archive.
class TarOfSamples {
 public:
  TarOfSamples(const Container& tar, NameFilter& filter) : tar_(tar), members_(read_tar(tar_)) {
    for (const TarMember& member : members_) {
      take(member, filter);
    }
  }

  void add_to(InnerFiles& found, std::size_t container) const {
    for (const auto& [key, sample] : samples_) {
      if (sample.picture != nullptr) {
        found.pictures.push_back({.name = sample.picture->name,
                                  .container = container,
                                  .part = sample.picture->part,
                                  .label = label_of(sample)});
      }
    }
    for (const TarMember* list : lists_) {
      found.label_lists.push_back({list->name, container, list->part});
    }
  }

 private:
  void take(const TarMember& member, NameFilter& filter) {
    const bool is_picture = filter.is_read(member.name);
    const bool is_list = LabelFileChoice::is_one(member.name);
    const bool is_number = member.name.ends_with(".cls");
    const bool is_description = member.name.ends_with(".json") && !is_list;
    if (!is_picture && !is_list && !is_number && !is_description) {
      return;
    }
    if (member.is_link) {
      throw ConfigError(
          fmt::format("{}: is a link; make the tar with --dereference and "
                      "--hard-dereference",
                      name_of(member)));
    }
    if (is_list) {
      lists_.push_back(&member);
      return;
    }
    Sample& sample = samples_[key_of(member.name)];
    const TarMember*& place = is_picture  ? sample.picture
                              : is_number ? sample.number
                                          : sample.description;
    if (place != nullptr) {
      throw ConfigError(fmt::format(
          "{}: belongs to one sample together with {}, since a sample's name in a tar ends at its "
          "first dot; leave one of them out, or unpack the tar and name the folder",
          name_of(member), shown(place->name)));
    }
    place = &member;
  }

  [[nodiscard]] std::string name_of(const TarMember& member) const {
    return fmt::format("{}!{}", tar_.path.string(), shown(member.name));
  }

  [[nodiscard]] std::optional<int> label_of(const Sample& sample) const {
    const TarMember* member = sample.number != nullptr ? sample.number : sample.description;
    if (member == nullptr) {
      return std::nullopt;
    }
    if (member->part.bytes > kMostLabelText) {
      throw ConfigError(
          fmt::format("{}: is too large for a label; leave it out", name_of(*member)));
    }
    const std::vector<std::uint8_t> bytes = read_part(tar_, member->part);
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return sample.number != nullptr ? parse_label(text, name_of(*member))
                                    : described_label(text, name_of(*member));
  }

  const Container& tar_;
  std::vector<TarMember> members_;
  std::map<std::string_view, Sample> samples_;
  std::vector<const TarMember*> lists_;
};

}  // namespace

bool is_named_as_tar(const fs::path& path) {
  constexpr std::array kEndings{".tar"sv,    ".tar.gz"sv,  ".tgz"sv,
                                ".tar.xz"sv, ".tar.zst"sv, ".tar.bz2"sv};
  const std::string name = path.filename().string();
  return std::ranges::any_of(kEndings, [&](std::string_view end) { return name.ends_with(end); });
}

std::vector<fs::path> tars_of(const fs::path& place) {
  std::error_code failure;
  if (!fs::is_directory(place, failure)) {
    return fs::exists(place, failure) ? std::vector{place} : named_by(place.string());
  }
  std::vector<fs::path> tars;
  for (const auto& entry : fs::directory_iterator(place, failure)) {
    if (is_named_as_tar(entry.path()) && !entry.path().filename().string().starts_with('.')) {
      tars.push_back(entry.path());
    }
  }
  std::ranges::sort(tars);
  return tars;
}

std::unique_ptr<ImageArchive> open_tars(const std::vector<fs::path>& tars, const fs::path& place,
                                        ContentsCheck* check) {
  InnerFiles found;
  NameFilter filter;
  for (const fs::path& path : tars) {
    Container tar = open_container(path);
    require_plain(tar);
    TarOfSamples(tar, filter).add_to(found, found.containers.size());
    found.containers.push_back(std::move(tar));
  }
  filter.require_all_read(place);
  return archive_of(std::move(found), place, check);
}

}  // namespace gangway::data
