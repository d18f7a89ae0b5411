// SPDX-License-Identifier: MIT
// Parses an untrusted YAML text into a small tree with positions, or one complaint. Pure.
//
// Reads the parser's events, so that limits apply before memory grows: size, depth, number of
// values. Refuses anchors, aliases, tags, second documents and duplicate keys.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gangway {

inline constexpr std::size_t kYamlLimitBytes = 1U << 20U;
inline constexpr std::size_t kYamlLimitDepth = 32;
inline constexpr std::size_t kYamlLimitValues = 10'000;
/// Limit of '[' and '{' together, because the parser reads past all open brackets before it reports
/// the first.
inline constexpr std::size_t kYamlLimitBrackets = 1000;

/// Position in a text, from 1; line 0: unknown.
struct YamlPosition {
  int line = 0;
  int column = 0;
};

struct YamlEntry;

struct YamlNode {
  enum class Kind { kNull, kScalar, kSequence, kMap };
  Kind kind = Kind::kNull;
  YamlPosition at;
  std::string text;                ///< of a scalar
  bool is_quoted = false;          ///< of a scalar: always text
  std::vector<YamlNode> items;     ///< of a sequence
  std::vector<YamlEntry> entries;  ///< of a map, in order, each key once
};

struct YamlEntry {
  std::string key;
  YamlPosition at;  ///< of the key
  YamlNode value;
};

struct YamlProblem {
  YamlPosition at;
  std::string message;
};

struct YamlResult {
  YamlNode root;  ///< kNull for an empty text, or if a problem made the parser stop
  std::vector<YamlProblem> problems;  ///< lists all duplicate keys; stops at anything worse
};

[[nodiscard]] YamlResult read_yaml(std::string_view text);

}  // namespace gangway
