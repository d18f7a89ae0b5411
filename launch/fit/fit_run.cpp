// SPDX-License-Identifier: MIT
#include "launch/fit/fit_run.hpp"

#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>
#include <numeric>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/atomic_file.hpp"
#include "base/errors.hpp"
#include "base/rank.hpp"
#include "base/units.hpp"
#include "job/estimate/memory_ladder.hpp"
#include "job/file/parse.hpp"
#include "job/schema/key.hpp"
#include "launch/mpirun/mpirun_command.hpp"
#include "launch/process/child.hpp"
#include "launch/process/environment.hpp"
#include "launch/process/temporary_folder.hpp"
#include "run/json_members.hpp"

namespace gangway::launch {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// The first of these steps runs all lazy regularisers. The second ends with a checkpoint, which is
/// written during the later steps.
constexpr int kSteps = 5;
constexpr int kSaved = 2;

/// Returns a number for each worker; `otherwise` if the tick has none by rank (many workers).
std::vector<double> by_rank(const json& tick, const char* name, int workers, double otherwise) {
  if (tick.contains("memory_by_rank") && tick["memory_by_rank"].contains(name)) {
    return tick["memory_by_rank"][name].get<std::vector<double>>();
  }
  return std::vector<double>(static_cast<std::size_t>(workers), otherwise);
}

/// Returns GiB up to the peaks: the sum of the workers, or the largest if the limit is a GPU's.
double to_come(const json& tick, const std::vector<double>& peaks, DeviceKind device) {
  const bool is_of_gpu = tick.value("memory_limit", "") == "GPU";
  if (device == DeviceKind::kCuda && !is_of_gpu) {
    return 0.0;  // the limit is the host's, the peaks are of GPUs
  }
  const char* const name = is_of_gpu ? "reserved_gib" : "resident_gib";
  const auto workers = static_cast<int>(peaks.size());
  const std::vector<double> now = by_rank(tick, name, workers, number_in(tick, name) / workers);
  double sum = 0.0;
  double most = 0.0;
  for (std::size_t i = 0; i < peaks.size(); ++i) {
    const double more = std::max(0.0, peaks[i] - now.at(i));
    sum += more;
    most = std::max(most, more);
  }
  return is_of_gpu ? most : sum;  // each worker has its own GPU
}

/// Returns the command that runs the steps of fit_job below `folder`, without this environment's
/// overrides, which the job includes.
std::vector<std::string> command_of_run(const FittingJob& trial, const fs::path& folder,
                                        const Environment& environment) {
  write_file_atomically(folder / "job.yaml", to_yaml(fit_job(trial.job)));
  std::vector<std::string> words{"env"};
  for (const Key& key : key_table(*trial.job.training.recipe)) {
    const std::string variable = environment_name(key.path);
    if (!key.is_variant && environment.contains(variable)) {
      words.insert(words.end(), {"-u", variable});
    }
  }
  // Scores would take memory and time, and a restart would measure twice.
  words.insert(words.end(),
               {(program_folder() / "gangway").string(), "run", (folder / "job.yaml").string(),
                "--outdir", (folder / "runs").string(), "--run", "fit", "--progress", "lines",
                "--workers", std::to_string(trial.workers), "checkpoint.keep_best=0",
                "evaluation.every_kimg=0", "layout.balance=off", "layout.restarts=0"});
  return words;
}

/// Runs the command to its end. @return its stats.jsonl
/// @throws EnvironmentError with the command and its last output if it failed
std::string stats_of_run(const std::vector<std::string>& words, const fs::path& runs) {
  constexpr std::size_t kLastCharacters = 2000;
  const ChildOutput output = output_of_child(words, SignalCount::kAtOnce);
  if (output.code != 0) {
    const std::size_t begin = output.text.size() - std::min(output.text.size(), kLastCharacters);
    throw EnvironmentError(
        fmt::format("'{}' failed: {}", shell_line(words), output.text.substr(begin)));
  }
  std::stringstream text;
  for (const auto& run : fs::directory_iterator(runs)) {
    text << std::ifstream(run.path() / "stats.jsonl").rdbuf();
  }
  return text.str();
}

std::string remedy(const JobSpec& job, int workers) {
  const std::vector<std::string> inexact = inexact_rungs(job);
  return fmt::format(
      "no bit changes with {}{} (docs/memory.md)",
      next_exact_rung(job, resolve_layout(job, workers)),
      inexact.empty() ? "" : fmt::format("; numbers do with {}", fmt::join(inexact, ", or ")));
}

}  // namespace

JobSpec fit_job(const JobSpec& job) {
  const double kimg_of_step = static_cast<double>(job.images_per_step()) / 1000.0;
  JobSpec fit = job;
  // Half a step less: rounding up gives kSteps steps, despite the rounding of kimg_of_step.
  fit.training.kimg = kimg_of_step * (kSteps - 0.5);
  // Fades the finest resolution in all the time: two resolutions are then computed.
  constexpr int kLeastResolution = 4;
  fit.training.growth = {.from = std::max(kLeastResolution, job.model.resolution / 2),
                         .kimg = 0.0,
                         .fade_kimg = 2.0 * kimg_of_step * kSteps};
  fit.training.plateau = {};
  fit.output.tick_kimg = kimg_of_step;
  fit.output.pictures_kimg = job.output.pictures_kimg > 0.0 ? kimg_of_step : 0.0;
  fit.output.histograms_kimg = job.output.histograms_kimg > 0.0 ? kimg_of_step : 0.0;
  fit.layout.check_steps = job.layout.check_steps > 0 ? 1 : 0;
  fit.checkpoint = {};
  fit.checkpoint.every_kimg = 0.0;
  fit.checkpoint.every_steps = kSaved;
  fit.checkpoint.snapshot_steps = job.checkpoint.snapshot_steps != 0 ? 1 : 0;
  return fit;
}

