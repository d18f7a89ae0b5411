// SPDX-License-Identifier: MIT
#include "launch/tune/tune.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <fstream>
#include <iostream>
#include <limits>
#include <optional>
#include <ranges>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/atomic_file.hpp"
#include "base/errors.hpp"
#include "base/system/usable_cores.hpp"
#include "base/text/shell_word.hpp"
#include "job/file/parse.hpp"
#include "launch/data/followed_data.hpp"
#include "launch/mpirun/mpirun_command.hpp"
#include "launch/process/child.hpp"
#include "launch/process/end_requests.hpp"
#include "launch/process/measuring_progress.hpp"
#include "launch/process/quiet_machine.hpp"
#include "launch/process/temporary_folder.hpp"
#include "launch/process/terminal_width.hpp"
#include "launch/run/job_hosts.hpp"
#include "launch/tune/candidates.hpp"
#include "launch/tune/edited_job.hpp"
#include "launch/tune/trial_bench.hpp"
#include "plan/ranking/make_plan.hpp"

namespace gangway::launch {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLayouts = 8;
/// Of the plan: it knows the cores of hosts, and not how many slots of them are this user's.
constexpr std::size_t kRows = 64;

class Tuner {
 public:
  Tuner(const TuneOptions& options, const Environment& environment, const fs::path& folder)
      : options_(options),
        environment_(environment),
        folder_(folder),
        bench_({.job = options.job,
                .typed = options.overrides,
                .folder = folder / "runs",
                .environment = environment,
                .hostfile = options.hostfile}),
        typed_{.name = "as typed", .workers = options.workers, .keys = {}} {
    const JobSpec job = bench_.job_of(typed_);
    if (job.layout.plan.empty()) {
      typed_.workers = choose_hosts(options.hostfile, options.workers, job, environment).workers;
    }
  }

  int run() {
    const auto begin = std::chrono::steady_clock::now();
    bench_.begin(typed_);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    // A trial trains at least half as many steps as this first run.
    const double trained = typed_.seconds() * static_cast<double>(typed_.runs.back().steps);
    std::cout << fmt::format("as typed: {:.1f} images/s with {}\n", rate(typed_.seconds()),
                             workers_text(typed_.workers))
              << length_text(kLayouts, keys_of(typed_).size(),
                             std::max(0.0, took.count() - trained),
                             std::max(options_.seconds, trained / 2.0))
              << std::flush;
    // Layouts are equal while all workers wait for data: mend the data first.
    Trial best = waits_most_for_data(typed_) ? with_keys(typed_) : typed_;
    best = with_keys(fastest("layouts", layouts(best)));
    if (options_.new_job) {
      const int most = options_.workers > 0 ? options_.workers : num_devices();
      best = fastest("other numbers",
                     and_joined(best, number_trials(bench_.job_of(best), best, most)));
    }
    const bool is_better = !best.keys.empty() || best.workers != typed_.workers;
    const Speedup speedup = is_better ? proved(best) : Speedup{};
    const bool is_taken = is_better && speedup.least > kWorthIt;
    if (is_taken) {
      std::cout << '\n' << parts_table(typed_, best);
      write_job(best, speedup);
    } else {
      std::cout << (is_better ? fmt::format("left alone: '{}' is {} times as fast, {:.3f} at the "
                                            "least (95 %), where {} is asked for\n",
                                            best.name, three_digits(speedup.gain), speedup.least,
                                            kWorthIt)
                              : fmt::format("left alone: nothing of {} tried is faster\n",
                                            tried_.size()));
    }
    write_record(best, speedup, is_taken);
    return static_cast<int>(ExitCode::kDone);
  }

  /// Prints the best trial so far, when a signal stops the search.
  void tell_so_far() const {
    std::cout << so_far_text(tried_, typed_, bench_.images_per_step()) << std::flush;
  }

