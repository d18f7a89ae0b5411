// SPDX-License-Identifier: MIT
#include "data/archives/tar_index.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "base/text/parse_number.hpp"
#include "base/text/utf8.hpp"

namespace gangway::data {
namespace {

using std::string_view_literals::operator""sv;

constexpr std::uint64_t kBlock = 512;
/// Maximum bytes of a long name or pax header; names in use have up to 4,096 bytes.
constexpr std::uint64_t kMostSaid = std::uint64_t{1} << 20U;
/// Bytes read at once after a tar's end.
constexpr std::size_t kPadding = std::size_t{1} << 16U;

using Block = std::array<std::uint8_t, kBlock>;

/// Position of a field in a header (POSIX.1-2017, pax, "ustar Interchange Format").
struct Field {
  std::size_t at;
  std::size_t bytes;
};
constexpr Field kTarName{0, 100};
constexpr Field kTarSize{124, 12};
constexpr Field kTarSum{148, 8};
constexpr std::size_t kTarType = 156;
constexpr Field kTarMagic{257, 6};
constexpr Field kTarPrefix{345, 155};

/// Returns the field's text up to a zero byte, if there is one.
std::string_view text_in(const Block& block, Field field) {
  const std::string_view text(reinterpret_cast<const char*>(block.data()) + field.at, field.bytes);
  return text.substr(0, text.find('\0'));
}

/// Parses octal digits between blanks. If the highest bit is set, the number is binary with 95
/// bits, as GNU writes sizes above 8 GiB.
std::optional<std::uint64_t> number_in(const Block& block, Field field) {
  constexpr std::uint8_t kBinary = 0x80;
  if ((block[field.at] & kBinary) != 0) {
    std::uint64_t value = block[field.at] & std::uint8_t{0x7F};
    for (std::size_t i = 1; i < field.bytes; ++i) {
      if (value >> 55U != 0) {
        return std::nullopt;
      }
      value = value << 8U | block[field.at + i];
    }
    return value;
  }
  std::string_view text = text_in(block, field);
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  text = text.substr(0, text.find(' '));
  if (text.empty()) {
    return 0;
  }
  return parse_number<std::uint64_t>(text, /*base=*/8);
}

/// Checks the sum of all bytes, with the checksum's own field counted as blanks.
bool has_right_sum(const Block& block) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < block.size(); ++i) {
    const bool is_own = i >= kTarSum.at && i < kTarSum.at + kTarSum.bytes;
    sum += is_own ? std::uint64_t{' '} : block[i];
  }
  return number_in(block, kTarSum) == sum;
}

bool is_zero(std::span<const std::uint8_t> bytes) {
  return std::ranges::all_of(bytes, [](std::uint8_t byte) { return byte == 0; });
}

/// Attributes from the records before a file's header.
struct Overrides {
  std::optional<std::string> name;
  std::optional<std::uint64_t> bytes;
  bool is_sparse = false;
};

class TarReader {
 public:
  explicit TarReader(const Container& tar) : tar_(tar) {}

  std::vector<TarMember> read() {
    Block block{};
    while (true) {
      if (read_at(tar_, at_, block) < kBlock) {
        fail("ends without a tar's end mark: it is cut; copy it or make it again");
      }
      at_ += kBlock;
      if (is_zero(block)) {
        require_end();
        return std::move(members_);
      }
      if (!has_right_sum(block)) {
        fail_damaged();
      }
      take(block);
    }
  }

 private:
  [[noreturn]] void fail(std::string_view what) const {
    throw ConfigError(fmt::format("{}: {}", tar_.path.string(), what));
  }

  [[noreturn]] void fail_damaged() const {
    fail(fmt::format("is no tar, or a damaged one (at byte {}); copy it or make it again",
                     at_ - kBlock));
  }

  /// Processes a header and the data after it that belongs to it.
  void take(const Block& block) {
    const char type = static_cast<char>(block[kTarType]);
    const bool says_more = type == 'x' || type == 'g' || type == 'L' || type == 'K';
    const std::optional<std::uint64_t> size =
        !says_more && overrides_.bytes ? overrides_.bytes : number_in(block, kTarSize);
    constexpr std::string_view kEmpty = "123456";  // links, devices, folders, pipes
    const std::uint64_t held = !size                                         ? tar_.bytes()
                               : kEmpty.find(type) == std::string_view::npos ? *size
                                                                             : 0;
    if (!size || held > tar_.bytes() || at_ > tar_.bytes() - held) {
      size ? fail("is cut; copy it or make it again") : fail_damaged();
    }
    const FilePart part{at_, held};
    at_ += (held + kBlock - 1) / kBlock * kBlock;
    if (says_more) {
      take_said(type, part);
    } else {
      add(block, type, part);
      overrides_ = {};
    }
  }

