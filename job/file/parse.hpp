// SPDX-License-Identifier: MIT
// From the job file, the environment and the command line to one valid JobSpec, or to every
// complaint at once.
//
// Called once at the start by `gangway run`, `gangway train` and the coordinator, and by each
// worker on the resolved job it receives. Pure but for reading the file. Precedence: defaults <
// file < environment < command line (job/file/settle_places.hpp).
#pragma once

#include <filesystem>
#include <functional>
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
  std::string name;  ///< default name of the run: the job file's stem, made a valid run name
  std::string yaml;  ///< to_yaml(spec)
  /// Hosts that the layout names for networks, which `spec` leaves to all workers.
  std::vector<NamedHosts> named_hosts = {};
  std::vector<std::string> filled_in = {};  ///< overrides that FillIn gave
  std::set<std::string> typed = {};         ///< keys of the command line, by path
  /// For people, a line each: what earlier places gave, and later ones have no use for.
  std::vector<std::string> notes = {};
};

/// Overrides for what a job leaves open: "model.channels=3". Asked once, before the job is checked.
using FillIn = std::function<std::vector<std::string>(const OpenKeys& open)>;

/// Parses and checks all sources. `normalization: auto`, and defaults that depend on other keys,
/// come out resolved.
/// @param fill_in  null: what is open stays at its default
/// @throws JobFileError with all problems; a file that cannot be read is one. ConfigError where it
/// names a library that another user could have written.
[[nodiscard]] ResolvedJob load_job(const JobSources& sources, const FillIn& fill_in = {});

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

/// `job` with the values that `typed` has of those keys. @pre they are of one recipe
[[nodiscard]] JobSpec with_keys_of(JobSpec job, const JobSpec& typed,
                                   const std::set<std::string>& keys);

/// What `from` is to be told to be `to`, as overrides: "layout.stages=2", "layout.generator=[0,1]".
/// @pre they are of one recipe
[[nodiscard]] std::vector<std::string> changed_keys(const JobSpec& from, const JobSpec& to);

}  // namespace gangway
