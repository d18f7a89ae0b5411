// SPDX-License-Identifier: MIT
#include "bench/command/bench_recovery.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <functional>
#include <iostream>
#include <random>
#include <stop_token>
#include <thread>

#include <fmt/format.h>

#include "base/atomic_file.hpp"
#include "base/errors.hpp"
#include "base/text/aligned_text.hpp"
#include "base/time.hpp"
#include "bench/command/bench_checkpoint.hpp"
#include "bench/command/checkpoint_figures.hpp"
#include "launch/process/child.hpp"
#include "launch/process/environment.hpp"
#include "launch/process/quiet_machine.hpp"
#include "launch/process/temporary_folder.hpp"
#include "report/table.hpp"
#include "run/run_directory.hpp"

namespace gangway::bench {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr int kPreempted = static_cast<int>(ExitCode::kPreempted);
/// Steps from a recovery to the next loss, at least: snapshots are taken, so that it counts as
/// progress.
constexpr int kLeastSteps = 12;
constexpr int kMoreSteps = 8;

class RecoveryBench {
 public:
  RecoveryBench(const RecoveryOptions& options, fs::path outdir)
      : options_(options), outdir_(std::move(outdir)), chance_(options.seed) {}

  /// Of a job that only is disturbed.
  [[nodiscard]] std::vector<Recovery> recoveries() {
    with_run("disturbed", [this](RecoveryWatch& watch) { disturb(watch); });
    return recoveries_;
  }

  void run() {
    const bool has_goodput = options_.every_seconds > 0.0;
    const double before = has_goodput ? undisturbed("before") : 0.0;
    with_run("disturbed", [this](RecoveryWatch& watch) { disturb(watch); });
    const double after = has_goodput ? undisturbed("after") : 0.0;
    print();
    if (has_goodput) {
      std::cout << fmt::format(
          "goodput: {:.3f} new steps a second beside {:.3f} and {:.3f} undisturbed: {:.1f} %\n",
          rate_, before, after, 200.0 * rate_ / (before + after));
    }
  }

 private:
  /// The user's job, or one of `megabytes`.
  [[nodiscard]] fs::path job() const {
    if (!options_.job.empty()) {
      return options_.job;
    }
    const BenchModel model = bench_model(options_.megabytes);
    const int microbatches = std::max(2, options_.workers);
    const int batch = std::max(model.batch / microbatches, 1) * microbatches;
    const fs::path job = outdir_ / "recovery.yaml";
    write_file_atomically(job,
                          fmt::format("model: {{family: mlp, width: {}, latent: 100}}\n"
                                      "data: {{source: 'toy:ring8'}}\n"
                                      "training: {{batch: {}, microbatches: {}, kimg: 1000000}}\n"
                                      "checkpoint: {{every_kimg: 0, keep: 1}}\n"
                                      "output: {{pictures_kimg: 0, tick_kimg: {}}}\n",
                                      model.width, batch, microbatches, batch / 1000.0));
    return job;
  }

  [[nodiscard]] std::vector<std::string> command(const std::string& name) const {
    std::vector<std::string> words{(launch::program_folder() / "gangway").string(), "run",
                                   job().string()};
    words.insert(words.end(), options_.overrides.begin(), options_.overrides.end());
    for (const std::string& more :
         {std::string("--outdir"), outdir_.string(), std::string("--run"), name, std::string("-n"),
          std::to_string(options_.workers), std::string("--progress"), std::string("lines")}) {
      words.push_back(more);
    }
    if (!options_.hostfile.empty()) {
      words.insert(words.end(), {"--hostfile", options_.hostfile.string()});
    }
    return words;
  }

  /// A run as long as `act` takes, which then saves and leaves.
  void with_run(const std::string& name, const std::function<void(RecoveryWatch&)>& act) {
    // Its stop is the run's end, by a signal and a throw, too.
    std::jthread actor([&](const std::stop_token& ended) {
      std::optional<fs::path> run;
      while (!(run = find_run(outdir_, name)) && !ended.stop_requested()) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
      if (run) {
        RecoveryWatch watch(*run, ended);
        act(watch);
        const auto coordinator = watch.process_of("coordinator", 0);
        if (coordinator && !ended.stop_requested()) {  // else the number may be another's by now
          ::kill(*coordinator, SIGUSR1);
        }
      }
    });
    const launch::ChildOutput output = launch::output_of_child(command(name));
    actor.request_stop();
    actor.join();
    if (output.code != kPreempted) {
      constexpr std::size_t kLastWords = 3000;
      throw EnvironmentError(fmt::format(
          "a run that was to go on by itself ended with code {}:\n{}", output.code,
          output.text.substr(output.text.size() - std::min(output.text.size(), kLastWords))));
    }
  }

