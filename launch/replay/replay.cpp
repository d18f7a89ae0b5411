// SPDX-License-Identifier: MIT
#include "launch/replay/replay.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <iostream>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/atomic_file.hpp"
#include "base/errors.hpp"
#include "base/time.hpp"
#include "checkpoint/format/manifest.hpp"
#include "checkpoint/store/scan.hpp"
#include "checkpoint/tools/compare.hpp"
#include "checkpoint/tools/digest.hpp"
#include "job/file/fingerprint.hpp"
#include "job/file/parse.hpp"
#include "job/modules/module_files.hpp"
#include "launch/checkpoints/run_lookup.hpp"
#include "launch/mpirun/measured_run.hpp"
#include "launch/process/child.hpp"
#include "launch/process/end_requests.hpp"
#include "launch/process/temporary_folder.hpp"
#include "launch/replay/stretches.hpp"
#include "launch/run/starts.hpp"
#include "report/run_view/run_records.hpp"
#include "run/run_files.hpp"

namespace gangway::launch {
namespace {

namespace fs = std::filesystem;

using checkpoint::CheckpointEntry;

constexpr const char* kReplayRun = "replay";

/// The run that is replayed.
struct Recorded {
  fs::path run;
  std::vector<CheckpointEntry> checkpoints;  ///< the sound ones, oldest first

