// SPDX-License-Identifier: MIT
#include "coordinator/steering/settable_keys.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/errors.hpp"
#include "base/text/suggestion.hpp"
#include "job/schema/key.hpp"
#include "job/schema/yaml_tree.hpp"

namespace gangway::coordinator {
namespace {

const Key& settable(const JobSpec& job, const std::string& key) {
  const auto& allowed = settable_keys();
  if (std::ranges::find(allowed, key) == allowed.end()) {
    const auto near = nearest_path(key, {allowed.begin(), allowed.end()});
    throw ConfigError(fmt::format("{}: cannot be set while a job runs{}; these can: {}", key,
                                  near ? fmt::format(" (did you mean {}?)", *near) : "",
                                  fmt::join(allowed, ", ")));
  }
  const auto& table = key_table(*job.training.recipe);
  return *std::ranges::find(table, key, &Key::path);
}

/// Whether scores affect learning rates or the job's end.
bool follows_scores(const JobSpec& job) {
  return job.checkpoint.early_stop > 0 || job.training.plateau.patience > 0;
}

std::string why_bound(const JobSpec& job, const std::string& key) {
  if (key == "output.tick_kimg" && job.training.divergence.saturation_is_trouble) {
    return "losses that are checked at each tick may roll the job back (training.divergence)";
  }
  if ((key == "checkpoint.every_kimg" || key == "checkpoint.every_steps") && follows_scores(job)) {
    return "the scores of its checkpoints decide about its learning rates or its end";
  }
  return "";
}

}  // namespace

const std::vector<std::string_view>& settable_keys() {
  static const std::vector<std::string_view> keys{
      "output.tick_kimg",         "output.pictures_kimg",      "checkpoint.every_kimg",
      "checkpoint.every_seconds", "checkpoint.every_steps",    "checkpoint.keep",
      "checkpoint.keep_every",    "checkpoint.snapshot_steps",
  };
  return keys;
}

JobSpec with_key(const JobSpec& job, const std::string& key, const std::string& value) {
  const Key& known = settable(job, key);
  if (const std::string why = why_bound(job, key); !why.empty()) {
    throw ConfigError(fmt::format("{}: cannot be set in this job: {}", key, why));
  }
  const YamlResult read = read_yaml(value);
  JobSpec changed = job;
  const std::string complaint =
      read.problems.empty() ? known.set(read.root, changed) : read.problems.front().message;
  if (!complaint.empty()) {
    throw ConfigError(fmt::format("{}={}: {}", key, value, complaint));
  }
  return changed;
}

std::string value_of(const JobSpec& job, const std::string& key) {
  return settable(job, key).get(job);
}

SteeredPlan steered_plan(const JobSpec& job) {
  return {.tick_steps = std::max<std::int64_t>(1, job.steps_of_kimg(job.output.tick_kimg)),
          .picture_steps = job.steps_of_kimg(job.output.pictures_kimg),
          .checkpoint_steps = job.checkpoint_steps(),
          .save_interval = std::chrono::milliseconds(
              static_cast<std::int64_t>(std::ceil(job.checkpoint.every_seconds * 1000.0))),
          .snapshot_steps = job.checkpoint.snapshot_steps};
}

ActiveCommands active_commands(const JobSpec& job, const SteeringEvents& events) {
  ActiveCommands standing{.job = job, .is_paused = false, .paused_since = 0, .paused_by = {}};
  for (const SteeringEvent& event : events) {
    if (event.command == "pause" && !standing.is_paused) {
      standing.is_paused = true;
      standing.paused_since = event.unix_seconds;
      standing.paused_by = event.who;
    } else if (event.command == "resume") {
      standing.is_paused = false;
    }
  }
  // A set key counts only while the job file still has the value that it had then.
  std::map<std::string, const SteeringEvent*> newest;
  for (const SteeringEvent& event : events) {
    if (event.command == "set" && event.arguments.contains("key")) {
      newest[event.arguments.at("key")] = &event;
    }
  }
  for (const auto& [key, event] : newest) {
    const auto& said = event->arguments;
    try {
      if (said.contains("value") && said.contains("job") && said.at("job") == value_of(job, key)) {
        standing.job = with_key(standing.job, key, said.at("value"));
      }
    } catch (const ConfigError&) {  // set for another job: this job's value counts
    }
  }
  return standing;
}

}  // namespace gangway::coordinator
