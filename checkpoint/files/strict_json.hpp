// SPDX-License-Identifier: MIT
// Parses JSON from files that may be damaged or hostile. Requires one object of bounded depth,
// valid UTF-8, no doubled members and no NUL. Internal to the store; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace gangway::checkpoint {

/// @param max_depth  nested objects and arrays, including the outermost.
/// @param where  start of messages: the path. @throws CheckpointError.
[[nodiscard]] nlohmann::json parse_strict_json(std::string_view text, int max_depth,
                                               const std::string& where);

/// Returns `text` for a one-line message: controls replaced, cut to `max_bytes`.
[[nodiscard]] std::string printable(std::string_view text, std::size_t max_bytes = 120);

/// Whether `text` has no control characters (below 0x20, or 0x7f).
[[nodiscard]] bool has_no_controls(std::string_view text);

/// Default limit of a text: fingerprints, versions, an event's detail.
inline constexpr std::size_t kMaxTextBytes = 4096;

/// Takes members out of an object by name and type; require_no_others() then rejects the rest. All
/// functions throw CheckpointError naming `where` and the member. @pre the object outlives this.
class JsonMembers {
 public:
  JsonMembers(const nlohmann::json& object, std::string where);

  const nlohmann::json& at(const char* name);
  [[nodiscard]] bool has(const char* name) const { return object_.contains(name); }
  std::string text(const char* name, std::size_t max_bytes = kMaxTextBytes);
  /// Returns a number from 0 to INT64_MAX.
  std::int64_t count(const char* name);
  const nlohmann::json& list(const char* name, std::size_t max_size);
  void require_no_others() const;

 private:
  const nlohmann::json& object_;
  std::string where_;
  std::size_t taken_ = 0;
};

}  // namespace gangway::checkpoint