  [[nodiscard]] const CheckpointEntry& at(std::int64_t step) const {
    return *std::ranges::find(checkpoints, step, &CheckpointEntry::step);
  }
};

Recorded recorded_run(const ReplayOptions& options) {
  const RunReference reference = parse_run_reference(options.run);
  if (reference.step) {
    throw ConfigError(fmt::format("a replay has two ends: leave @{} out, and say --from and --to",
                                  *reference.step));
  }
  Recorded recorded{.run = find_run_directory(reference, options.outdir), .checkpoints = {}};
  if (report::run_state(recorded.run)["state"] == "running") {
    throw ConfigError(fmt::format(
        "{} is under way, and removes checkpoints as it goes: wait for its end, or say 'gangway "
        "stop {}' first",
        recorded.run.string(), options.run));
  }
  recorded.checkpoints = checkpoint::list_checkpoints(recorded.run / kCheckpointsFolder);
  std::ranges::reverse(recorded.checkpoints);
  std::erase_if(recorded.checkpoints, [](const CheckpointEntry& entry) {
    const bool is_sound = entry.status == checkpoint::CheckpointStatus::kComplete;
    if (!is_sound) {
      std::cout << fmt::format("note   {} is passed over: {}\n", entry.path.filename().string(),
                               entry.damage);
    }
    return !is_sound;
  });
  return recorded;
}

std::vector<Stretch> chosen_stretches(const Recorded& recorded, const ReplayOptions& options) {
  std::vector<std::int64_t> steps;
  for (const CheckpointEntry& entry : recorded.checkpoints) {
    steps.push_back(entry.step);
  }
  std::vector<Stretch> stretches = stretches_between(steps, options.from, options.to);
  return options.audit == 0 ? stretches
                            : drawn_stretches(std::move(stretches), options.audit, options.seed);
}

/// What the job is told besides: nothing of it changes a bit.
std::vector<std::string> replay_keys(const JobSpec& job, const ReplayOptions& options) {
  std::vector<std::string> keys;
  if (options.workers > 0 || !options.hostfile.empty()) {
    keys = keys_of_one_group(job);
    keys.emplace_back("layout.shares=auto");
  }
  keys.insert(keys.end(), {"layout.plan=none", "layout.balance=off", "checkpoint.snapshot_steps=0",
                           "output.control=off", "output.http=off", "output.pictures_kimg=0",
                           "output.histograms_kimg=0"});
  keys.insert(keys.end(), options.overrides.begin(), options.overrides.end());
  return keys;
}

/// @throws ConfigError where the command line or the environment asks for other numbers
void require_same_numbers(const JobSpec& recorded, const fs::path& job_file,
                          const std::vector<std::string>& keys, const Environment& environment) {
  const ResolvedJob asked = load_job({.file = job_file,
                                      .text = std::nullopt,
                                      .overrides = keys,
                                      .environment = gangway_variables(environment),
                                      .hosts = std::vector<std::string>()});
  if (job_fingerprint(asked.spec) != job_fingerprint(recorded)) {
    throw ConfigError(
        "a replay trains the recorded job: of keys, and of GANGWAY_ variables, it takes those "
        "alone that change no bit, as layout.stages=2");
  }
}

/// Trains one stretch. @return its last checkpoint. @throws Error as the run has ended
fs::path train_again(const Recorded& recorded, const Stretch& stretch, const fs::path& folder,
                     const ReplayOptions& options, const Environment& environment) {
  const CheckpointEntry& end = recorded.at(stretch.to);
  const fs::path job_file = folder / kJobFile;
  write_file_atomically(job_file, end.manifest->job_yaml);
  for (const char* kept : {kModulesFolder, kPythonFolder}) {
    if (fs::is_directory(recorded.run / kept)) {
      fs::create_directory_symlink(recorded.run / kept, folder / kept);
    }
  }
  const JobSpec job = parse_job(end.manifest->job_yaml, end.path.filename().string(), recorded.run,
                                end.path / checkpoint::kManifestName);
  const std::vector<std::string> keys = replay_keys(job, options);
  require_same_numbers(job, job_file, keys, environment);
  std::vector<std::string> words{(program_folder() / "gangway").string(), "run", job_file.string()};
  words.insert(words.end(), keys.begin(), keys.end());
  words.insert(
      words.end(),
      {"--outdir", (folder / "runs").string(), "--run", kReplayRun, "--replay", end.path.string(),
       "--resume", stretch.from == 0 ? "never" : recorded.at(stretch.from).path.string()});
  if (options.workers > 0) {
    words.insert(words.end(), {"-n", std::to_string(options.workers)});
  }
  if (!options.hostfile.empty()) {
    words.insert(words.end(), {"--hostfile", fs::absolute(options.hostfile).string()});
  }
  // Told to end, it saves: only then it takes its snapshots out of the host's memory.
  const ChildOutput output = output_of_child(words);
  if (output.code != 0) {
    std::string why = "it said nothing";
    std::istringstream lines(output.text);
    for (std::string line; std::getline(lines, line);) {
      why = line.starts_with("gangway: ") ? line.substr(9) : why;
    }
    throw Error(static_cast<ExitCode>(output.code),
                fmt::format("steps {} to {} could not be trained again: {}", stretch.from,
                            stretch.to, why));
  }
  const std::optional<MeasuredRun> run = left_by_run(folder / "runs", kReplayRun);
  if (!run) {
    throw EnvironmentError(
        fmt::format("the replay left nothing in {}: is it shared by all hosts?", folder.string()));
  }
  return checkpoint::find_checkpoint(run->directory / kCheckpointsFolder, stretch.to).path;
}

/// Of the arithmetic, where it is known and another one.
std::string other_arithmetic(const checkpoint::Manifest& recorded,
                             const checkpoint::Manifest& replayed) {
  const auto of = [](const checkpoint::Manifest& manifest) {
    const auto found = manifest.software.find("arithmetic");
    return found == manifest.software.end() ? std::string() : found->second;
  };
  return of(recorded).empty() || of(recorded) == of(replayed)
             ? std::string()
             : "note   the recorded state was made by processors or libraries of another "
               "arithmetic: equal bits were not promised (docs/numerics.md)\n";
}

std::string job_change(const Recorded& recorded, const Stretch& stretch) {
  if (stretch.from == 0 || recorded.at(stretch.from).manifest->job_fingerprint ==
                               recorded.at(stretch.to).manifest->job_fingerprint) {
    return {};
  }
  return fmt::format(
      "note   the job changed between steps {} and {}: where it did so at a checkpoint that has "
      "been removed since, no replay can follow\n",
      stretch.from, stretch.to);
}

/// A line, and more where they differ.
bool is_same(const Recorded& recorded, const Stretch& stretch, const fs::path& replayed,
             double took) {
  const CheckpointEntry& end = recorded.at(stretch.to);
  const std::string before = checkpoint::digest(end.path);
  const std::string now = checkpoint::digest(replayed);
  if (before == now) {
    std::cout << fmt::format("steps {} to {}: the same, {}, trained again in {:.1f} s",
                             stretch.from, stretch.to, now, took)
              << std::endl;
    return true;
  }
  const CheckpointEntry found = checkpoint::find_checkpoint(replayed.parent_path(), stretch.to);
  std::cout << fmt::format("steps {} to {}: DIFFERENT, recorded {}, trained again {}\n",
                           stretch.from, stretch.to, before, now)
            << checkpoint::differences_text(checkpoint::compare_checkpoints(end.path, replayed))
            << other_arithmetic(*end.manifest, *found.manifest) << job_change(recorded, stretch);
  for (const std::string& note : checkpoint::digest_notes(*end.manifest)) {
    std::cout << "note   " << note << '\n';
  }
  std::cout << std::flush;
  return false;
}

}  // namespace

int replay(const ReplayOptions& options, const Environment& environment) {
  const Recorded recorded = recorded_run(options);
  const std::vector<Stretch> stretches = chosen_stretches(recorded, options);
  const EndRequests requests;
  for (const Stretch& stretch : stretches) {
    // Other hosts see the runs, not this host's temporary files.
    const TemporaryFolder folder(options.hostfile.empty() ? fs::temp_directory_path()
                                                          : recorded.run.parent_path());
    const auto begin = std::chrono::steady_clock::now();
    const fs::path replayed = train_again(recorded, stretch, folder.path(), options, environment);
    const double took = seconds(std::chrono::steady_clock::now() - begin);
    const bool same = is_same(recorded, stretch, replayed, took);
    EndRequests::heed();
    if (!same) {
      std::cerr
          << fmt::format(
                 "gangway: step {} of {} is not what its job makes of step {}: take the state "
                 "of step {} for the last good one, and look for bad memory or another build",
                 stretch.to, recorded.run.string(), stretch.from, stretch.from)
          << std::endl;
      return static_cast<int>(ExitCode::kInternal);
    }
  }
  const std::string which =
      options.audit == 0
          ? fmt::format("steps {} to {}", stretches.front().from, stretches.back().to)
          : fmt::format("{} stretches drawn with --seed {}", stretches.size(), options.seed);
  std::cout << fmt::format("proven: {} of {}, {} checkpoint{}\n", which, recorded.run.string(),
                           stretches.size(), stretches.size() == 1 ? "" : "s")
            << std::flush;
  return static_cast<int>(ExitCode::kDone);
}

}  // namespace gangway::launch