bool Fit::fits() const { return limit_gib <= 0.0 || most_used_gib <= kMostOfMemory * limit_gib; }

Fit fit_of(std::string_view stats, int workers, DeviceKind device) {
  Fit fit;
  std::istringstream lines{std::string(stats)};
  for (std::string line; std::getline(lines, line);) {
    const json tick = json::parse(line, nullptr, false);
    if (!tick.is_object() || !tick.contains("peak_gib")) {
      continue;
    }
    fit.peak_gib = by_rank(tick, "peak_gib", workers, number_in(tick, "peak_gib"));
    fit.most_used_gib = std::max(fit.most_used_gib, number_in(tick, "memory_used_gib") +
                                                        to_come(tick, fit.peak_gib, device));
    fit.limit_gib = number_in(tick, "memory_limit_gib");
    fit.limit = tick.value("memory_limit", "");
  }
  if (fit.peak_gib.empty() || *std::ranges::max_element(fit.peak_gib) <= 0.0) {
    throw EnvironmentError("the steps have reported no memory use: is /proc readable?");
  }
  return fit;
}

std::string fit_text(const Fit& fit, const JobSpec& job, std::int64_t expected_bytes) {
  const auto workers = static_cast<int>(fit.peak_gib.size());
  const double estimate = static_cast<double>(expected_bytes) / kMebibyte;
  std::string text = fmt::format("  {:>4}  {:>10}  {:>10}\n", "rank", "peak", "estimate");
  for (WorkerIndex worker; worker.place() < fit.peak_gib.size(); ++worker) {
    text += fmt::format("  {:>4}  {:>6.0f} MiB  {:>6.0f} MiB\n", rank_of(worker),
                        fit.peak_gib[worker.place()] * kGibibyte / kMebibyte, estimate);
  }
  if (fit.limit_gib <= 0.0) {
    return text + "no limit is known\n";
  }
  const std::string used = fmt::format("{:.2f} of {:.2f} GiB of the {} in use at the most",
                                       fit.most_used_gib, fit.limit_gib, fit.limit);
  return text + (fit.fits() ? fmt::format("fits: {}\n", used)
                            : fmt::format("does not fit: {}, and a tenth must stay free: {}\n",
                                          used, remedy(job, workers)));
}

std::int64_t fitting_estimate(const Fit& fit, std::int64_t estimate) {
  const bool is_of_gpu = fit.limit == "GPU";  // each worker has its own
  const double own = is_of_gpu ? std::ranges::max(fit.peak_gib)
                               : std::accumulate(fit.peak_gib.begin(), fit.peak_gib.end(), 0.0);
  const double others = std::max(0.0, fit.most_used_gib - own);
  const double share = (kMostOfMemory * fit.limit_gib - others) / own;
  return static_cast<std::int64_t>(std::max(0.0, share) * static_cast<double>(estimate));
}

int fit_run(const JobSpec& asked, int workers, const FitQuestion& question,
            const Environment& environment) {
  require_programs(asked.numerics.device);
  const EndRequests requests;
  FitLimits limits = question.limits(workers);
  FittingJob trial{.job = asked, .workers = workers};
  for (;;) {
    const TemporaryFolder folder;
    std::cout << fmt::format("{}: {} steps in {}\n", question.job_file.string(), kSteps,
                             folder.path().string())
              << std::flush;
    const std::string stats =
        stats_of_run(command_of_run(trial, folder.path(), environment), folder.path() / "runs");
    const Fit fit = fit_of(stats, trial.workers, trial.job.numerics.device);
    const std::int64_t expected =
        expected_memory(trial.job, question.job_file, trial.workers).bytes;
    std::cout << fit_text(fit, trial.job, expected) << std::flush;
    if (fit.fits()) {
      std::vector<std::string> changes = question.changes;
      std::ranges::move(changed_keys(asked, trial.job), std::back_inserter(changes));
      if (!changes.empty()) {
        std::cout << fmt::format("gangway run {} {} -n {}\n", question.job_file.string(),
                                 fmt::join(changes, " "), trial.workers)
                  << std::flush;
      }
      return static_cast<int>(ExitCode::kDone);
    }
    limits.memory.bytes =
        fitting_estimate(fit, needed_bytes(trial.job, trial.workers, limits.memory));
    auto found = find_fitting(asked, workers, limits);
    if (!found) {
      return static_cast<int>(ExitCode::kEnvironment);
    }
    std::cout << told_changes(asked, *found) << std::endl;
    trial = *std::move(found);
  }
}

}  // namespace gangway::launch
