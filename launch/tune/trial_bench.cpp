// SPDX-License-Identifier: MIT
#include "launch/tune/trial_bench.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "checkpoint/store/scan.hpp"
#include "checkpoint/tools/digest.hpp"
#include "job/file/parse.hpp"
#include "launch/data/followed_data.hpp"
#include "launch/mpirun/measured_run.hpp"
#include "launch/process/child.hpp"
#include "launch/process/end_requests.hpp"
#include "run/run_files.hpp"

namespace gangway::launch {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kLeastSteps = 12;
constexpr std::int64_t kTicks = 12;

}  // namespace

std::string reason_in(const std::string& words) {
  const std::size_t begin = words.rfind("gangway: ");
  const std::string line = begin == std::string::npos ? words : words.substr(begin + 9);
  return line.substr(0, line.find('\n'));
}

JobSpec TrialBench::job_of(const Trial& trial) const {
  std::vector<std::string> overrides = setup_.typed;
  overrides.insert(overrides.end(), trial.keys.begin(), trial.keys.end());
  return load_job(with_data({.file = setup_.job,
                             .text = std::nullopt,
                             .overrides = std::move(overrides),
                             .environment = gangway_variables(setup_.environment)}))
      .spec;
}

std::vector<std::string> TrialBench::command(const Trial& trial, std::int64_t steps) const {
  std::vector<std::string> words{(program_folder() / "gangway").string(), "run",
                                 setup_.job.string()};
  words.insert(words.end(), setup_.typed.begin(), setup_.typed.end());
  words.insert(words.end(), trial.keys.begin(), trial.keys.end());
  const double kimg = images_per_step_ / 1000.0;
  const std::int64_t tick = std::max<std::int64_t>(1, steps / kTicks);
  words.insert(words.end(),
               {fmt::format("training.kimg={}", kimg * static_cast<double>(steps)),
                fmt::format("output.tick_kimg={}", kimg * static_cast<double>(tick)),
                "output.http=off", "output.control=off", "--outdir", setup_.folder.string(),
                "--run", fmt::format("trial{}", num_runs_), "--progress", "lines"});
  if (!setup_.hostfile.empty()) {
    words.insert(words.end(), {"--hostfile", setup_.hostfile.string()});
  }
  if (trial.workers > 0) {
    words.insert(words.end(), {"--workers", std::to_string(trial.workers)});
  }
  return words;
}

void TrialBench::compare_digests(const Trial& trial, std::int64_t steps, const fs::path& folder) {
  const std::vector<checkpoint::CheckpointEntry> found = checkpoint::list_checkpoints(folder);
  if (found.empty() || !found.front().manifest) {
    throw EnvironmentError(fmt::format("{}: a trial left no checkpoint there", trial.name));
  }
  digest_ = checkpoint::digest(found.front().path);
  if (trial.changes_numbers) {
    return;
  }
  const auto [known, is_first] = digests_.emplace(steps, digest_);
  if (!is_first && known->second != digest_ &&
      checkpoint::digest_notes(*found.front().manifest).empty()) {
    throw Error(ExitCode::kInternal,
                fmt::format("after {} steps '{}' has the digest {}, and other ways to run this job "
                            "have {}: that must never be; 'gangway doctor' looks at the machine",
                            steps, trial.name, digest_, known->second));
  }
}

void TrialBench::run_steps(Trial& trial, std::int64_t steps) {
  EndRequests::heed();
  const std::vector<std::string> words = command(trial, steps);
  const std::string name = fmt::format("trial{}", num_runs_++);
  const MeasuredRun run = measured_run(words, setup_.folder, name);
  compare_digests(trial, steps, run.directory / kCheckpointsFolder);
  trial.runs.push_back(trial_run(run.stats, steps));
  last_run_ = run.directory;
  if (!setup_.keeps_runs) {
    std::error_code ignored;
    fs::remove_all(run.directory, ignored);
  }
}

void TrialBench::begin(Trial& typed) {
  run_steps(typed, 2 * kLeastSteps);
  step_seconds_ = typed.seconds();
}

void TrialBench::run(Trial& trial, double seconds) {
  const auto steps =
      std::max(kLeastSteps, static_cast<std::int64_t>(seconds / step_seconds_) / kTicks * kTicks);
  try {
    if (trial.fills_cache && trial.runs.empty()) {
      run_steps(trial, steps);  // whose pictures the next one finds
      trial.runs.clear();
    }
    run_steps(trial, steps);
  } catch (const SignalledError&) {
    throw;
  } catch (const Error& error) {
    if (error.code() == ExitCode::kInternal) {
      throw;
    }
    trial.failure = reason_in(error.what());
  }
}

}  // namespace gangway::launch
