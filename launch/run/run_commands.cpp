// SPDX-License-Identifier: MIT
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "launch/process/command_list.hpp"
#include "launch/process/positive_number.hpp"
#include "launch/run/run_job.hpp"
#include "launch/run/train.hpp"

namespace gangway::launch {
namespace {

constexpr const char* kOverridesHelp =
    "Keys of the job file, as training.kimg=80; ~training.kimg or training.kimg=null: back to its "
    "default (docs/job-file.md)";

constexpr const char* kTraceHelp =
    "Steps to trace, as 100:110, or 100:110,shapes,memory,kernels: leaves trace/trace.json in the "
    "run directory (docs/tuning.md)";

void add_resume(CLI::App& command, std::string& resume) {
  command
      .add_option(
          "--resume", resume,
          "auto: resume where there is a checkpoint; never; must; or a checkpoint's or run's path")
      ->capture_default_str()
      ->take_last();
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
  run->add_option("--run", options->run_name,
                  "Name of the run; given again, the run resumes. Default: the job file's name")
      ->take_last();
  run->add_flag(
      "--dry-run", options->dry_run,
      "Open the data, print the keys that are not at their defaults, the placement and the memory "
      "needed, and end");
  run->add_option("--outdir", options->outdir, "Folder of the runs")->capture_default_str();
  add_resume(*run, options->resume);
  run->add_option("--hostfile", options->hostfile, "Hosts, as 'node-a slots=8', for Open MPI");
  run->add_option("--lifeline-port", options->lifeline_port,
                  "TCP port for the workers' heartbeats, and the next port for those of all ranks "
                  "to this command; default: any free ports");
  run->add_option("--trace", options->trace, kTraceHelp)->type_name("FIRST:END");
  run->add_option("--replay", options->replay)->group("");  // `gangway replay` starts it
  run->add_option("--progress", options->progress,
                  "auto: a progress bar on a terminal only; lines; bar")
      ->capture_default_str()
      ->check(CLI::IsMember({"auto", "lines", "bar"}));
  run->add_option(
         "--plan", options->profile,
         "Take the layout that `gangway plan` ranks first for this machine by this profile "
         "(docs/planning.md)")
      ->type_name("PROFILE.json");
  run->add_flag("--verbose", options->verbose, "Print mpirun's command");
  run->add_flag(
      "--fit", options->fit,
      "Find activation checkpointing, stages or micro-batches with which the job fits this "
      "machine's memory, measure a few steps, and end; with --dry-run by estimates alone "
      "(docs/memory.md)");
  run->footer(
      "Examples:\n"
      "  gangway run examples/fashion-mnist.yaml\n"
      "  gangway run examples/fashion-mnist.yaml -n 2 --run first training.kimg=80\n"
      "  gangway run examples/infogan.yaml --dry-run\n"
      "The same command again resumes from the newest checkpoint.\n"
      "Exit codes: 0 done, 2 usage or job, 3 worker lost, 4 diverged, 5 checkpoint unusable, 6 "
      "environment,\n"
      "75 stopped on request and saved (SIGINT, SIGTERM, SIGUSR1), 130/143 stopped without a save. "
      "SIGUSR2 saves and continues.");
  run->callback([options, &line] {
    line.action = [options, &line] { return run_job(*options, line.environment, line.typed); };
  });
}

void add_train_command(CLI::App& app, CommandLine& line) {
  const auto options = std::make_shared<RankOptions>();
  CLI::App* train = app.add_subcommand(
      "train",
      "What every rank under mpirun or srun runs: one coordinator, the other ranks workers");
  train->add_option("job", options->asked.job_file, "Job file")->type_name("JOB.yaml");
  train->add_option("overrides", options->asked.overrides, kOverridesHelp)->type_name("key=value");
  train->add_option("--outdir", options->asked.outdir, "Folder of the runs")->capture_default_str();
  train->add_option("--run", options->asked.run_name,
                    "Name of the run. Default: the job file's name");
  add_resume(*train, options->asked.resume);
  train->add_option("--lifeline-port", options->asked.lifeline_port,
                    "TCP port for the workers' heartbeats");
  train->add_option("--trace", options->asked.trace, kTraceHelp)->type_name("FIRST:END");
  train->add_option("--start-deadline", options->asked.start_deadline,
                    "Seconds until the last worker must be ready");
  // Set by `gangway run`.
  train->add_option("--request", options->request)->group("");
  train->add_option("--device", options->device)->group("");
  train->footer(
      "Example:\n  mpirun -n 3 gangway train examples/fashion-mnist.yaml      one coordinator, two "
      "workers");
  train->callback([options, &line] {
    line.action = [options, &line]() -> int { gangway::launch::train(line.environment, *options); };
  });
}

}  // namespace gangway::launch
