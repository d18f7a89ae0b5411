// SPDX-License-Identifier: MIT
#include "coordinator/resume/start.hpp"

#include <algorithm>
#include <iostream>
#include <iterator>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "checkpoint/format/state_index.hpp"
#include "checkpoint/snapshots/snapshot_files.hpp"
#include "checkpoint/snapshots/snapshot_memory.hpp"
#include "checkpoint/snapshots/snapshot_slot.hpp"
#include "checkpoint/store/retention.hpp"
#include "checkpoint/store/verify.hpp"
#include "coordinator/resume/history.hpp"
#include "coordinator/resume/job_changes.hpp"
#include "coordinator/trouble/watch_history.hpp"
#include "job/devices/settle_device.hpp"
#include "job/estimate/dry_run.hpp"
#include "job/file/fingerprint.hpp"
#include "job/file/parse.hpp"
#include "job/library/family_library.hpp"
#include "job/modules/module_files.hpp"
#include "run/decision_file.hpp"
#include "run/unrecorded_end.hpp"

namespace gangway::coordinator {
namespace {

namespace fs = std::filesystem;

/// Finds a checkpoint named by the user: `path` is its folder, or a run (means its newest).
checkpoint::Found named_checkpoint(const fs::path& path, const Tell& tell) {
  if (fs::is_directory(path / kCheckpointsFolder)) {
    auto found =
        checkpoint::newest_valid(path / kCheckpointsFolder, tell, checkpoint::Depth::kStructure);
    if (!found) {
      throw CheckpointError(
          fmt::format("--resume {}: the run has no valid checkpoint", path.string()));
    }
    return std::move(*found);
  }
  if (!fs::is_directory(path)) {
    throw CheckpointError(
        fmt::format("--resume {}: no such checkpoint or run directory", path.string()));
  }
  checkpoint::Manifest manifest = checkpoint::verify_checkpoint(path);
  const std::int64_t step = manifest.step;
  return {.path = fs::absolute(path), .step = step, .manifest = std::move(manifest)};
}

/// Refuses a named checkpoint that is older than the run's newest: a repeated command never
/// means it. @throws CheckpointError
void require_newest(const checkpoint::Found& named, const std::string& typed, const fs::path& run) {
  for (const auto& entry : checkpoint::list_checkpoints(run / kCheckpointsFolder)) {
    if (entry.status == checkpoint::CheckpointStatus::kComplete && entry.step > named.step) {
      throw CheckpointError(
          fmt::format("--resume {} is step {}, but the run has reached {}: --resume auto --run {} "
                      "continues from there, another --run branches off",
                      typed, named.step, entry.path.string(), run.filename().string()));
    }
  }
}

/// Finds the run's newest checkpoint. Verifies a finished run's whole: no worker will load it.
std::optional<checkpoint::Found> newest_checkpoint(const StartedRun& run, const Tell& tell) {
  const fs::path folder = run.directory / kCheckpointsFolder;
  const Tell warn = [&tell](const std::string& line) { tell("warn  " + line); };
  auto found = checkpoint::newest_valid(folder, warn, checkpoint::Depth::kStructure);
  return found && found->step >= run.end_step ? checkpoint::newest_valid(folder, warn)
                                              : std::move(found);
}

void choose_checkpoint(StartedRun& run, const StartOptions& options, const Tell& tell) {
  if (options.resume == "never") {
    return;
  }
  if (!options.is_automatic()) {
    run.resume = named_checkpoint(options.resume, tell);
    require_newest(*run.resume, options.resume, run.directory);
    return;
  }
  run.resume = newest_checkpoint(run, tell);
  keep_to_branch(run);
  if (run.resume || !run.begun_with.empty()) {
    return;
  }
  run.has_damaged_checkpoints =
      !checkpoint::list_checkpoints(run.directory / kCheckpointsFolder).empty();
  if (options.resume == "must" && !run.has_damaged_checkpoints) {
    throw CheckpointError(
        fmt::format("--resume must: {} has no valid checkpoint: start with --resume auto",
                    run.directory.string()));
  }
}

/// Returns the job of a checkpoint, with its run's names and paths. @throws JobFileError
JobSpec job_of(const checkpoint::Found& found) {
  return parse_job(found.manifest.job_yaml, found.path.filename().string(),
                   fs::absolute(found.path).parent_path().parent_path(),
                   found.path / checkpoint::kManifestName);
}

/// Returns job_of(); nothing if the job is of another version: other checks report differences.
std::optional<JobSpec> readable_job_of(const checkpoint::Found& found) {
  try {
    return job_of(found);
  } catch (const JobFileError&) {
    return std::nullopt;
  }
}

/// Returns the keys that differ from the checkpoint's job, with both values.
std::string changes_since(const checkpoint::Found& found, const JobSpec& now,
                          std::string_view section = {}) {
  std::string changes;
  try {
    changes = job_changes(job_of(found), now, section);
  } catch (const JobFileError& error) {
    return fmt::format("this version cannot read that job: {}", error.problems().front());
  }
  return changes.empty() ? "by the version of gangway" : changes;
}

/// Refuses a start if a user's network or library file has changed. @throws ConfigError
void require_same_modules(const checkpoint::Found& found, const JobSpec& old, const JobSpec& now) {
  const HashedFile& library = now.model.library;
  if (!library.file.empty() && !old.model.library.file.empty() &&
      library.hash != old.model.library.hash) {
    throw ConfigError(fmt::format(
        "model.library: {} has changed since {} was saved; give the old file back, of which {} is "
        "a copy, or begin another run (--run, or --resume never)",
        library.file, found.path.filename().string(), kept_library(old.model.library).string()));
  }
  for (const NetworkSpec& network : now.networks) {
    const auto before = std::ranges::find(old.networks, network.name, &NetworkSpec::name);
    if (before != old.networks.end() && !before->module.file.empty() &&
        !network.module.file.empty() && before->module.hash != network.module.hash) {
      throw ConfigError(fmt::format(
          "model.{}: {} has changed since {} was saved; give the old file back, of which {}/{} is "
          "a copy, or begin another run (--run, or --resume never)",
          network.name, network.module.file, found.path.filename().string(), kPythonFolder,
          before->module.hash));
    }
  }
}

/// Refuses other image pools: their tensors depend on micro-batches and images per step.
void require_same_pools(const checkpoint::Found& found, const JobSpec& old, const JobSpec& spec) {
  if (!spec.training.recipe->has_pools) {
    return;
  }
  for (const std::string_view key : {"training.pool", "training.microbatches", "training.batch"}) {
    const bool counts = spec.training.translation.pool > 0 || key == "training.pool";
    if (const std::string change = job_changes(old, spec, key); counts && !change.empty()) {
      throw CheckpointError(fmt::format(
          "checkpoint {} holds pools of images for another job ({}): give the old value "
          "again, or the run another name (--run)",
          found.path.string(), change));
    }
  }
}

/// @throws CheckpointError when the checkpoint is of another model.
void require_same_job(const checkpoint::Found& found, const StartedRun& run, const Tell& tell) {
  const JobSpec& spec = run.spec;
  const std::string name = found.path.filename().string();
  const std::optional<JobSpec> old = readable_job_of(found);
  if (old) {
    require_same_modules(found, *old, spec);
  }
  if (found.manifest.model_fingerprint != model_fingerprint(spec)) {
    throw CheckpointError(
        fmt::format("checkpoint {} holds another model ({}): give the run another name (--run), or "
                    "start afresh (--resume never)",
                    found.path.string(), changes_since(found, spec, "model.")));
  }
  if (old) {
    require_same_pools(found, *old, spec);
  }
  if (found.manifest.job_fingerprint != job_fingerprint(spec)) {
    tell(fmt::format(
        "warn  the job has changed since {} was saved ({}): from here on it computes other "
        "numbers; to keep the old numbers, end it and give the old values or another --run",
        name, changes_since(found, spec)));
  }
}

/// Reports the previous job's snapshots if they are newer than this start's state, because this job
/// cannot use them.
void tell_of_lost_snapshots(const StartedRun& run, const Tell& tell) {
  const std::optional<JobSpec> old = job_in(run.directory / kJobFile);
  if (!old) {
    return;  // no earlier run, or of another version, or its networks are gone
  }
  const std::string fingerprint = job_fingerprint(*old);
  if (fingerprint == job_fingerprint(run.spec)) {
    return;
  }
  const auto found = checkpoint::find_snapshots(
      checkpoint::snapshot_folders(run.directory),
      checkpoint::snapshot_key(run.directory, fingerprint, run.start.run_id));
  const std::int64_t begin = run.resume ? run.resume->step : 0;
  if (!found.empty() && found.front().id.step > begin) {
    tell(fmt::format(
        "warn  the job has changed since it left a snapshot of step {} in memory ({}): it begins "
        "at step {}; to resume from the snapshot, end it and give the old values again",
        found.front().id.step, job_changes(*old, run.spec), begin));
  }
}

/// Gives auto keys the device's values; those that change numbers keep what they were when the run
/// began.
void settle_by_device(StartedRun& run, const StartOptions& options, const Tell& tell) {
  std::vector<std::string> lines;
  if (has_open_numbers(run.spec)) {
    std::optional<JobSpec> before;
    if (run.resume) {
      before = readable_job_of(*run.resume);
    } else if (options.resume != "never") {
      before = job_in(run.directory / kJobFile);
    }
    lines = settle_numbers(run.spec, before, options.device);
  }
  std::ranges::move(settle_layout(run.spec, run.num_workers, options.device),
                    std::back_inserter(lines));
  if (!lines.empty()) {
    run.job_yaml = to_yaml(run.spec);
    std::ranges::for_each(lines, tell);
  }
}

/// Removes this host's snapshots if all lie after a rollback or before a branch. A worker keeps its
/// newest while it fills another, so an abandoned snapshot would stay for long.
void drop_abandoned_snapshots(const StartedRun& run) {
  if (num_rollbacks(run.decisions) == 0 && !own_branch(run.decisions)) {
    return;
  }
  const auto folders = checkpoint::snapshot_folders(run.directory);
  const std::string key =
      checkpoint::snapshot_key(run.directory, job_fingerprint(run.spec), run.start.run_id);
  const auto found = checkpoint::find_snapshots(folders, key);
  if (std::ranges::none_of(found, [&](const auto& snapshot) {
        return is_on_the_way(snapshot.id.step, snapshot.id.incarnation, run.decisions);
      })) {
    (void)checkpoint::remove_snapshots(folders, key);
  }
}

/// Loads earlier starts' decisions and drops the checkpoints that contradict them.
void take_decisions(StartedRun& run, const Tell& tell) {
  run.decisions = decisions_of_run(run.directory);
  drop_abandoned(run.directory, run.decisions, tell);
  drop_abandoned_snapshots(run);
  run.end_step = last_step(run.spec, run.decisions);
}

/// Takes over the decisions of another run's checkpoint.
void branch_off(StartedRun& run) {
  std::error_code ignored;
  if (!run.resume) {
    return;
  }
  const checkpoint::Manifest& manifest = run.resume->manifest;
  if (fs::equivalent(run.resume->path.parent_path(), run.directory / kCheckpointsFolder, ignored)) {
    if (!is_on_the_way(run.resume->step, decisions_in(manifest), run.decisions)) {
      throw CheckpointError(
          fmt::format("{} lies behind a rollback of this run: --resume auto continues from before "
                      "it, another --run branches off it",
                      run.resume->path.string()));
    }
    return;
  }
  Decisions decisions =
      branched(run.decisions, manifest, run.resume->path.string(), run.start.incarnation);
  if (decisions != run.decisions) {
    write_decisions(run.directory, decisions);
    run.decisions = std::move(decisions);
    run.end_step = last_step(run.spec, run.decisions);
    drop_abandoned_snapshots(run);
    fs::remove(run.directory / kWatchFile, ignored);  // memory of the earlier training
  }
}

/// Ends the run at the step of `checkpoint` and takes over the decisions made until then.
void repeat(StartedRun& run, const fs::path& checkpoint) {
  const checkpoint::Manifest manifest = checkpoint::read_manifest(checkpoint);
  Decisions decisions = repeated(run.decisions, manifest);
  if (run.resume &&
      !is_on_the_way(run.resume->step, decisions_in(run.resume->manifest), decisions)) {
    throw CheckpointError(
        fmt::format("{} lies behind a rollback of the run that saved {}: replay from a checkpoint "
                    "before it",
                    run.resume->path.string(), checkpoint.filename().string()));
  }
  write_decisions(run.directory, decisions);
  run.decisions = std::move(decisions);
  run.end_step = manifest.step;
  run.replays = true;
}

}  // namespace

void keep_to_branch(StartedRun& run) {
  const auto branch = own_branch(run.decisions);
  if (branch && !(run.resume && is_since_branch(run.resume->manifest, run.decisions))) {
    run.resume.reset();
    run.begun_with = branch->why;
  }
}

void try_write_status(const fs::path& run_directory, const RunEnd& end) {
  try {
    write_status(run_directory, end);
  } catch (const std::exception& error) {
    std::cerr << unrecorded_end_line(end.exit_code, error.what()) << std::endl;
  }
}

std::string go_on_advice(const StartOptions& options, const fs::path& run_directory) {
  if (options.is_automatic()) {
    return "the same command continues";
  }
  return options.resume_command.empty()
             ? fmt::format("--resume auto --run {} continues", run_directory.filename().string())
             : fmt::format("to resume: {}", options.resume_command);
}

StartedRun open_job(const StartOptions& options, int num_workers) {
  ResolvedJob job = load_job({.file = options.job_file,
                              .text = std::nullopt,
                              .overrides = options.overrides,
                              .environment = options.environment});
  require_workers(job.spec, num_workers);
  const TraceSteps trace = parse_trace_steps(options.trace);
  const fs::path directory = run_of(options, job.name);
  StartedRun run{.spec = job.spec,
                 .job_yaml = std::move(job.yaml),
                 .directory = directory,
                 .lock = RunLock(directory),
                 .trace = trace,
                 .num_workers = num_workers,
                 .notes = std::move(job.notes)};
  clear_status(directory);
  run.start = begin_run_start(directory, options.is_again);
  run.restarts = read_restarts(directory);
  run.goes_on = options.goes_on;
  run.is_again = options.is_again;
  return run;
}

void find_start(StartedRun& run, const StartOptions& options, const Tell& tell) {
  if (options.run_directory.empty()) {  // else `gangway run` has printed them
    std::ranges::for_each(run.notes, [&](const std::string& note) { tell("note   " + note); });
  }
  checkpoint::remove_stale_temporaries(run.directory / kCheckpointsFolder);
  take_decisions(run, tell);
  choose_checkpoint(run, options, tell);
  branch_off(run);
  if (!options.replay.empty()) {
    repeat(run, options.replay);
  }
  settle_by_device(run, options, tell);
  if (run.resume) {
    require_same_job(*run.resume, run, tell);
  }
  if (options.resume != "never") {
    tell_of_lost_snapshots(run, tell);
  }
  keep_modules(run.spec, run.directory);
  keep_library(run.spec.model.library, run.directory);
  write_job(run.directory, run.job_yaml);
  write_command(run.directory, options.command);
}

}  // namespace gangway::coordinator
