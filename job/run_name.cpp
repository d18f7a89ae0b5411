// SPDX-License-Identifier: MIT
#include "job/run_name.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "base/text/utf8.hpp"

namespace gangway {
namespace {

constexpr std::size_t kLongestName = 64;

bool is_name_character(char character) {
  return (character >= 'A' && character <= 'Z') || (character >= 'a' && character <= 'z') ||
         (character >= '0' && character <= '9') || character == '.' || character == '_' ||
         character == '-';
}

bool is_run_name(const std::string& name) {
  return !name.empty() && name.size() <= kLongestName && name.front() != '.' &&
         std::all_of(name.begin(), name.end(), is_name_character);
}

}  // namespace

std::string run_name_of(const std::filesystem::path& job_file) {
  std::string name = job_file.stem().string().substr(0, kLongestName);
  std::replace_if(
      name.begin(), name.end(), [](char character) { return !is_name_character(character); }, '-');
  name.erase(0, std::min(name.find_first_not_of('.'), name.size()));
  return is_run_name(name) ? name : "job";
}

void require_run_name(const std::string& name) {
  if (!is_run_name(name)) {
    throw ConfigError(fmt::format(
        "run name '{}': expected 1 to {} of A-Z a-z 0-9 . _ - without a dot in front; give "
        "another --run",
        shown(name), kLongestName));
  }
}

}  // namespace gangway
