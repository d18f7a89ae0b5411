// SPDX-License-Identifier: MIT
// From the job file, the environment and the command line to one valid JobSpec, or to every
// complaint at once.
//
// Called once at the start by `gangway run`, `gangway train` and the coordinator, and by each
// worker on the resolved job it receives. Pure but for reading the file. Precedence: defaults <
// file < environment < command line (job/file/settle_places.hpp).
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "job/file/job_sources.hpp"
#include "job/spec.hpp"

namespace gangway {

struct ResolvedJob {
  JobSpec spec;
  std::string name;  ///< default name of the run: the job file's stem, made a valid run name
  std::string yaml;  ///< to_yaml(spec)
  /// Overrides that place networks on hosts by name: `layout.generator=["node-a"]`.
  std::vector<std::string> named_hosts = {};
  /// For people, a line each: what earlier places gave, and later ones have no use for.
  std::vector<std::string> notes = {};
};

/// Parses and checks all sources. `normalization: auto`, and defaults that depend on other keys,
/// come out resolved.
/// @throws JobFileError with all problems; a file that cannot be read is one. ConfigError where it
/// names a library, and somebody else could have written that.
[[nodiscard]] ResolvedJob load_job(const JobSources& sources);

/// The spec of a resolved job, as job.yaml and the Welcome message carry it; `name` stands in
/// messages. @param run  its run directory, which keeps its library; empty: it has none
/// @param origin  as of JobSources
/// @throws JobFileError; ConfigError as load_job
[[nodiscard]] JobSpec parse_job(std::string_view text, const std::string& name,
                                const std::filesystem::path& run = {},
                                const std::filesystem::path& origin = {});

/// The resolved job as YAML: every key that applies, so it runs again as it is and parses back to
/// an equal JobSpec.
[[nodiscard]] std::string to_yaml(const JobSpec& spec);

/// What `from` is to be told to be `to`, as overrides: "layout.stages=2", "layout.generator=[0,1]".
/// @pre they are of one recipe
[[nodiscard]] std::vector<std::string> changed_keys(const JobSpec& from, const JobSpec& to);

}  // namespace gangway
