// SPDX-License-Identifier: MIT
#include "launch/checkpoints/snapshot_commands.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <system_error>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/errors.hpp"
#include "base/shared_segment.hpp"
#include "base/this_host.hpp"
#include "base/units.hpp"
#include "checkpoint/snapshots/snapshot_files.hpp"
#include "checkpoint/snapshots/snapshot_slot.hpp"
#include "job/file/fingerprint.hpp"
#include "job/file/parse.hpp"
#include "launch/checkpoints/run_lookup.hpp"
#include "launch/mpirun/mpirun_command.hpp"
#include "launch/process/command_list.hpp"
#include "launch/process/environment.hpp"
#include "report/table.hpp"
#include "run/run_files.hpp"
#include "run/run_lock.hpp"
#include "run/run_start.hpp"

namespace gangway::launch {
namespace {

namespace fs = std::filesystem;

using checkpoint::duration_text;
using checkpoint::RunSnapshots;

struct SnapshotOptions {
  std::string reference;
  fs::path outdir = "runs";
};

double mebibytes(std::size_t bytes) { return static_cast<double>(bytes) / kMebibyte; }

std::string free_command(const fs::path& run_directory) {
  return shell_line(
      {(program_folder() / "gangway").string(), "snapshots", "rm", run_directory.string()});
}

std::string step_text(const RunSnapshots& run) {
  return run.newest_step ? fmt::format("up to step {}", *run.newest_step) : "no whole step";
}

/// Parts of one snapshot on this host. A part may exist twice: the worker's, and a buddy's copy.
struct SnapshotParts {
  std::set<int> parts;  ///< by the rank whose part it is
  std::set<std::string> folders;
  std::size_t bytes = 0;
  bool is_in_use = false;
};

std::string state_text(const SnapshotId& id, const SnapshotParts& held) {
  const bool is_whole = static_cast<int>(held.parts.size()) == id.num_workers;
  return fmt::format("{}{}", is_whole ? "whole" : "not whole here",
                     held.is_in_use ? ", in use" : "");
}

int list_runs() {
  const auto survey = checkpoint::survey_snapshots(kSharedMemoryFolder);
  for (const RunSnapshots& run : survey.runs) {
    std::cout << run.run_directory.string() << ": "
              << describe_snapshots(run, kSharedMemoryFolder, fs::file_time_type::clock::now())
              << '\n';
  }
  if (survey.runs.empty()) {
    std::cout << "no run of this user has snapshots in " << kSharedMemoryFolder << '\n';
  }
  std::cout << std::flush;
  return 0;
}

int list_snapshots(const SnapshotOptions& options) {
  if (options.reference.empty()) {
    return list_runs();
  }
  const RunReference reference = parse_run_reference(options.reference);
  std::cout << snapshot_list(find_run_directory(reference, options.outdir)) << std::flush;
  return 0;
}

/// Returns the run directory `named` if it no longer exists but its snapshots do.
/// @throws EnvironmentError if a process uses them
std::optional<fs::path> gone_run(const std::string& named) {
  if (std::error_code ignored; fs::exists(named, ignored)) {
    return std::nullopt;
  }
  const auto survey = checkpoint::survey_snapshots(kSharedMemoryFolder);
  const auto found = std::ranges::find(survey.runs, fs::path(named), &RunSnapshots::run_directory);
  if (found == survey.runs.end()) {
    return std::nullopt;
  }
  if (found->is_in_use) {
    throw EnvironmentError(
        fmt::format("{}: in use by a living process; end it first", found->run_directory.string()));
  }
  return found->run_directory;
}

int free_memory(const SnapshotOptions& options) {
  const RunReference reference = parse_run_reference(options.reference);
  if (reference.step) {
    throw ConfigError(fmt::format("all snapshots of a run are removed, not those of a step: {}",
                                  free_command(reference.run)));
  }
  const std::optional<fs::path> gone = gone_run(reference.run);
  const fs::path run = gone ? *gone : find_run_directory(reference, options.outdir);
  std::optional<RunLock> lock;  // keeps other starts from reading the snapshots
  if (!gone) {
    lock.emplace(run);
  }
  const RunSnapshots removed =
      checkpoint::remove_run_snapshots(checkpoint::snapshot_folders(run), run);
  std::cout << (removed.files == 0
                    ? fmt::format("{}: had no snapshots\n", run.string())
                    : fmt::format("{}: removed {} files ({}, {:.1f} MiB); {}\n", run.string(),
                                  removed.files, step_text(removed), mebibytes(removed.bytes),
                                  gone ? "its folder is gone"
                                       : "the run resumes from its newest checkpoint"))
            << std::flush;
  return 0;
}

}  // namespace

void add_snapshot_commands(CLI::App& app, CommandLine& line) {
  const auto options = std::make_shared<SnapshotOptions>();
  CLI::App* group = app.add_subcommand(
      "snapshots", "List or free what failed runs keep in this host's memory to resume from");
  group->require_subcommand(1);
  CLI::App* ls =
      group->add_subcommand("ls",
                            "With RUN: each snapshot on this host, and whether it is whole; "
                            "without RUN: each run's step, memory, age and freeing command");
  ls->add_option("run", options->reference, "Directory or name of a run")->type_name("RUN");
  ls->add_option("--outdir", options->outdir, "Folder of the runs")->capture_default_str();
  ls->callback([options, &line] { line.action = [options] { return list_snapshots(*options); }; });
  CLI::App* rm = group->add_subcommand(
      "rm",
      "Free the snapshots of a run that no process uses; the run resumes from its checkpoint");
  rm->add_option("run", options->reference, "Directory or name of a run")
      ->required()
      ->type_name("RUN");
  rm->add_option("--outdir", options->outdir, "Folder of the runs")->capture_default_str();
  rm->callback([options, &line] { line.action = [options] { return free_memory(*options); }; });
  CLI::App* keep = group->add_subcommand("keep")->group("");  // gangway run calls it on each host
  keep->add_option("run", options->reference)->required();
  keep->callback([options, &line] {
    line.action = [options] {
      std::cout << keep_snapshots(options->reference) << std::flush;
      return 0;
    };
  });
}

std::string snapshot_table(std::span<const checkpoint::SnapshotEntry> entries,
                           std::int64_t images_per_step) {
  std::map<SnapshotId, SnapshotParts, std::greater<>> snapshots;
  for (const checkpoint::SnapshotEntry& entry : entries) {
    SnapshotParts& held = snapshots[entry.id];
    held.parts.insert(entry.worker + 1);
    held.folders.insert(entry.file.parent_path().string());
    held.bytes += entry.bytes;
    held.is_in_use = held.is_in_use || entry.is_in_use;
  }
  report::Table table({{.title = "step", .align = Align::kRight},
                       {.title = "kimg", .align = Align::kRight},
                       {.title = "start", .align = Align::kRight},
                       {.title = "epoch", .align = Align::kRight},
                       {.title = "parts"},
                       {.title = "MiB", .align = Align::kRight},
                       {.title = "in"},
                       {.title = "state"}});
  for (const auto& [id, held] : snapshots) {
    const double kimg = static_cast<double>(id.step * images_per_step) / 1000.0;
    table.add_row({std::to_string(id.step), images_per_step > 0 ? fmt::format("{:.1f}", kimg) : "-",
                   std::to_string(id.incarnation), std::to_string(id.epoch),
                   fmt::format("{} of {}", fmt::join(held.parts, ","), id.num_workers),
                   fmt::format("{:.1f}", mebibytes(held.bytes)),
                   fmt::format("{}", fmt::join(held.folders, ", ")), state_text(id, held)});
  }
  return table.text();
}

std::string snapshot_list(const fs::path& run_directory, const fs::path& shared_memory) {
  if (!fs::exists(run_directory / kJobFile)) {
    return fmt::format("{}: no snapshots: no job has begun to train there\n",
                       run_directory.string());
  }
  const auto job = job_in(run_directory / kJobFile);
  if (!job) {
    throw CheckpointError(
        fmt::format("{}: this version cannot read this job, so it cannot find the snapshots: use "
                    "the gangway version that trained there",
                    (run_directory / kJobFile).string()));
  }
  const auto folders = checkpoint::snapshot_folders(run_directory, shared_memory);
  std::string damaged;
  const auto entries = checkpoint::find_snapshots(
      folders,
      checkpoint::snapshot_key(run_directory, job_fingerprint(*job), run_id_of(run_directory)),
      [&damaged](const std::string& line) { damaged += "warn  " + line + "\n"; });
  if (entries.empty()) {
    return fmt::format(
        "{}{}: no snapshots on {}: the run has taken none, has ended well, or ran elsewhere\n",
        damaged, run_directory.string(), host_name());
  }
  return fmt::format("{}{} on {}; other hosts of the run have their own\n{}", damaged,
                     run_directory.string(), host_name(),
                     snapshot_table(entries, job->images_per_step()));
}

std::string describe_snapshots(const RunSnapshots& run, const fs::path& folder,
                               fs::file_time_type now) {
  const std::string what =
      fmt::format("{}, {:.1f} MiB in {}", step_text(run), mebibytes(run.bytes), folder.string());
  if (run.is_in_use) {
    return what + ", in use by a living process";
  }
  const auto age = std::chrono::duration_cast<std::chrono::seconds>(now - run.last_sign);
  const auto left = std::max(std::chrono::seconds{0}, checkpoint::kSnapshotsKept - age);
  return fmt::format("{}, last used {} ago, kept for another {}; to free it: {}", what,
                     duration_text(age), duration_text(std::chrono::ceil<std::chrono::hours>(left)),
                     free_command(run.run_directory));
}

std::string kept_snapshots_note(const fs::path& run_directory, const fs::path& folder) {
  std::error_code error;
  const fs::path real = fs::canonical(run_directory, error);
  const auto survey = checkpoint::survey_snapshots(folder);
  const auto run = std::ranges::find(survey.runs, real, &RunSnapshots::run_directory);
  if (error || run == survey.runs.end() || !run->newest_step || run->is_in_use) {
    return {};
  }
  return fmt::format(
      "note   snapshots up to step {} stay in this host's memory ({:.1f} MiB) for {}, for the same "
      "command to resume from; to free it: {}",
      *run->newest_step, mebibytes(run->bytes), duration_text(checkpoint::kSnapshotsKept),
      free_command(run_directory));
}

std::string keep_snapshots(const fs::path& run_directory) {
  const std::optional<JobSpec> job = job_in(run_directory / kJobFile);
  const std::size_t copied =
      !job ? 0
           : checkpoint::copy_snapshots(
                 {.folder = run_directory / checkpoint::kSnapshotsFolder,
                  .key = checkpoint::snapshot_key(run_directory, job_fingerprint(*job),
                                                  run_id_of(run_directory)),
                  .is_sole_copier = true});
  return copied == 0
             ? ""
             : fmt::format("kept   {} snapshot files of host {} in {}/{}\n", copied, host_name(),
                           run_directory.string(), checkpoint::kSnapshotsFolder);
}

}  // namespace gangway::launch
