// SPDX-License-Identifier: MIT
// A YAML text from an untrusted place as a small tree with positions, or one complaint. Pure.
//
// Built from the parser's events, so that limits hold before anything grows: size, depth, number of
// values, no anchors, aliases, tags, second documents, keys given twice.
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
/// Of '[' and '{' together: the parser looks ahead over all that are open, before it reports the
/// first.
inline constexpr std::size_t kYamlLimitBrackets = 1000;

/// Where something stands, from 1; line 0: nowhere in particular.
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
  bool is_quoted = false;          ///< of a scalar: text, whatever it looks like
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
  std::vector<YamlProblem>
      problems;  ///< keys given twice are listed all; anything worse stops at once
};

[[nodiscard]] YamlResult read_yaml(std::string_view text);

}  // namespace gangway