 private:
  static std::string three_digits(double value) { return fmt::format("{:.3f}", value); }
  static std::string workers_text(int workers) {
    return workers == 0 ? "the workers of its plan"
                        : fmt::format("{} worker{}", workers, workers == 1 ? "" : "s");
  }
  [[nodiscard]] int num_devices() const {
    return bench_.job_of(typed_).numerics.device == DeviceKind::kCuda ? std::max(1, num_gpus())
                                                                      : usable_cores();
  }
  [[nodiscard]] double rate(double step_seconds) const {
    return bench_.images_per_step() / step_seconds;
  }
  [[nodiscard]] fs::path output() const {
    return options_.output.empty() ? fs::path(options_.job).replace_extension("tuned.yaml")
                                   : options_.output;
  }

  [[nodiscard]] std::vector<Trial> keys_of(const Trial& best) const {
    return key_trials(bench_.job_of(best), best, usable_cores());
  }
  [[nodiscard]] Trial with_keys(const Trial& best) {
    return fastest("keys", and_joined(best, keys_of(best)));
  }

  /// Measured for this, unless there is one that fits. @throws EnvironmentError where none can be
  [[nodiscard]] fs::path profile(const JobSpec& job) const {
    const fs::path usual =
        options_.profile.empty() ? plan::default_profile_file(options_.job) : options_.profile;
    if (!options_.profile.empty() || fs::exists(usual)) {
      const plan::Profile found = plan::read_profile(usual);
      plan::require_fitting(found, usual.string(), job);
      if (options_.hostfile.empty() || found.links) {
        return usual;
      }
    }
    std::cout << "profile: none of this job is here; measuring one\n" << std::flush;
    const fs::path made = folder_ / "profile.json";
    std::vector<std::string> words{(program_folder() / "gangway").string(), "profile",
                                   options_.job.string()};
    words.insert(words.end(), options_.overrides.begin(), options_.overrides.end());
    words.insert(words.end(), {"-o", made.string(), "--seconds",
                               fmt::format("{}", 5.0 * options_.seconds), "--anyway"});
    if (!options_.hostfile.empty()) {
      words.insert(words.end(), {"--hostfile", options_.hostfile.string()});
    }
    const ChildOutput output = output_of_child(words, ToldToEnd::kAtOnce);
    if (output.code != 0) {
      throw EnvironmentError(output.text);
    }
    return made;
  }

  /// `best`, and with its keys what a plan ranks first; where there can be no plan, other overlaps,
  /// and a note says why.
  [[nodiscard]] std::vector<Trial> layouts(const Trial& best) const {
    const JobSpec job = bench_.job_of(typed_);
    std::vector<Trial> trials;
    try {
      const fs::path file = profile(job);
      plan::Profile read = plan::read_profile(file);
      plan::Cluster hosts =
          options_.hostfile.empty() ? plan::profiled_host(read) : plan::profiled_hosts(read);
      const plan::Planner planner(job, std::move(read), file.string(), std::move(hosts));
      const plan::PlanInput input = planner.input();
      const plan::Search search = search_layouts(
          input, {.rows = kRows, .workers = options_.workers, .shapes = plan::Shapes::kAll});
      const int slots = options_.hostfile.empty() ? std::numeric_limits<int>::max()
                                                  : count_slots(read_hostfile(options_.hostfile));
      trials = layout_trials(search, input, typed_, slots, kLayouts);
      for (Trial& trial : trials) {
        trial = best.keys.empty() ? std::move(trial) : joined(best, trial);
      }
    } catch (const SignalledError&) {
      throw;
    } catch (const Error& error) {
      std::cout << "note: no plan, whose layouts would be tried: " << reason_in(error.what())
                << std::endl;
      trials = overlap_trials(job, best);
    }
    trials.insert(trials.begin(), best);
    return trials;
  }

  /// `best`, the fastest of `more`, each with one change, and those together that are faster.
  [[nodiscard]] std::vector<Trial> and_joined(const Trial& best, std::vector<Trial> more) {
    if (more.empty()) {
      return {best};
    }
    more.insert(more.begin(), best);
    more.front().runs.clear();  // which were beside others
    measure("one change each", more);
    return finalists(best.name, more);
  }

