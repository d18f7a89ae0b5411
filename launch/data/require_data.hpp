// SPDX-License-Identifier: MIT
// Checks that a job's data can be trained on: reports the error that would end the workers' start,
// with the same text. Called by `gangway run` before it makes a run, and by --dry-run, if workers
// read the same data as this host.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/environment.hpp"
#include "job/spec.hpp"

namespace gangway::launch {

/// Warns that a job trains colour pictures as grey ones, or grey pictures in colour; empty if
/// pictures and job agree, or if the pictures cannot be read.
[[nodiscard]] std::string colour_note(const JobSpec& spec);

/// Checks that a job's style picture can be decoded, while the file is still the user's and not the
/// run's copy. Jobs without a style picture pass. @throws ConfigError naming key and file
void require_style_picture(const JobSpec& spec);

/// Opens the data without reading all files, to refuse a missing or empty place at once. Jobs with
/// examples in Python pass. @throws ConfigError as require_data
void require_source(const JobSpec& spec);

/// Facts about usable data, for the user.
struct DataFacts {
  std::string what;                ///< "images:photos, 200 examples, 2 labels"
  std::vector<std::string> notes;  ///< one line each
};

/// Opens the data as workers do and reads the first example. Reads files that are new to the cache,
/// so that workers need not do it.
/// @param say  receives progress lines if that takes long
/// @throws ConfigError if the data cannot be trained on
[[nodiscard]] DataFacts require_data(const JobSpec& spec, const Environment& environment,
                                     const std::function<void(const std::string&)>& say);

}  // namespace gangway::launch
