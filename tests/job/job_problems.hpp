// SPDX-License-Identifier: MIT
// Calls of the parser for the tests of job/.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "job/file/parse.hpp"

namespace gangway::testing {

/// Returns sources with `text` as the file job.yaml.
inline JobSources sources_of(std::string text, std::vector<std::string> overrides = {},
                             std::map<std::string, std::string> environment = {}) {
  JobSources sources;
  sources.file = "job.yaml";
  sources.text = std::move(text);
  sources.overrides = std::move(overrides);
  sources.environment = std::move(environment);
  return sources;
}

inline JobSpec spec_of(std::string text, std::vector<std::string> overrides = {},
                       std::map<std::string, std::string> environment = {}) {
  return load_job(sources_of(std::move(text), std::move(overrides), std::move(environment))).spec;
}

/// Returns the complaints; none for a valid job.
inline std::vector<std::string> problems_of(std::string text,
                                            std::vector<std::string> overrides = {},
                                            std::map<std::string, std::string> environment = {}) {
  try {
    (void)load_job(sources_of(std::move(text), std::move(overrides), std::move(environment)));
  } catch (const JobFileError& error) {
    return error.problems();
  }
  return {};
}

}  // namespace gangway::testing
