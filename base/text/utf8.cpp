// SPDX-License-Identifier: MIT
#include "base/text/utf8.hpp"

#include <algorithm>
#include <array>

namespace gangway {
namespace {

constexpr std::size_t kShownBytes = 60;

struct LeadByte {
  unsigned char first;
  unsigned char last;
  std::size_t length;
  unsigned char second_low;  // range of the second byte; all later bytes are 80..BF
  unsigned char second_high;
};

// Unicode 15, table 3-7: without surrogates, without overlong forms, up to U+10FFFF.
constexpr std::array<LeadByte, 9> kLeadBytes = {{{0x00, 0x7F, 1, 0x80, 0xBF},
                                                 {0xC2, 0xDF, 2, 0x80, 0xBF},
                                                 {0xE0, 0xE0, 3, 0xA0, 0xBF},
                                                 {0xE1, 0xEC, 3, 0x80, 0xBF},
                                                 {0xED, 0xED, 3, 0x80, 0x9F},
                                                 {0xEE, 0xEF, 3, 0x80, 0xBF},
                                                 {0xF0, 0xF0, 4, 0x90, 0xBF},
                                                 {0xF1, 0xF3, 4, 0x80, 0xBF},
                                                 {0xF4, 0xF4, 4, 0x80, 0x8F}}};

/// Returns the length in bytes of the well-formed character at `at`; 0 if there is none.
std::size_t character_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t index) { return static_cast<unsigned char>(text[index]); };
  for (const LeadByte& lead : kLeadBytes) {
    if (byte(at) < lead.first || byte(at) > lead.last) {
      continue;
    }
    if (at + lead.length > text.size()) {
      return 0;
    }
    for (std::size_t offset = 1; offset < lead.length; ++offset) {
      const unsigned char low = offset == 1 ? lead.second_low : 0x80;
      const unsigned char high = offset == 1 ? lead.second_high : 0xBF;
      if (byte(at + offset) < low || byte(at + offset) > high) {
        return 0;
      }
    }
    return lead.length;
  }
  return 0;
}

}  // namespace

std::optional<std::size_t> find_invalid_utf8(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t length = character_length(text, at);
    if (length == 0) {
      return at;
    }
    at += length;
  }
  return std::nullopt;
}

namespace {

/// Replaces control characters and bytes that are not UTF-8 by '?'.
/// @param kept  control characters that stay. @param most  bytes; longer text ends in "..."
std::string without_controls(std::string_view text, std::string_view kept, std::size_t most) {
  std::string result;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t length = character_length(text, at);
    if (result.size() + std::max<std::size_t>(length, 1) > most) {
      return result + "...";
    }
    const auto first = static_cast<unsigned char>(text[at]);
    // U+0080..U+009F are control characters too, and terminals obey some of them.
    const bool is_control =
        first < 0x20 || first == 0x7F ||
        (first == 0xC2 && length == 2 && static_cast<unsigned char>(text[at + 1]) < 0xA0);
    if (length == 0 || (is_control && kept.find(text[at]) == std::string_view::npos)) {
      result += '?';
    } else {
      result += text.substr(at, length);
    }
    at += std::max<std::size_t>(length, 1);
  }
  return result;
}

}  // namespace

std::string shown(std::string_view text) { return without_controls(text, "", kShownBytes); }

std::string plain(std::string_view text) {
  return without_controls(text, "\n\t", std::string::npos);
}

}  // namespace gangway
