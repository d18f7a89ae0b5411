// SPDX-License-Identifier: MIT
#include <optional>
#include <set>
#include <sstream>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "launch/init/templates.hpp"

namespace gangway::launch {
namespace {

using TemplateValues = std::map<std::string, std::string>;

constexpr std::string_view kNameLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_";

/// Where in a line a value belongs.
struct TemplateSlot {
  std::size_t begin = 0;  ///< of the first @
  std::size_t end = 0;    ///< behind the second
  std::string name;
};

std::optional<TemplateSlot> find_slot(const std::string& line, std::size_t from) {
  for (std::size_t begin = line.find('@', from); begin != std::string::npos;
       begin = line.find('@', begin + 1)) {
    const std::size_t end = line.find_first_not_of(kNameLetters, begin + 1);
    if (end != std::string::npos && line[end] == '@' && end > begin + 1) {
      return TemplateSlot{
          .begin = begin, .end = end + 1, .name = line.substr(begin + 1, end - begin - 1)};
    }
  }
  return std::nullopt;
}

std::string indented(const std::string& value, std::size_t spaces) {
  std::string text;
  std::istringstream lines(value);
  for (std::string line; std::getline(lines, line);) {
    text += text.empty() ? "" : "\n";
    text += line.empty() || text.empty() ? line : std::string(spaces, ' ') + line;
  }
  return text;
}

/// Nothing where the line goes. @param used takes the names of the values that the line holds.
std::optional<std::string> fill_line(std::string line, const TemplateValues& values,
                                     std::set<std::string>& used) {
  std::size_t from = 0;
  while (const auto slot = find_slot(line, from)) {
    const auto value = values.find(slot->name);
    if (value == values.end()) {
      throw InvariantError(fmt::format("a template names @{}@, which has no value", slot->name));
    }
    used.insert(slot->name);
    if (value->second.empty()) {
      return std::nullopt;
    }
    const bool is_alone = slot->end == line.size() && line.find_first_not_of(' ') == slot->begin;
    const std::string text = is_alone ? indented(value->second, slot->begin) : value->second;
    line.replace(slot->begin, slot->end - slot->begin, text);
    from = slot->begin + text.size();
  }
  return line;
}

}  // namespace

std::string fill_template(std::string_view text, const TemplateValues& values) {
  std::string filled;
  std::set<std::string> used;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    if (const auto whole = fill_line(line, values, used)) {
      filled += *whole;
      filled += '\n';
    }
  }
  for (const auto& [name, value] : values) {
    if (!used.contains(name)) {
      throw InvariantError(fmt::format("no template names @{}@", name));
    }
  }
  return filled;
}

}  // namespace gangway::launch
