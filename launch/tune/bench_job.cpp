// SPDX-License-Identifier: MIT
#include "launch/tune/bench_job.hpp"

#include <algorithm>
#include <ctime>
#include <functional>
#include <iostream>
#include <map>
#include <sstream>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/atomic_file.hpp"
#include "base/errors.hpp"
#include "base/processor.hpp"
#include "base/system/usable_cores.hpp"
#include "base/this_host.hpp"
#include "bench/command/bench_recovery.hpp"
#include "launch/process/child.hpp"
#include "launch/process/end_requests.hpp"
#include "launch/process/measuring_progress.hpp"
#include "launch/process/quiet_machine.hpp"
#include "launch/process/temporary_folder.hpp"
#include "launch/process/terminal_width.hpp"
#include "launch/run/job_hosts.hpp"
#include "launch/tune/bench_page.hpp"
#include "launch/tune/trial_bench.hpp"
#include "report/advice/step_facts.hpp"

namespace gangway::launch {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// Of what a time limit leaves, what trainings may take: the rest is for the recovery and
/// for what comes behind this job.
constexpr double kForTrainings = 0.5;
/// At the pace of one worker: longer runs would tell no more.
constexpr double kMostSecondsOfRun = 20.0;
/// In a start of a run that is killed once, each start anew counted.
constexpr int kStepsOfRecovery = 60;

/// @pre one at least
double median_of(std::vector<double> seconds) {
  std::ranges::sort(seconds);
  const std::size_t middle = seconds.size() / 2;
  return seconds.size() % 2 == 1 ? seconds[middle] : (seconds[middle - 1] + seconds[middle]) / 2.0;
}

class JobBench {
 public:
  JobBench(const BenchJobOptions& options, const Environment& environment, const fs::path& folder)
      : options_(options),
        folder_(folder),
        bench_({.job = options.job,
                .typed = options.overrides,
                .folder = folder / "runs",
                .environment = environment,
                .keeps_runs = options.is_scored}),
        job_(bench_.job_of({})) {
    std::vector<int> workers = options.workers;
    if (workers.empty()) {
      const int cores = usable_cores();
      workers = {1, default_workers(job_, cores)};
      workers.erase(std::ranges::unique(workers).begin(), workers.end());
    }
    for (const int count : workers) {
      if (count > job_.training.microbatches && !job_.layout.places_networks()) {
        throw ConfigError(fmt::format(
            "--workers {}: training.microbatches {} cannot be shared by so many; use fewer, or "
            "more micro-batches",
            count, job_.training.microbatches));
      }
      trials_.push_back(
          {.name = fmt::format("{} worker{}", count, count == 1 ? "" : "s"), .workers = count});
    }
  }

