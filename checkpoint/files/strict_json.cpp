// SPDX-License-Identifier: MIT
#include "checkpoint/files/strict_json.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "base/errors.hpp"

namespace gangway::checkpoint {

namespace {

using nlohmann::json;

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20U || c == 0x7f; }

/// Checks during the parse and throws at the first error, so that no oversized tree is built.
class Watch {
 public:
  Watch(int max_depth, const std::string& where) : max_depth_(max_depth), where_(where) {}

  bool operator()(json::parse_event_t event, json& parsed) {
    switch (event) {
      case json::parse_event_t::object_start:
      case json::parse_event_t::array_start:
        if (++depth_ > max_depth_) {
          throw CheckpointError(
              fmt::format("{}: JSON nested deeper than {} levels: damaged", where_, max_depth_));
        }
        members_.emplace_back();
        break;
      case json::parse_event_t::object_end:
      case json::parse_event_t::array_end:
        --depth_;
        members_.pop_back();
        break;
      case json::parse_event_t::key:
        if (!members_.back().insert(parsed.get_ref<const std::string&>()).second) {
          throw CheckpointError(fmt::format("{}: '{}' occurs twice: damaged", where_,
                                            printable(parsed.get_ref<const std::string&>())));
        }
        break;
      case json::parse_event_t::value:
        break;
    }
    return true;
  }

 private:
  int max_depth_;
  const std::string& where_;
  int depth_ = 0;
  std::vector<std::set<std::string>> members_;
};

}  // namespace

bool has_no_controls(std::string_view text) {
  return std::none_of(text.begin(), text.end(), is_control);
}

std::string printable(std::string_view text, std::size_t max_bytes) {
  std::string out(text.substr(0, max_bytes));
  std::replace_if(out.begin(), out.end(), is_control, '?');
  if (text.size() > max_bytes) {
    out += "…";
  }
  return out;
}

json parse_strict_json(std::string_view text, int max_depth, const std::string& where) {
  // The library stops silently at a NUL and skips a byte-order mark; JSON allows neither.
  if (text.empty() || text.front() != '{' || text.find('\0') != std::string_view::npos) {
    throw CheckpointError(
        fmt::format("{}: not a JSON object: damaged, or another kind of file", where));
  }
  Watch watch(max_depth, where);
  try {
    return json::parse(
        text.begin(), text.end(),
        [&watch](int, json::parse_event_t event, json& parsed) { return watch(event, parsed); });
  } catch (const json::exception& error) {
    throw CheckpointError(
        fmt::format("{}: not valid JSON ({}): damaged", where, printable(error.what(), 160)));
  }
}

JsonMembers::JsonMembers(const json& object, std::string where)
    : object_(object), where_(std::move(where)) {
  if (!object.is_object()) {
    throw CheckpointError(fmt::format("{}: not an object: damaged", where_));
  }
}

const json& JsonMembers::at(const char* name) {
  const auto found = object_.find(name);
  if (found == object_.end()) {
    throw CheckpointError(fmt::format("{}: '{}' is missing: damaged", where_, name));
  }
  ++taken_;
  return *found;
}

std::string JsonMembers::text(const char* name, std::size_t max_bytes) {
  const json& value = at(name);
  if (!value.is_string() || value.get_ref<const std::string&>().size() > max_bytes) {
    throw CheckpointError(fmt::format("{}: '{}' is not a text of at most {} bytes: damaged", where_,
                                      name, max_bytes));
  }
  return value.get<std::string>();
}

std::int64_t JsonMembers::count(const char* name) {
  const json& value = at(name);
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > std::uint64_t{INT64_MAX}) {
    throw CheckpointError(fmt::format("{}: '{}' is not a count: damaged", where_, name));
  }
  return value.get<std::int64_t>();
}

const json& JsonMembers::list(const char* name, std::size_t max_size) {
  const json& value = at(name);
  if (!value.is_array() || value.size() > max_size) {
    throw CheckpointError(
        fmt::format("{}: '{}' is not a list of at most {}: damaged", where_, name, max_size));
  }
  return value;
}

void JsonMembers::require_no_others() const {
  if (object_.size() != taken_) {
    throw CheckpointError(
        fmt::format("{}: has {} members, {} are known: damaged", where_, object_.size(), taken_));
  }
}

}  // namespace gangway::checkpoint
