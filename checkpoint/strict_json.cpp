// SPDX-License-Identifier: MIT
#include "checkpoint/strict_json.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "job/errors.hpp"

namespace gangway::checkpoint {

namespace {

using nlohmann::json;

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20U || c == 0x7f; }

/// Watches the parse: throws at the first breach, so that no oversized tree is ever built.
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
  // The library ends quietly at a NUL and skips a byte-order mark; neither is JSON.
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

}  // namespace gangway::checkpoint
