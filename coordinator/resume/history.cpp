// SPDX-License-Identifier: MIT
#include "coordinator/resume/history.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "checkpoint/store/retention.hpp"
#include "checkpoint/store/scan.hpp"
#include "run/decision_file.hpp"
#include "run/run_files.hpp"

namespace gangway::coordinator {
namespace {

namespace fs = std::filesystem;

/// Renames a pinned checkpoint. The user keeps it, and no start takes it for the run's.
void set_aside(const checkpoint::CheckpointEntry& entry) {
  fs::path aside = entry.path;
  for (int number = 1; fs::exists(fs::symlink_status(aside)); ++number) {
    aside.replace_filename(fmt::format("abandoned-{}-{}", entry.path.filename().string(), number));
  }
  std::error_code error;
  fs::rename(entry.path, aside, error);
  if (error) {
    throw EnvironmentError(fmt::format("{}: cannot be set aside: {}; move it away by hand",
                                       entry.path.string(), error.message()));
  }
  (void)checkpoint::unpin_checkpoint(entry.path.parent_path(), entry.step);
}

/// Returns another run's decisions with their start numbers cleared, as these count differently.
Decisions decisions_of_another(const checkpoint::Manifest& manifest) {
  Decisions decisions = decisions_in(manifest);
  for (Decision& decision : decisions) {
    decision.start = 0;
  }
  return decisions;
}

}  // namespace

Decisions decisions_in(const checkpoint::Manifest& manifest) {
  Decisions decisions;
  for (const checkpoint::ManifestEvent& event : manifest.events) {
    if (auto decision = parse_decision(event.step, event.kind, event.detail)) {
      decisions.push_back(std::move(*decision));
    }
  }
  return decisions;
}

std::vector<checkpoint::ManifestEvent> events_of(const Decisions& decisions) {
  std::vector<checkpoint::ManifestEvent> events;
  for (const Decision& decision : decisions) {
    events.push_back({.step = decision.change.step,
                      .kind = std::string(name_of(decision.kind)),
                      .detail = decision_detail(decision)});
  }
  return events;
}

Decisions decisions_of_run(const fs::path& run) {
  if (auto recorded = read_decisions(run)) {
    return std::move(*recorded);
  }
  for (const auto& entry : checkpoint::list_checkpoints(run / kCheckpointsFolder)) {
    if (entry.manifest) {
      return decisions_in(*entry.manifest);
    }
  }
  return {};
}

Decisions branched(const Decisions& own, const checkpoint::Manifest& manifest,
                   const std::string& from, std::int64_t start) {
  const std::string id = fmt::format("checkpoint {}", manifest.checkpoint_id);
  const Decision branch{.kind = DecisionKind::kBranch,
                        .change = {.step = manifest.step},
                        .why = fmt::format("begun with {}, {}", id, from),
                        .seen = manifest.step,
                        .start = start,
                        .score = {}};
  const auto last = own_branch(own);
  const bool is_again =
      last && last->change.step == manifest.step && last->why.find(id) != std::string::npos;
  if (is_again) {
    return own;
  }
  Decisions decisions = decisions_of_another(manifest);
  decisions.push_back(branch);
  return decisions;
}

Decisions repeated(const Decisions& own, const checkpoint::Manifest& manifest) {
  Decisions decisions = decisions_of_another(manifest);
  if (const auto branch = own_branch(own)) {
    decisions.push_back(*branch);
  }
  return decisions;
}

std::optional<Decision> own_branch(const Decisions& own) {
  std::optional<Decision> last;
  for (const Decision& decision : own) {
    if (decision.kind == DecisionKind::kBranch && decision.start > 0) {
      last = decision;
    }
  }
  return last;
}

bool is_since_branch(const checkpoint::Manifest& manifest, const Decisions& own) {
  const auto branch = own_branch(own);
  return !branch || std::ranges::any_of(decisions_in(manifest), [&](const Decision& decision) {
    return decision.kind == DecisionKind::kBranch && decision.change.step == branch->change.step &&
           decision.start == branch->start;
  });
}

void drop_abandoned(const fs::path& run, const Decisions& decisions,
                    const std::function<void(const std::string&)>& tell) {
  const fs::path folder = run / kCheckpointsFolder;
  const std::set<std::int64_t> pinned = checkpoint::pinned_steps(folder);
  for (const auto& entry : checkpoint::list_checkpoints(folder)) {
    if (!entry.manifest || is_on_the_way(entry.step, decisions_in(*entry.manifest), decisions)) {
      continue;
    }
    const std::string name = entry.path.filename().string();
    if (pinned.contains(entry.step)) {
      set_aside(entry);
      tell(fmt::format("note   {} is pinned, and lies behind a rollback: set aside", name));
    } else {
      checkpoint::remove_checkpoint(entry);
      tell(fmt::format("note   {} lies behind a rollback: removed", name));
    }
  }
}

std::int64_t last_step(const JobSpec& job, const Decisions& decisions) {
  std::int64_t last = job.total_steps();
  for (const Decision& decision : decisions) {
    if (decision.kind == DecisionKind::kEarlyStop && job.checkpoint.early_stop > 0) {
      last = std::min(last, decision.change.step);
    }
  }
  return last;
}

}  // namespace gangway::coordinator
