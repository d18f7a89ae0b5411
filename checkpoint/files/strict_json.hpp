// SPDX-License-Identifier: MIT
// JSON from files that may be damaged or hostile: a bounded depth, no doubled members, no NUL, one
// object, valid UTF-8. Internal to the store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace gangway::checkpoint {

/// @param max_depth nested objects and arrays, the outermost included.
/// @param where starts the message: the path. @throws CheckpointError.
[[nodiscard]] nlohmann::json parse_strict_json(std::string_view text, int max_depth,
                                               const std::string& where);

/// `text` fit for a one-line message: control characters replaced, at most `max_bytes` kept.
[[nodiscard]] std::string printable(std::string_view text, std::size_t max_bytes = 120);

/// True when `text` has no control characters (below 0x20, or 0x7f).
[[nodiscard]] bool has_no_controls(std::string_view text);

/// Texts that nothing bounds more tightly: fingerprints, versions, an event's detail.
inline constexpr std::size_t kMaxTextBytes = 4096;

/// Takes members out of an object by name and type, and in the end complains about those that were
/// not taken. Everything throws CheckpointError naming `where` and the member. The object must
/// outlive it.
class JsonMembers {
 public:
  JsonMembers(const nlohmann::json& object, std::string where);

  const nlohmann::json& at(const char* name);
  [[nodiscard]] bool has(const char* name) const { return object_.contains(name); }
  std::string text(const char* name, std::size_t max_bytes = kMaxTextBytes);
  /// 0 to INT64_MAX.
  std::int64_t count(const char* name);
  const nlohmann::json& list(const char* name, std::size_t max_size);
  void require_no_others() const;

 private:
  const nlohmann::json& object_;
  std::string where_;
  std::size_t taken_ = 0;
};

}  // namespace gangway::checkpoint
