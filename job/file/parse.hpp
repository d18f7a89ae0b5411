// SPDX-License-Identifier: MIT
// Resolves job file, environment and command line to one valid JobSpec, or to all complaints at
// once.
//
// Called once at the start by `gangway run`, `gangway train` and the coordinator, and by each
// worker on the resolved job it receives. Pure but for reading the file. Precedence: defaults <
// file < environment < command line (job/file/settle_places.hpp).
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "job/file/host_names.hpp"
#include "job/file/job_sources.hpp"
#include "job/file/open_keys.hpp"
#include "job/spec.hpp"

namespace gangway {

struct ResolvedJob {
  JobSpec spec;
  std::string name;  ///< default name of the run, made from the job file's stem
  std::string yaml;  ///< to_yaml(spec)
  /// Hosts that the layout names for networks; in `spec` all workers hold these networks.
  std::vector<NamedHosts> named_hosts = {};
  std::vector<std::string> filled_in = {};  ///< overrides from FillIn
  std::set<std::string> typed = {};         ///< keys of the command line, by path
  /// For people, a line each: values of earlier places that later places made useless.
  std::vector<std::string> notes = {};
  std::set<std::string> given = {};  ///< keys of any place, by path
};

/// Returns overrides for a job's open keys: "model.channels=3". Called once, before the checks.
using FillIn = std::function<std::vector<std::string>(const OpenKeys& open)>;

/// Parses and checks all sources. Resolves `normalization: auto`, and defaults that depend on other
/// keys.
/// @param fill_in  null: open keys keep their defaults
/// @throws JobFileError with all problems, an unreadable file among them. ConfigError if the job
/// names a library that another user could have written.
[[nodiscard]] ResolvedJob load_job(const JobSources& sources, const FillIn& fill_in = {});

/// Returns the spec of a resolved job, as in job.yaml and the Welcome message. `name` is for
/// errors. @param run  its run directory, which keeps its library; empty: none
/// @param origin  as in JobSources
/// @throws JobFileError; ConfigError as load_job
[[nodiscard]] JobSpec parse_job(std::string_view text, const std::string& name,
                                const std::filesystem::path& run = {},
                                const std::filesystem::path& origin = {});

/// Reads a run's job.yaml; nullopt if there is none, or none that this version can read.
[[nodiscard]] std::optional<JobSpec> job_in(const std::filesystem::path& job_yaml);

/// Returns the resolved job as YAML: every key that applies. The text parses back to an equal
/// JobSpec.
[[nodiscard]] std::string to_yaml(const JobSpec& spec);

/// Returns the keys that differ from their defaults, or whose defaults depend on other keys, as
/// YAML. The text parses back to an equal JobSpec.
[[nodiscard]] std::string chosen_yaml(const JobSpec& spec);

/// Returns `job` with the values of `keys` from `typed`. @pre both have one recipe
[[nodiscard]] JobSpec with_keys_of(JobSpec job, const JobSpec& typed,
                                   const std::set<std::string>& keys);

/// Returns the overrides that turn `from` into `to`: "layout.stages=2", "layout.generator=[1,2]".
/// @pre both have one recipe
[[nodiscard]] std::vector<std::string> changed_keys(const JobSpec& from, const JobSpec& to);

}  // namespace gangway
