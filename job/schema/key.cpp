// SPDX-License-Identifier: MIT
#include "job/schema/key.hpp"

#include <algorithm>

namespace gangway {

std::string Key::parent() const { return path.substr(0, path.rfind('.')); }

std::string environment_name(const std::string& path) {
  std::string name = "GANGWAY_" + path;
  std::transform(name.begin(), name.end(), name.begin(), [](char character) {
    const bool is_small = character >= 'a' && character <= 'z';
    return character == '.' ? '_' : is_small ? static_cast<char>(character - 'a' + 'A') : character;
  });
  return name;
}

std::vector<std::string> sections_of(const std::vector<Key>& keys) {
  std::vector<std::string> sections;
  for (const Key& key : keys) {
    for (std::size_t dot = key.path.find('.'); dot != std::string::npos;
         dot = key.path.find('.', dot + 1)) {
      std::string section = key.path.substr(0, dot);
      if (std::find(sections.begin(), sections.end(), section) == sections.end()) {
        sections.push_back(std::move(section));
      }
    }
  }
  return sections;
}

std::string default_of(const Key& key, const Recipe& recipe) {
  return key.default_note.empty() ? key.get(JobSpec::of(recipe)) : key.default_note;
}

}  // namespace gangway
