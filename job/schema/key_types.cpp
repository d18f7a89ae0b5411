// SPDX-License-Identifier: MIT
#include "job/schema/key_types.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "base/text/suggestion.hpp"
#include "base/text/utf8.hpp"

namespace gangway {
namespace {

constexpr std::size_t kLongestText = 4096;

/// Returns the characters of a plain number; nothing for text, lists and maps.
std::optional<std::string_view> plain_digits(const YamlNode& node) {
  if (node.kind != YamlNode::Kind::kScalar || node.is_quoted || node.text.empty()) {
    return std::nullopt;
  }
  std::string_view digits = node.text;
  if (digits.front() == '+') {  // from_chars takes no plus sign
    digits.remove_prefix(1);
  }
  return digits;
}

template <typename Number>
struct Parsed {
  Number value{};
  std::errc error = std::errc::invalid_argument;
};

template <typename Number>
Parsed<Number> parse_digits(std::string_view digits) {
  Parsed<Number> parsed;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), parsed.value);
  parsed.error = error == std::errc{} && end != digits.data() + digits.size()
                     ? std::errc::invalid_argument
                     : error;
  return parsed;
}

bool is_within(double value, const RealBounds& bounds) {
  const bool is_above = bounds.is_low_allowed ? value >= bounds.low : value > bounds.low;
  const bool is_below = bounds.is_high_allowed ? value <= bounds.high : value < bounds.high;
  return is_above && is_below;
}

}  // namespace

std::string joined(const std::vector<std::string>& words, std::string_view separator) {
  return fmt::format("{}", fmt::join(words, separator));
}

std::string real_text(double value) { return fmt::format("{}", value); }

std::string text_of(const WholeBounds& bounds) {
  if (bounds.high == std::numeric_limits<std::uint64_t>::max()) {
    return fmt::format("{} or more", bounds.low);
  }
  return fmt::format("{} to {}", bounds.low, bounds.high);
}

std::string text_of(const RealBounds& bounds) {
  const std::string high = bounds.high >= kLargestReal ? "1e9" : fmt::format("{}", bounds.high);
  return fmt::format("{}{} to {}{}", bounds.is_low_allowed ? "" : "above ", bounds.low,
                     bounds.is_high_allowed ? "" : "below ", high);
}

std::string unlike(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      return "not nothing";
    case YamlNode::Kind::kSequence:
      return "not a list";
    case YamlNode::Kind::kMap:
      return "not a map";
    case YamlNode::Kind::kScalar:
      break;
  }
  return fmt::format("not {}'{}'", node.is_quoted ? "the text " : "", shown(node.text));
}

Read<std::uint64_t> read_whole(const YamlNode& node, const WholeBounds& bounds) {
  const auto digits = plain_digits(node);
  if (!digits) {
    return {.complaint = fmt::format("expected a whole number, {}", unlike(node))};
  }
  const auto parsed = parse_digits<std::uint64_t>(*digits);
  const auto real = parse_digits<double>(*digits);
  const bool is_whole =
      parsed.error != std::errc::invalid_argument ||
      (real.error == std::errc{} && real.value < 0.0 && real.value == std::floor(real.value));
  if (!is_whole) {
    return {.complaint = fmt::format("expected a whole number, {}", unlike(node))};
  }
  if (parsed.error != std::errc{} || parsed.value < bounds.low || parsed.value > bounds.high) {
    return {.complaint =
                fmt::format("{} is out of range; allowed: {}", shown(node.text), text_of(bounds))};
  }
  return {.value = parsed.value};
}

Read<double> read_real(const YamlNode& node, const RealBounds& bounds) {
  const auto digits = plain_digits(node);
  const auto parsed = digits ? parse_digits<double>(*digits) : Parsed<double>{};
  // from_chars takes "inf" and "nan", but not YAML's ".inf". No key allows either.
  if (parsed.error == std::errc::invalid_argument || !std::isfinite(parsed.value)) {
    return {.complaint = fmt::format("expected a number, {}", unlike(node))};
  }
  if (parsed.error != std::errc{} || !is_within(parsed.value, bounds)) {
    return {.complaint =
                fmt::format("{} is out of range; allowed: {}", shown(node.text), text_of(bounds))};
  }
  return {.value = parsed.value};
}

Read<std::array<double, 2>> read_pair(const YamlNode& node, const RealBounds& bounds) {
  if (node.kind != YamlNode::Kind::kSequence || node.items.size() != 2) {
    return {.complaint = fmt::format("expected a list of two numbers such as [0.5, 0.999], {}",
                                     node.kind == YamlNode::Kind::kSequence
                                         ? fmt::format("not one of {}", node.items.size())
                                         : unlike(node))};
  }
  const auto first = read_real(node.items[0], bounds);
  const auto second = read_real(node.items[1], bounds);
  return {.value = {first.value, second.value},
          .complaint = first.complaint.empty() ? second.complaint : first.complaint};
}

Read<std::string> read_text(const YamlNode& node) {
  if (node.kind != YamlNode::Kind::kScalar || node.text.empty()) {
    return {.complaint = fmt::format("expected text, {}", unlike(node))};
  }
  const bool has_control = std::any_of(node.text.begin(), node.text.end(), [](char character) {
    return static_cast<unsigned char>(character) < 0x20 || character == 0x7F;
  });
  if (has_control || node.text.size() > kLongestText) {
    return {.complaint =
                fmt::format("expected one line of at most {} bytes without control characters, {}",
                            kLongestText, unlike(node))};
  }
  return {.value = node.text};
}

std::string quoted_if_needed(const std::string& text) {
  const auto is_plain = [](char character) {
    return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z') ||
           character == '/' || character == '_' || character == '.' || character == '-' ||
           (character >= '0' && character <= '9');
  };
  const bool is_word =
      std::all_of(text.begin(), text.end(), [&](char c) { return is_plain(c) || c == ':'; });
  const bool begins_with_letter = !text.empty() && text.front() >= 'a' && text.front() <= 'z';
  if (is_word && begins_with_letter && text.back() != ':' && text != "null" && text != "true" &&
      text != "false") {
    return text;
  }
  std::string quoted = "'";
  for (const char character : text) {
    quoted += character == '\'' ? "''" : std::string(1, character);
  }
  return quoted + "'";
}

std::string choice_complaint(const YamlNode& node, const std::vector<std::string>& names) {
  const auto near =
      node.kind == YamlNode::Kind::kScalar ? nearest_word(node.text, names) : std::nullopt;
  return fmt::format("expected {}, {}{}", joined(names, ", "), unlike(node),
                     near ? fmt::format("; did you mean '{}'?", *near) : "");
}

Key make_key(KeyText text, std::string type, std::string allowed) {
  Key key;
  key.path = std::move(text.path);
  key.unit = std::move(text.unit);
  key.description = std::move(text.description);
  key.type = std::move(type);
  key.allowed = std::move(allowed);
  key.why_refused = [](const JobSpec&) { return std::string(); };
  return key;
}

}  // namespace gangway