  [[nodiscard]] json report() {
    train();
    json rows = json::array();
    for (const Trial& trial : trials_) {
      if (trial.runs.empty()) {
        continue;
      }
      rows.push_back(row_of(trial));
      rows.back()["efficiency"] = rows.back()["images_per_second"].get<double>() *
                                  rows[0]["workers"].get<int>() /
                                  (rows[0]["images_per_second"].get<double>() * trial.workers);
    }
    json all = {{"job", options_.job.filename().string()},
                {"overrides", options_.overrides},
                {"host", host_name()},
                {"processor", this_processor().model},
                {"date", fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr)))},
                {"steps", steps_},
                {"rounds", rounds_},
                {"runs", num_runs()},
                {"digest", bench_.digest()},
                {"rows", rows},
                {"score", options_.is_scored ? score() : json()}};
    all["recovery"] = recovery();
    if (options_.limit != nullptr) {
      all["unequal_digests"] = unequal_digests_;
      all["failures"] = failures();
    }
    return all;
  }

 private:
  [[nodiscard]] int num_runs() const {
    std::size_t runs = 0;
    for (const Trial& trial : trials_) {
      runs += trial.runs.size();
    }
    return static_cast<int>(runs);
  }

  void train() {
    if (options_.limit != nullptr) {
      guarded([&] { train_within(*options_.limit); });
      return;
    }
    MeasuringProgress progress(std::cout, terminal_width(),
                               static_cast<double>(trials_.size()) * options_.rounds);
    for (rounds_ = 0; rounds_ < options_.rounds; ++rounds_) {
      for (Trial& trial : trials_) {
        const std::string what =
            fmt::format("round {} of {}, {}", rounds_ + 1, options_.rounds, trial.name);
        progress.advance(0.0, what);
        bench_.run_steps(trial, steps_);
        progress.advance(1.0, what);
      }
    }
    progress.finish();
  }

  /// A first run tells how long the others may be.
  void train_within(const TimeLimit& limit) {
    const double budget = kForTrainings * limit.seconds_left();
    MeasuringProgress progress(std::cout, terminal_width(), 1.0);
    Trial& first = trials_.front();
    progress.advance(0.0, "a first run, " + first.name);
    const double begin = limit.seconds_taken();
    bench_.begin(first);
    const double taken = limit.seconds_taken() - begin;
    step_seconds_ = first.seconds();
    start_seconds_ =
        std::max(0.0, taken - step_seconds_ * static_cast<double>(first.runs.back().steps));
    first.runs.clear();
    const auto runs = static_cast<double>(trials_.size()) * options_.rounds;
    const double each =
        std::clamp((budget - taken) / runs - start_seconds_, 0.0, kMostSecondsOfRun);
    double longest = 0.0;
    for (int round = 0; round < options_.rounds; ++round) {
      for (Trial& trial : trials_) {
        if (round > 0 && limit.seconds_taken() - begin + longest > budget) {
          return;
        }
        progress.advance_to(
            (limit.seconds_taken() - begin) / budget,
            fmt::format("round {} of {}, {}", round + 1, options_.rounds, trial.name));
        if (trial.failure.empty()) {
          const double before = limit.seconds_taken();
          bench_.run(trial, each);
          longest = std::max(longest, limit.seconds_taken() - before);
          steps_ = trial.runs.empty() ? steps_ : trial.runs.back().steps;
        }
      }
      rounds_ = round + 1;
    }
  }

  /// Under a limit, what does not come off is one thing less that was measured.
  void guarded(const std::function<void()>& measure) {
    try {
      measure();
    } catch (const SignalledError&) {
      if (!options_.limit->is_over()) {
        throw;
      }
      failures_.emplace_back("the time was over before all was measured: give it more --minutes");
    } catch (const Error& error) {
      failures_.push_back(reason_in(error.what()));
      if (error.code() == ExitCode::kInternal) {
        unequal_digests_ = failures_.back();
      }
    }
  }

  [[nodiscard]] std::vector<std::string> failures() const {
    std::vector<std::string> all = failures_;
    for (const Trial& trial : trials_) {
      if (!trial.failure.empty()) {
        all.push_back(trial.name + ": " + trial.failure);
      }
    }
    return all;
  }

  [[nodiscard]] json row_of(const Trial& trial) const {
    std::vector<double> seconds;
    for (const TrialRun& run : trial.runs) {
      seconds.push_back(run.seconds);
    }
    const auto images = static_cast<double>(job_.images_per_step());
    const double step = median_of(seconds);
    const TrialRun& last = trial.runs.back();
    double all = 0.0;
    for (const auto& [name, of_part] : last.parts) {
      all += of_part;
    }
    json parts;
    for (const auto& [name, of_part] : last.parts) {
      parts[name] = of_part / all;
    }
    const std::map<std::string, std::string> no_keys;
    const report::StepFacts facts({{"parts", last.parts}}, no_keys);
    const auto number = [&](const char* name) {
      const auto found = last.numbers.find(name);
      return found == last.numbers.end() ? 0.0 : found->second;
    };
    json row{{"workers", trial.workers},
             {"images_per_second", images / step},
             {"images_per_second_least", images / *std::ranges::max_element(seconds)},
             {"milliseconds_per_image", 1e3 * step / images},
             {"step_milliseconds", 1e3 * step},
             {"computing", facts.computing()},
             {"core_percent", number("core_percent")},
             {"sent_mib_per_second", number("sent_mib_per_step") / step},
             {"resident_gib", number("resident_gib")},
             {"parts", parts},
             {"round_seconds", seconds}};
    if (job_.numerics.device == DeviceKind::kCuda) {
      row["device_gib"] = number("peak_gib");
    }
    return row;
  }

  /// What `gangway evaluate` says of the last run; nothing where its job cannot be scored.
  [[nodiscard]] json score() const {
    std::cout << "measures the score" << std::endl;
    const ChildOutput output =
        output_of_child({(program_folder() / "gangway").string(), "evaluate",
                         bench_.last_run().string(), "--json", "--samples", "1000"},
                        ToldToEnd::kAtOnce);
    std::istringstream lines(output.text);
    for (std::string line; std::getline(lines, line);) {
      json found = json::parse(line, nullptr, false);
      if (found.is_object()) {
        found.erase("run");
        return found;
      }
    }
    std::cout << "note: no score: " << last_line(output.text) << std::endl;
    return {};
  }

  [[nodiscard]] json recovery() {
    if (options_.losses == 0) {
      return {};
    }
    if (options_.limit == nullptr) {
      return measured_recovery();
    }
    json found;
    // Two starts, and what a run saves at its end.
    const double needed = 3.0 * start_seconds_ + kStepsOfRecovery * step_seconds_;
    if (failures_.empty() && options_.limit->seconds_left() > needed) {
      guarded([&] { found = measured_recovery(); });
    }
    return found;
  }

  [[nodiscard]] json measured_recovery() const {
    const int workers = std::max(2, trials_.back().workers);
    std::cout << fmt::format("measures recovery with {} workers", workers) << std::endl;
    std::vector<std::string> overrides = options_.overrides;
    overrides.insert(
        overrides.end(),
        {"layout.restarts=auto", "training.kimg=1000000", "checkpoint.every_kimg=0",
         "output.pictures_kimg=0",
         fmt::format("output.tick_kimg={}", static_cast<double>(job_.images_per_step()) / 1000.0)});
    const std::vector<bench::Recovery> all = bench::measured_recoveries({.job = options_.job,
                                                                         .overrides = overrides,
                                                                         .workers = workers,
                                                                         .kinds = {"worker"},
                                                                         .losses = options_.losses},
                                                                        folder_ / "runs");
    std::vector<double> seconds;
    for (const bench::Recovery& one : all) {
      seconds.push_back(one.before_replay());
    }
    if (seconds.empty()) {
      return {};
    }
    return {{"workers", workers},
            {"losses", seconds.size()},
            {"median_seconds", median_of(seconds)},
            {"longest_seconds", *std::ranges::max_element(seconds)}};
  }

  static std::string last_line(const std::string& text) {
    const std::size_t end = text.find_last_not_of('\n');
    const std::string said = text.substr(0, end == std::string::npos ? 0 : end + 1);
    return said.substr(said.rfind('\n') + 1);
  }

  const BenchJobOptions& options_;
  fs::path folder_;
  TrialBench bench_;
  JobSpec job_;
  std::vector<Trial> trials_;
  std::int64_t steps_ = options_.steps;
  int rounds_ = 0;              // done
  double step_seconds_ = 0.0;   // under a limit, of the first row
  double start_seconds_ = 0.0;  // the same: what a run takes besides its steps
  json unequal_digests_;        // what is to be said of them; null: they are equal
  std::vector<std::string> failures_;
};

}  // namespace

json measured_job(const BenchJobOptions& options, const Environment& environment,
                  const fs::path& folder) {
  return JobBench(options, environment, folder).report();
}

void write_report(const std::string& output, const json& report, const std::string& page) {
  write_file_atomically(output + ".json", report.dump(2) + "\n");
  write_file_atomically(output + ".html", page);
}

int bench_job(const BenchJobOptions& options, const Environment& environment) {
  require_programs(DeviceKind::kCpu);
  const EndRequests requests;
  const TemporaryFolder folder;
  JobBench bench(options, environment, folder.path());
  require_quiet_machine(options.anyway);
  const json report = bench.report();
  const std::string output =
      options.output.empty() ? options.job.stem().string() + ".bench" : options.output.string();
  write_report(output, report, bench_page(report));
  std::cout << '\n'
            << bench_text(report) << fmt::format("{0}.json, {0}.html\n", output) << std::flush;
  return static_cast<int>(ExitCode::kDone);
}

}  // namespace gangway::launch
