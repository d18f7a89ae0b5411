// SPDX-License-Identifier: MIT
#include "job/file/parse.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "job/file/settle_places.hpp"
#include "job/modules/feature_file.hpp"
#include "job/modules/module_files.hpp"
#include "job/run_name.hpp"

namespace gangway {
namespace {

/// Returns a line per place.
std::vector<std::string> notes_of(const std::vector<LeftOut>& left_out,
                                  const std::filesystem::path& file) {
  std::vector<std::string> notes;
  for (const Layer layer : {Layer::kFile, Layer::kEnvironment}) {
    std::vector<std::string> paths;
    for (const LeftOut& one : left_out) {
      if (one.layer == layer && std::ranges::find(paths, one.path) == paths.end()) {
        paths.push_back(one.path);
      }
    }
    if (!paths.empty()) {
      std::ranges::sort(paths);
      notes.push_back(
          fmt::format("left out of {}, because a later choice has no use for it: {}",
                      layer == Layer::kFile ? file.filename().string() : "the environment",
                      fmt::join(paths, ", ")));
    }
  }
  return notes;
}

/// @param filled_in  receives the overrides from `fill_in`
SettledPlaces resolve(JobSources sources, const FillIn& fill_in = {},
                      std::vector<std::string>* filled_in = nullptr) {
  const std::optional<std::string> text = job_text(sources);
  SettledPlaces settled = settle_sources(sources, text);
  if (fill_in) {
    *filled_in = fill_in(open_keys(settled.draft));
    std::ranges::copy(*filled_in, std::back_inserter(sources.overrides));
    if (!filled_in->empty()) {
      settled = settle_sources(sources, text);
    }
  }
  if (const auto lines = settled.problems.lines(); !lines.empty()) {
    throw JobFileError(lines);
  }
  if (settled.draft.spec.numerics.device == DeviceKind::kAuto) {
    throw JobFileError({fmt::format(
        "{}: numerics.device: auto is settled when a run is begun; say cpu or cuda here",
        sources.file.empty() ? "the job" : sources.file.string())});
  }
  JobSpec& spec = settled.draft.spec;
  spec.data.python = spec.layout.python;
  spec.data.read_seconds = spec.layout.timeout_seconds;
  return settled;
}

}  // namespace

ResolvedJob load_job(const JobSources& sources, const FillIn& fill_in) {
  std::vector<std::string> filled_in;
  SettledPlaces settled = resolve(sources, fill_in, &filled_in);
  JobSpec& spec = settled.draft.spec;
  settle_modules(spec, sources.file.parent_path());
  settle_features(spec.evaluation);
  std::set<std::string> typed;
  std::set<std::string> given;
  for (const auto& [path, origin] : settled.draft.given) {
    given.insert(path);
    if (origin.layer == Layer::kCommandLine) {
      typed.insert(path);
    }
  }
  return {.spec = spec,
          .name = run_name_of(sources.file),
          .yaml = to_yaml(spec),
          .named_hosts = std::move(settled.named_hosts),
          .filled_in = std::move(filled_in),
          .typed = std::move(typed),
          .notes = notes_of(settled.left_out, sources.file),
          .given = std::move(given)};
}

JobSpec parse_job(std::string_view text, const std::string& name, const std::filesystem::path& run,
                  const std::filesystem::path& origin) {
  JobSources sources;
  sources.file = name;
  sources.run = run;
  sources.origin = origin;
  sources.text = std::string(text);
  sources.is_stored = true;
  return resolve(sources).draft.spec;
}

std::optional<JobSpec> job_in(const std::filesystem::path& job_yaml) {
  try {
    return load_job({.file = job_yaml, .is_stored = true}).spec;
  } catch (const ConfigError&) {
    return std::nullopt;
  }
}

}  // namespace gangway
