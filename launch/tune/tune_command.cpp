// SPDX-License-Identifier: MIT
#include "launch/tune/tune_command.hpp"

#include <memory>

#include <CLI/CLI.hpp>

#include "launch/process/positive_number.hpp"
#include "launch/tune/tune.hpp"

namespace gangway::launch {

void add_tune_command(CLI::App& app, CommandLine& line) {
  const auto options = std::make_shared<TuneOptions>();
  CLI::App* command = app.add_subcommand(
      "tune", "Find what makes a job faster here without changing a bit, and prove it");
  command->add_option("job", options->job, "Job file")->required()->type_name("JOB.yaml");
  command->add_option("overrides", options->overrides, "Keys of the job, as training.batch=64")
      ->type_name("key=value");
  command->add_option("-n,--workers", options->workers, "With so many workers alone")
      ->check(kPositiveNumber);
  command->add_option("--profile", options->profile,
                      "For the plan; default: JOB.profile.json here, else one is measured");
  command->add_option("-o,--output", options->output,
                      "Job file to write; default: JOB.tuned.yaml beside the job");
  command->add_option("--hostfile", options->hostfile,
                      "Run all trials on these hosts, which share the job's folder");
  command->add_flag(
      "--new-job", options->new_job,
      "Try what changes the numbers as well: micro-batches, memory format, precision");
  command
      ->add_option("--seconds", options->seconds,
                   "Of each run; of those that prove what is found, twice as long")
      ->capture_default_str()
      ->check(CLI::Range(0.1, 600.0));
  command->add_flag("--anyway", options->anyway, "Measure on a machine that does other work, too");
  command->footer(
      "Examples:\n"
      "  gangway tune examples/fashion-mnist.yaml\n"
      "  gangway tune job.yaml -n 2 --new-job\n"
      "docs/tuning.md says what is tried, and when it is believed.");
  command->callback([options, &line] {
    line.action = [options, &line] {
      options->program = line.typed.front();
      return tune(*options, line.environment);
    };
  });
}

}  // namespace gangway::launch