  /// There and back, so that what changes on the machine meanwhile meets all alike; the fastest
  /// first. Those that cannot be run are told, and left out.
  void measure(const std::string& what, std::vector<Trial>& trials) {
    MeasuringProgress progress(std::cout, terminal_width(),
                               2.0 * static_cast<double>(trials.size()));
    const auto run = [&](Trial& trial) {
      progress.advance(0.0, fmt::format("{}, {:g} s each: {}", what, options_.seconds, trial.name));
      if (trial.failure.empty()) {
        bench_.run(trial, options_.seconds);
        remember({trial});
      }
      progress.advance(1.0, what);
    };
    std::ranges::for_each(trials, run);
    std::ranges::for_each(trials | std::views::reverse, run);
    progress.finish();
    remember(trials);
    std::erase_if(trials, [](const Trial& trial) {
      if (!trial.failure.empty()) {
        std::cout << fmt::format("         -           {}: {}\n", trial.name, trial.failure);
      }
      return !trial.failure.empty();
    });
    if (trials.empty()) {
      throw EnvironmentError("no trial could be run, the job as it was typed included");
    }
    std::ranges::stable_sort(trials, {}, &Trial::seconds);
    for (const Trial& trial : trials) {
      std::cout << fmt::format("  {:8.1f} images/s  {}\n", rate(trial.seconds()), trial.name);
    }
    std::cout << std::flush;
  }

  /// Successive halving (Karnin, Koren, Somekh, 2013): the faster half runs again, and is judged by
  /// all its runs. The simplest that may be as fast stays.
  [[nodiscard]] Trial fastest(const std::string& what, std::vector<Trial> trials) {
    if (trials.size() == 1) {
      return trials.front();
    }
    // Of trials that have run in turns those runs are the first round.
    const bool have_run = std::ranges::all_of(
        trials, [](const Trial& trial) { return trial.runs.size() == kRunsOfRound; });
    for (Trial& trial : trials) {
      trial.runs.resize(have_run ? kRunsOfRound : 0);
    }
    for (int round = have_run ? 1 : 0; round < kRounds && trials.size() > 1; ++round) {
      measure(fmt::format("{}, round {}", what, round + 1), trials);
      const Trial simplest = simplest_of_fastest(trials);
      if (round + 1 < kRounds && trials.size() > 2) {
        trials.resize((trials.size() + 1) / 2);
      }
      if (std::ranges::find(trials, simplest.name, &Trial::name) == trials.end()) {
        trials.push_back(simplest);
      }
    }
    return simplest_of_fastest(trials);
  }

  /// For the record, in the place of what is known of them.
  void remember(const std::vector<Trial>& trials) {
    for (const Trial& trial : trials) {
      std::erase_if(tried_, [&](const Trial& known) { return known.name == trial.name; });
      tried_.push_back(trial);
    }
  }

  /// Both in turns, as ABBA, so that what changes on the machine meanwhile meets both alike.
  [[nodiscard]] Speedup proved(Trial& best) {
    const double seconds = 2.0 * options_.seconds;
    std::array<double, kProofRounds> before{};
    std::array<double, kProofRounds> after{};
    MeasuringProgress progress(std::cout, terminal_width(), 4.0 * kProofRounds);
    for (std::size_t round = 0; round < kProofRounds; ++round) {
      for (Trial* const trial : {&typed_, &best, &best, &typed_}) {
        bench_.run(*trial, seconds);
        if (!trial->failure.empty()) {
          throw EnvironmentError(fmt::format("{}: {}", trial->name, trial->failure));
        }
        (trial == &typed_ ? before : after)[round] += trial->runs.back().seconds / 2.0;
        progress.advance(1.0, fmt::format("as typed beside '{}', round {} of {}", best.name,
                                          round + 1, kProofRounds));
      }
    }
    progress.finish();
    return speedup_of(before, after);
  }

  [[nodiscard]] std::vector<std::string> all_keys(const Trial& best) const {
    std::vector<std::string> keys = options_.overrides;
    keys.insert(keys.end(), best.keys.begin(), best.keys.end());
    return keys;
  }