  void disturb(RecoveryWatch& watch) {
    if (!watch.wait_for_steps(kLeastSteps)) {
      return;
    }
    const auto begin = Clock::now();
    const std::int64_t first = watch.step();
    for (int loss = 0; loss < options_.losses; ++loss) {
      std::uniform_int_distribution<int> rank(1, options_.workers);
      std::uniform_int_distribution<int> more(0, kMoreSteps);
      const std::string& kind =
          options_.kinds[static_cast<std::size_t>(loss) % options_.kinds.size()];
      if (!watch.wait_for_steps(kLeastSteps + more(chance_))) {
        return;
      }
      while (seconds(Clock::now() - begin) < options_.every_seconds * (loss + 1)) {
        if (!watch.wait_for_steps(1)) {
          return;
        }
      }
      const auto recovery = watch.kill_and_watch(kind, rank(chance_));
      if (!recovery) {
        return;
      }
      recoveries_.push_back(*recovery);
      std::cout << fmt::format("loss {} of {}: {}, {:.2f} s and {:.2f} s for {} steps again",
                               loss + 1, options_.losses, kind, recovery->before_replay(),
                               recovery->replay, recovery->redone)
                << std::endl;
    }
    while (seconds(Clock::now() - begin) < options_.every_seconds * (options_.losses + 1)) {
      if (!watch.wait_for_steps(1)) {
        return;
      }
    }
    rate_ = static_cast<double>(watch.step() - first) / seconds(Clock::now() - begin);
  }

  /// Steps a second.
  [[nodiscard]] double undisturbed(const std::string& name) {
    double rate = 0.0;
    with_run(name, [&](RecoveryWatch& watch) {
      if (!watch.wait_for_steps(kLeastSteps)) {
        return;
      }
      const auto begin = Clock::now();
      const std::int64_t first = watch.step();
      while (seconds(Clock::now() - begin) < options_.every_seconds && watch.wait_for_steps(1)) {
      }
      rate = static_cast<double>(watch.step() - first) / seconds(Clock::now() - begin);
    });
    return rate;
  }

  void print() const {
    report::Table table({{.title = "killed"},
                         {.title = "losses", .align = Align::kRight},
                         {.title = "detect, fence", .align = Align::kRight},
                         {.title = "start", .align = Align::kRight},
                         {.title = "restore", .align = Align::kRight},
                         {.title = "first step", .align = Align::kRight},
                         {.title = "before replay", .align = Align::kRight},
                         {.title = "p99", .align = Align::kRight},
                         {.title = "replay", .align = Align::kRight},
                         {.title = "steps again", .align = Align::kRight}});
    for (const std::string& kind : options_.kinds) {
      std::vector<Recovery> own;
      std::ranges::copy_if(recoveries_, std::back_inserter(own),
                           [&](const Recovery& one) { return one.kind == kind; });
      if (own.empty()) {
        continue;
      }
      const auto at = [&](double p, const auto& figure) {
        std::vector<double> values;
        for (const Recovery& one : own) {
          values.push_back(static_cast<double>(std::invoke(figure, one)));
        }
        return fmt::format("{:.2f}", percentile(std::move(values), p));
      };
      table.add_row({kind, std::to_string(own.size()), at(50, &Recovery::fence),
                     at(50, &Recovery::start), at(50, &Recovery::restore),
                     at(50, &Recovery::first_step), at(50, &Recovery::before_replay),
                     at(99, &Recovery::before_replay), at(50, &Recovery::replay),
                     at(50, &Recovery::redone)});
    }
    std::cout << "\nseconds, medians but for p99:\n" << table.text() << std::flush;
  }

  const RecoveryOptions& options_;
  fs::path outdir_;
  std::mt19937 chance_;
  std::vector<Recovery> recoveries_;
  double rate_ = 0.0;  ///< new steps a second of the disturbed run
};

}  // namespace

std::vector<Recovery> measured_recoveries(const RecoveryOptions& options, const fs::path& outdir) {
  return RecoveryBench(options, outdir).recoveries();
}

int bench_recovery(const RecoveryOptions& options) {
  launch::require_programs(DeviceKind::kCpu);
  const launch::BenchFolder folder(options.outdir);
  launch::require_quiet_machine(options.anyway);
  RecoveryBench(options, folder.path()).run();
  launch::require_quiet_machine(/*anyway=*/true);
  return 0;
}

}  // namespace gangway::bench
