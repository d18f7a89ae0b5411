// SPDX-License-Identifier: MIT
#include "launch/tune/edited_job.hpp"

#include <algorithm>

#include "job/schema/yaml_tree.hpp"

namespace gangway::launch {
namespace {

/// Of a place in `text`.
std::size_t offset_of(const std::string& text, YamlPosition at) {
  std::size_t begin = 0;
  for (int line = 1; line < at.line; ++line) {
    begin = text.find('\n', begin) + 1;
  }
  return begin + static_cast<std::size_t>(at.column) - 1;
}

/// "layout.cuts.generator" and "[2]" below `depth` spaces: a line a level.
std::string lines_of(std::string path, const std::string& value, std::size_t depth) {
  std::string lines;
  for (std::size_t dot = path.find('.'); dot != std::string::npos; dot = path.find('.')) {
    lines += std::string(depth, ' ') + path.substr(0, dot) + ":\n";
    path.erase(0, dot + 1);
    depth += 2;
  }
  return lines + std::string(depth, ' ') + path + ": " + value + "\n";
}

/// The same within braces: "cuts: {generator: [2]}".
std::string flow_of(const std::string& path, const std::string& value) {
  const std::size_t dot = path.find('.');
  return dot == std::string::npos
             ? path + ": " + value
             : path.substr(0, dot) + ": {" + flow_of(path.substr(dot + 1), value) + "}";
}

void replace_value(std::string& text, const YamlNode& old, const std::string& value) {
  if (old.at.line == 0) {
    return;  // nothing stands there
  }
  const std::size_t begin = offset_of(text, old.at);
  std::size_t length = old.text.size();
  if (old.kind == YamlNode::Kind::kSequence) {
    length = text.find(']', begin) + 1 - begin;
  }
  text.replace(begin, length, value);
}

void add_beside(std::string& text, const YamlNode& section, const std::string& path,
                const std::string& value) {
  if (text[offset_of(text, section.at)] == '{') {
    const std::string more = flow_of(path, value) + (section.entries.empty() ? "" : ", ");
    text.insert(offset_of(text, section.at) + 1, more);
    return;
  }
  const YamlPosition first = section.entries.front().at;
  const auto depth = static_cast<std::size_t>(first.column) - 1;
  text.insert(offset_of(text, first) - depth, lines_of(path, value, depth));
}

void set_key(std::string& text, const std::string& path, const std::string& value) {
  const YamlResult read = read_yaml(text);
  const YamlNode* node = &read.root;
  std::string rest = path;
  while (node->kind == YamlNode::Kind::kMap) {
    const std::string name = rest.substr(0, rest.find('.'));
    const auto entry = std::ranges::find(node->entries, name, &YamlEntry::key);
    if (entry == node->entries.end()) {
      break;
    }
    node = &entry->value;
    rest = rest == name ? "" : rest.substr(name.size() + 1);
    if (rest.empty()) {
      replace_value(text, *node, value);
      return;
    }
  }
  if (node != &read.root && node->kind != YamlNode::Kind::kMap) {
    replace_value(text, *node, "{" + flow_of(rest, value) + "}");  // "layout: auto"
  } else if (node == &read.root) {
    text += (text.empty() || text.ends_with('\n') ? "" : "\n") + lines_of(rest, value, 0);
  } else {
    add_beside(text, *node, rest, value);
  }
}

}  // namespace

std::string edited_job(std::string text, const std::vector<std::string>& keys) {
  for (const std::string& key : keys) {
    const std::size_t equals = key.find('=');
    set_key(text, key.substr(0, equals), key.substr(equals + 1));
  }
  return text;
}

}  // namespace gangway::launch