  /// The job file with what was typed and found; as its author wrote it where that can be.
  [[nodiscard]] std::string tuned_text(const Trial& best) const {
    JobSpec tuned = bench_.job_of(best);
    const bool says_workers = !tuned.layout.places_networks() && best.workers > 0;
    if (says_workers) {
      tuned.layout.data = best.workers;
    }
    const auto read = [&](const std::string& text) {
      return load_job(with_data({.file = options_.job,
                                 .text = text,
                                 .overrides = {},
                                 .environment = gangway_variables(environment_),
                                 .run = fs::absolute(options_.job).parent_path()}))
          .spec;
    };
    try {
      std::ifstream file(options_.job);
      std::stringstream text;
      text << file.rdbuf();
      const std::vector<std::string> keys = changed_keys(read(text.str()), tuned);
      std::string edited = edited_job(text.str(), keys);
      if (read(edited) == tuned) {
        return edited;
      }
    } catch (const ConfigError&) {  // such as a job that is none without what was typed
    }
    return to_yaml(tuned);
  }

  void write_job(const Trial& best, const Speedup& speedup) const {
    std::vector<std::string> words = best.keys;
    std::string workers = best.workers > 0 ? fmt::format("-n {}", best.workers) : "";
    if (!options_.hostfile.empty()) {
      workers += fmt::format(" --hostfile {}", shell_word(options_.hostfile.string()));
    }
    words.insert(words.begin(), workers);
    const std::string text = fmt::format(
        "# gangway tune: {:.2f} times as fast as {} here, {:.2f} at the least (95 %).\n"
        "# {}: {}\n{}",
        speedup.gain, options_.job.filename().string(), speedup.least,
        best.changes_numbers ? "Other numbers, another digest" : "The same digest",
        fmt::join(words, " "), tuned_text(best));
    write_file_atomically(output(), text);
    std::cout << fmt::format(
        "\ntuned: {:.3f} times as fast, {:.3f} at the least (95 %); {}\n{}: {} run {} {}\n",
        speedup.gain, speedup.least,
        best.changes_numbers ? "the numbers are others: give its run another name"
                             : "the same digest, " + bench_.digest(),
        output().string(), shell_word(options_.program), shell_word(output().string()), workers);
  }

  void write_record(const Trial& best, const Speedup& speedup, bool is_taken) const {
    nlohmann::json tried = nlohmann::json::array();
    for (const Trial& trial : tried_) {
      tried.push_back(json_of(trial));
    }
    const fs::path file = fs::path(output()).replace_extension(".json");
    write_file_atomically(file, nlohmann::json{{"job", options_.job.string()},
                                               {"overrides", options_.overrides},
                                               {"images_per_step", bench_.images_per_step()},
                                               {"typed", json_of(typed_)},
                                               {"best", json_of(best)},
                                               {"gain", speedup.gain},
                                               {"least_gain", speedup.least},
                                               {"taken", is_taken},
                                               {"tried", tried}}
                                        .dump(2) +
                                    "\n");
    std::cout << fmt::format("{}: all that was tried\n", file.string()) << std::flush;
  }

  const TuneOptions& options_;
  const Environment& environment_;
  fs::path folder_;
  TrialBench bench_;
  Trial typed_;
  std::vector<Trial> tried_;
};

}  // namespace

int tune(const TuneOptions& options, const Environment& environment) {
  require_programs(DeviceKind::kCpu);
  const EndRequests requests;
  // Hosts share the job's folder, and hardly the system's for temporary files.
  const TemporaryFolder folder(options.hostfile.empty() ? fs::temp_directory_path()
                                                        : fs::absolute(options.job).parent_path());
  Tuner tuner(options, environment, folder.path());
  require_quiet_machine(options.anyway);
  try {
    return tuner.run();
  } catch (const SignalledError&) {
    tuner.tell_so_far();
    throw;
  }
}

}  // namespace gangway::launch