  void take_said(char type, FilePart part) {
    if (type == 'g' || type == 'K') {  // global records and link targets: ignored
      return;
    }
    if (part.bytes > kMostSaid) {
      fail_damaged();
    }
    const std::vector<std::uint8_t> bytes = read_part(tar_, part);
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (type == 'L') {
      overrides_.name = text.substr(0, text.find('\0'));
    } else {
      take_pax(text);
    }
  }

  /// Parses lines such as "30 path=a/long/name.png\n", each prefixed with its length.
  void take_pax(std::string_view text) {
    while (!text.empty()) {
      std::size_t length = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
      const auto digits = static_cast<std::size_t>(end - text.data());
      if (error != std::errc() || length > text.size() || length < digits + 3 ||
          text[digits] != ' ' || text[length - 1] != '\n') {
        fail_damaged();
      }
      const std::string_view line = text.substr(digits + 1, length - digits - 2);
      text.remove_prefix(length);
      const std::size_t equals = line.find('=');
      if (equals == std::string_view::npos) {
        fail_damaged();
      }
      take_pair(line.substr(0, equals), line.substr(equals + 1));
    }
  }

  void take_pair(std::string_view key, std::string_view value) {
    if (key == "path") {
      overrides_.name = value;
    } else if (key == "size") {
      overrides_.bytes = parse_number<std::uint64_t>(value);
      if (!overrides_.bytes) {
        fail_damaged();
      }
    } else if (key.starts_with("GNU.sparse.")) {
      overrides_.is_sparse = true;
      if (key == "GNU.sparse.name") {
        overrides_.name = value;
      }
    }
  }

  void add(const Block& block, char type, FilePart part) {
    constexpr std::string_view kLeftOut = "3456DVMN";  // devices, folders, pipes, tape labels
    if (type == 'M') {
      fail("is a part of a tar of several volumes; put them together, or make the tar again");
    }
    if (kLeftOut.find(type) != std::string_view::npos) {
      return;
    }
    std::string name = overrides_.name ? *overrides_.name : own_name(block);
    if (type == 'S' || overrides_.is_sparse) {
      fail(fmt::format("holds {}, a sparse file; make the tar without --sparse", shown(name)));
    }
    if (!name.ends_with('/')) {  // final slash: a folder in tars before 1988
      members_.push_back({tidy_name(name), part, type == '1' || type == '2'});
    }
  }

  static std::string own_name(const Block& block) {
    const std::string_view prefix = text_in(block, kTarPrefix);
    // GNU's header has no zero byte in its magic and other fields in place of the prefix.
    const bool is_posix = text_in(block, kTarMagic) == "ustar"sv;
    return is_posix && !prefix.empty() ? fmt::format("{}/{}", prefix, text_in(block, kTarName))
                                       : std::string(text_in(block, kTarName));
  }

  [[nodiscard]] std::string tidy_name(std::string_view name) const {
    std::string tidied;
    for (std::size_t at = 0; at <= name.size();) {
      const std::size_t end = std::min(name.find('/', at), name.size());
      const std::string_view part = name.substr(at, end - at);
      at = end + 1;
      if (part == "..") {
        fail(fmt::format("holds {}, a path out of the tar; make it again with plain paths",
                         shown(name)));
      }
      if (!part.empty() && part != ".") {
        tidied += (tidied.empty() ? "" : "/") + std::string(part);
      }
    }
    return tidied;
  }

  /// Checks that only padding follows the end mark.
  void require_end() const {
    std::vector<std::uint8_t> bytes(kPadding);
    for (std::uint64_t at = at_; at < tar_.bytes();) {
      const std::size_t count = read_at(tar_, at, bytes);
      if (!is_zero(std::span(bytes).first(count))) {
        fail("has more behind its end: tars were put behind one another; name each of them");
      }
      if (count == 0) {
        return;
      }
      at += count;
    }
  }

  const Container& tar_;
  std::uint64_t at_ = 0;
  Overrides overrides_;
  std::vector<TarMember> members_;
};

}  // namespace

std::vector<TarMember> read_tar(const Container& tar) { return TarReader(tar).read(); }

}  // namespace gangway::data
