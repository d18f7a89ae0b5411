// SPDX-License-Identifier: MIT
#include "base/environment.hpp"

#include <string_view>

// The system's. NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
extern char** environ;

namespace gangway {

Environment read_environment() {
  Environment variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (const auto equals = text.find('='); equals != std::string_view::npos) {
      variables.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
  }
  return variables;
}

Environment gangway_variables(Environment environment) {
  std::erase_if(environment,
                [](const auto& variable) { return !variable.first.starts_with("GANGWAY_"); });
  return environment;
}

}  // namespace gangway
