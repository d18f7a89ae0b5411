// SPDX-License-Identifier: MIT
#include "launch/run/run_commands.hpp"

#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/errors.hpp"
#include "job/file/parse.hpp"
#include "job/layout/layout.hpp"
#include "launch/fit/fit_run.hpp"
#include "launch/process/positive_number.hpp"
#include "launch/run/own_networks.hpp"
#include "launch/run/run_job.hpp"
#include "launch/run/train.hpp"
#include "plan/ranking/make_plan.hpp"

namespace gangway::launch {
namespace {

/// The coordinator reads them again.
struct TrainOptions {
  RunOptions run;
  std::string start_deadline;
  std::string device;  ///< what `gangway run` has read in the job
};

constexpr const char* kOverridesHelp =
    "Keys of the job file, as training.kimg=80; ~training.kimg or training.kimg=null: back to its "
    "default (docs/job-file.md)";

constexpr const char* kTraceHelp =
    "Steps to trace, as 100:110, or 100:110,shapes,memory,kernels: leaves trace/trace.json in the "
    "run directory (docs/tracing.md)";

void add_resume(CLI::App& command, std::string& resume) {
  command
      .add_option(
          "--resume", resume,
          "auto: go on where there is a checkpoint; never; must; or a checkpoint's or run's path")
      ->capture_default_str()
      ->take_last();
}

/// Of `layout.plan: auto`. Nullopt, and a line about why, where there is none that fits.
std::optional<std::filesystem::path> found_profile(const JobSpec& job,
                                                   const std::filesystem::path& job_file) {
  std::string why = fmt::format("there is no {}; `gangway profile {}` makes one",
                                plan::default_profile_file(job_file).string(), job_file.string());
  if (const auto file = plan::find_profile(job_file)) {
    try {
      plan::require_fitting(plan::read_profile(*file), file->string(), job);
      return file;
    } catch (const ConfigError& error) {
      why = error.what();
    }
  }
  std::cout << "plan: none, every worker has all networks: " << why << '\n';
  return std::nullopt;
}

/// With the layout that a plan ranks first by `profile`, or by that which the job names. What was
/// typed counts more.
RunOptions planned(RunOptions options, std::string profile, const Environment& environment) {
  const ResolvedJob loaded = load_job({.file = options.job_file,
                                       .text = std::nullopt,
                                       .overrides = options.overrides,
                                       .environment = gangway_variables(environment),
                                       .hosts = std::vector<std::string>()});
  const JobSpec& job = loaded.spec;
  profile = profile.empty() ? job.layout.plan : profile;
  if (profile.empty()) {
    return options;
  }
  if (!options.hostfile.empty()) {
    throw ConfigError(
        "--plan, layout.plan: a profile knows its own machine; with --hostfile type what `gangway "
        "plan --cluster` prints");
  }
  if (job.layout.places_networks() || !loaded.named_hosts.empty()) {
    throw ConfigError(
        "--plan, layout.plan: the job says itself who holds which network; leave layout.stages, "
        "layout.cuts and the workers of networks out, or the plan");
  }
  options.overrides.emplace_back("layout.plan=none");  // what follows is what it says
  const std::optional<std::filesystem::path> file =
      profile == "auto" ? found_profile(job, options.job_file) : profile;
  if (!file) {
    return options;
  }
  const int workers = options.workers > 0 ? options.workers : job.layout.data;
  const plan::Candidate first = plan::first_layout(job, *file, workers);
  std::cout << "plan: " << describe(first) << '\n';
  options.workers = first.workers;
  const std::vector<std::string> keys = changed_keys(job, with_layout(job, first));
  options.overrides.insert(options.overrides.begin(), keys.begin(), keys.end());
  return options;
}

int measured_fit(const RunOptions& options, const std::string& profile,
                 const Environment& environment) {
  if (!options.hostfile.empty()) {
    throw ConfigError(
        "--fit measures on this machine: leave --hostfile out, and give -n as many "
        "workers as one host is to have");
  }
  const RunOptions chosen = planned(options, profile, environment);
  return fit_run({.job = chosen.job_file, .overrides = chosen.overrides, .workers = chosen.workers},
                 environment);
}

}  // namespace

void add_run_command(CLI::App& app, CommandLine& line) {
  const auto options = std::make_shared<RunOptions>();
  CLI::App* run = app.add_subcommand(
      "run", "Train a job: builds the mpirun command, runs it, and reports how it ended");
  run->add_option("job", options->job_file, "Job file")->required()->type_name("JOB.yaml");
  run->add_option("overrides", options->overrides, kOverridesHelp)->type_name("key=value");
  run->add_option("-n,--workers", options->workers,
                  "Workers; default: layout.data, else as many as cores and micro-batches allow")
      ->check(kPositiveNumber);
  run->add_option("--outdir", options->outdir, "Folder of the runs")->capture_default_str();
  run->add_option("--run", options->run_name,
                  "Name of the run; given again, the run goes on. Default: the job file's name")
      ->take_last();
  add_resume(*run, options->resume);
  run->add_option("--hostfile", options->hostfile, "Hosts, as 'node-a slots=8', for Open MPI");
  run->add_option("--lifeline-port", options->lifeline_port,
                  "TCP port on which workers keep in touch, and the next one on which all ranks do "
                  "with this command; default: any free ones");
  run->add_option("--trace", options->trace, kTraceHelp)->type_name("FIRST:END");
  run->add_option("--replay", options->replay)->group("");  // `gangway replay` starts it
  run->add_option("--progress", options->progress,
                  "auto: a progress bar on a terminal only; lines; bar")
      ->capture_default_str()
      ->check(CLI::IsMember({"auto", "lines", "bar"}));
  const auto profile = std::make_shared<std::string>();
  run->add_option(
         "--plan", *profile,
         "Take the layout that `gangway plan` ranks first for this machine by this profile "
         "(docs/planning.md)")
      ->type_name("PROFILE.json");
  run->add_flag("--verbose", options->verbose, "Say mpirun's command");
  run->add_flag(
      "--dry-run", options->dry_run,
      "Open the data, print the resolved job, the placement and the memory needed, and end");
  const auto fit = std::make_shared<bool>(false);
  run->add_flag("--fit", *fit,
                "Measure in a few steps how much memory the job needs on this machine, say whether "
                "it fits, and end (docs/memory.md)");
  run->footer(
      "Examples:\n"
      "  gangway run examples/fashion-mnist.yaml\n"
      "  gangway run examples/fashion-mnist.yaml -n 2 --run first training.kimg=80\n"
      "  gangway run examples/infogan.yaml --dry-run\n"
      "The same command again goes on from the newest checkpoint.\n"
      "Exit codes: 0 done, 2 usage or job, 3 worker lost, 4 diverged, 5 checkpoint unusable, 6 "
      "environment,\n"
      "75 stopped on request and saved (SIGINT, SIGTERM, SIGUSR1), 130/143 stopped without a save. "
      "SIGUSR2 saves and goes on.");
  run->callback([options, profile, fit, &line] {
    line.action = [options, profile, fit, &line] {
      if (*fit) {
        return measured_fit(*options, *profile, line.environment);
      }
      const RunOptions followed =
          with_found_python(with_followed_data(*options, line.environment), line.environment);
      return run_job(planned(followed, *profile, line.environment), line.environment, line.typed);
    };
  });
}

void add_train_command(CLI::App& app, CommandLine& line) {
  const auto options = std::make_shared<TrainOptions>();
  CLI::App* train = app.add_subcommand(
      "train", "What every rank under mpirun or srun runs: one coordinator, the others workers");
  train->add_option("job", options->run.job_file, "Job file")->required()->type_name("JOB.yaml");
  train->add_option("overrides", options->run.overrides, kOverridesHelp)->type_name("key=value");
  train->add_option("--outdir", options->run.outdir, "Folder of the runs")->capture_default_str();
  train->add_option("--run", options->run.run_name,
                    "Name of the run. Default: the job file's name");
  add_resume(*train, options->run.resume);
  train->add_option("--lifeline-port", options->run.lifeline_port,
                    "TCP port on which workers keep in touch");
  train->add_option("--trace", options->run.trace, kTraceHelp)->type_name("FIRST:END");
  train->add_option("--start-deadline", options->start_deadline,
                    "Seconds until the last worker must be ready");
  train->add_option("--device", options->device)->group("");
  // Between `gangway run` and the coordinator.
  for (const char* name :
       {"--run-directory", "--command", "--resume-command", "--bar-columns", "--replay"}) {
    train->add_option(name)->group("");
  }
  for (const char* name : {"--goes-on", "--again"}) {
    train->add_flag(name)->group("");
  }
  train->footer(
      "Example:\n  mpirun -n 3 gangway train examples/fashion-mnist.yaml      one coordinator, two "
      "workers");
  train->callback([options, &line] {
    line.action = [options, &line]() -> int {
      gangway::launch::train(line.environment, {line.typed.begin() + 2, line.typed.end()},
                             {options->device, options->run.job_file, options->run.overrides});
    };
  });
}

}  // namespace gangway::launch
