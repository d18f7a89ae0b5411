// SPDX-License-Identifier: MIT
#include "job/keys/python_call.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text/parse_number.hpp"
#include "base/text/utf8.hpp"
#include "job/schema/key_types.hpp"

namespace gangway {
namespace {

using Json = nlohmann::json;  // sorts a map by its names

constexpr std::string_view kPythonWord = "python";
constexpr std::string_view kEnding = ".py";

bool is_python_name(std::string_view text) {
  const auto is_letter = [](char one) {
    return (one >= 'a' && one <= 'z') || (one >= 'A' && one <= 'Z') || one == '_';
  };
  return !text.empty() && is_letter(text.front()) && std::ranges::all_of(text, [&](char one) {
    return is_letter(one) || (one >= '0' && one <= '9');
  });
}

/// Returns whether `text` is a class: "Generator", or inside another class, "Nets.Generator".
bool is_class_name(std::string_view text) {
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t dot = std::min(text.find('.', begin), text.size());
    if (!is_python_name(text.substr(begin, dot - begin))) {
      return false;
    }
    begin = dot + 1;
  }
  return true;
}

/// Reads "nets.py:Generator" or "src/R3GAN.Networks:Generator" into file, module and class.
/// @return whether `text` is such a name; not for a data source such as "images:faces.zip"
bool read_class(std::string_view text, ModuleFile& module) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || !is_class_name(text.substr(colon + 1))) {
    return false;
  }
  const std::string_view place = text.substr(0, colon);
  const std::string_view name = place.substr(place.rfind('/') + 1);
  const bool is_file = place.ends_with(kEnding);
  if (!is_file && (name.find('.') == std::string_view::npos || !is_class_name(name) ||
                   (!place.starts_with('/') && place.find(':') != std::string_view::npos))) {
    return false;
  }
  module.file = place;
  module.module = is_file ? "" : name;
  module.python_class = text.substr(colon + 1);
  if (!is_file) {
    std::replace(module.file.end() - static_cast<std::ptrdiff_t>(name.size()), module.file.end(),
                 '.', '/');
    module.file += kEnding;
  }
  return true;
}

/// Parses a whole number, a real one, true, false, null, or text, as in YAML 1.2.
Json plain_value(const std::string& text, std::string& complaint) {
  if (text.empty() || text == "null" || text == "~") {
    return nullptr;
  }
  if (text == "true" || text == "false") {
    return text == "true";
  }
  const char* begin = text.data() + (text.front() == '+' ? 1 : 0);
  const char* end = text.data() + text.size();
  if (const auto whole = parse_number<std::int64_t>({begin, end})) {
    return *whole;
  }
  double real = 0.0;
  const auto [stop, error] = std::from_chars(begin, end, real);
  const bool is_number = stop == end && text.find_first_of("0123456789") != std::string::npos;
  if ((is_number && (error != std::errc{} || !std::isfinite(real))) || text == ".inf" ||
      text == "-.inf" || text == ".nan") {
    complaint = fmt::format("{} is no finite number that a computer's float64 has", shown(text));
  }
  return is_number ? Json(real) : Json(text);
}

Json value_of(const YamlNode& node, std::string& complaint) {
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      return nullptr;
    case YamlNode::Kind::kScalar:
      return node.is_quoted ? Json(node.text) : plain_value(node.text, complaint);
    case YamlNode::Kind::kSequence: {
      Json list = Json::array();
      for (const YamlNode& item : node.items) {
        list.push_back(value_of(item, complaint));
      }
      return list;
    }
    case YamlNode::Kind::kMap:
      break;
  }
  Json map = Json::object();
  for (const YamlEntry& entry : node.entries) {
    map[entry.key] = value_of(entry.value, complaint);
  }
  return map;
}

Json arguments_of(const ModuleFile& module) {
  return module.arguments.empty() ? Json::object() : Json::parse(module.arguments);
}

}  // namespace

bool is_about_python(const YamlNode& node) {
  ModuleFile unused;
  return node.kind == YamlNode::Kind::kMap ||
         (node.kind == YamlNode::Kind::kScalar &&
          (node.text.find(".py:") != std::string::npos || node.text.ends_with(kEnding) ||
           read_class(node.text, unused)));
}

std::string class_expected(const YamlNode& node) {
  return fmt::format(
      "expected FILE.py:CLASS or PACKAGE.MODULE:CLASS, such as nets.py:Generator, {}",
      unlike(node));
}

std::string read_python_call(const YamlNode& node, ModuleFile& module) {
  ModuleFile read = module;
  std::string complaint;
  const auto take_name = [&](const YamlNode& name) {
    const auto text = read_text(name);
    ModuleFile found;
    if (!text.complaint.empty() || !read_class(text.value, found)) {
      complaint = class_expected(name);
      return;
    }
    found.hash = std::move(read.hash);
    read = std::move(found);
  };
  if (node.kind == YamlNode::Kind::kScalar) {
    take_name(node);
  } else {
    const auto word = std::ranges::find(node.entries, kPythonWord, &YamlEntry::key);
    if (word != node.entries.end()) {
      take_name(word->value);
    } else if (!read.is_python()) {
      return "expected python: FILE.py:CLASS among its keys";
    }
    Json arguments = arguments_of(read);
    for (const YamlEntry& entry : node.entries) {
      if (entry.key != kPythonWord && complaint.empty()) {
        arguments[entry.key] = value_of(entry.value, complaint);
        if (!is_python_name(entry.key)) {
          complaint = fmt::format("'{}' is no name of an argument", shown(entry.key));
        }
      }
    }
    read.arguments = arguments.empty() ? "" : arguments.dump();
  }
  if (complaint.empty()) {
    module = std::move(read);
  }
  return complaint;
}

std::string python_call_text(const ModuleFile& module) {
  const std::string place = module.module.empty()
                                ? module.file
                                : (module.python_spec("", 0).folder() / module.module).string();
  const std::string name = quoted_if_needed(place + ":" + module.python_class);
  if (module.arguments.empty()) {
    return name;
  }
  std::string text = "{python: " + name;
  const Json arguments = arguments_of(module);
  for (const auto& [argument, value] : arguments.items()) {
    text += fmt::format(", {}: {}", argument, value.dump());
  }
  return text + "}";
}

}  // namespace gangway
