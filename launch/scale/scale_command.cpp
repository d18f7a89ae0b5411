// SPDX-License-Identifier: MIT
#include "launch/scale/scale_command.hpp"

#include <memory>

#include <CLI/CLI.hpp>

#include "launch/process/positive_number.hpp"
#include "launch/scale/scale.hpp"

namespace gangway::launch {

void add_scale_command(CLI::App& app, CommandLine& line) {
  const auto options = std::make_shared<ScaleOptions>();
  CLI::App* command = app.add_subcommand(
      "scale", "Measure how a job scales, beside what was predicted and what is possible");
  command->add_option("job", options->job, "Job file")->required()->type_name("JOB.yaml");
  command->add_option("overrides", options->overrides, "Keys of the job, as training.batch=64")
      ->type_name("key=value");
  command->add_option("--workers", options->workers, "Numbers of workers, as 1,2,4")
      ->delimiter(',')
      ->capture_default_str();
  CLI::Option* strong = command->add_flag_callback(
      "--strong", [options] { options->kinds = {ScalingKind::kStrong}; },
      "The same job for all, alone");
  command
      ->add_flag_callback(
          "--weak", [options] { options->kinds = {ScalingKind::kWeak}; },
          "As many micro-batches more as workers, alone")
      ->excludes(strong);
  command->add_option("--profile", options->profile,
                      "For the prediction; default: JOB.profile.json here, if it is there");
  command->add_option("-o,--output", options->picture,
                      "PNG file for images/s by workers, of the first table; default: none");
  command->add_option("--outdir", options->outdir,
                      "Folder that keeps the runs; default: none does");
  command->add_option("--rounds", options->rounds, "Rounds in which each row has its turn")
      ->capture_default_str()
      ->check(kPositiveNumber);
  command->add_option("--steps", options->steps, "Steps of a run")
      ->capture_default_str()
      ->check(CLI::Range(12, 1'000'000));
  command->add_flag("--anyway", options->anyway, "Measure on a machine that does other work, too");
  command->footer(
      "Examples:\n"
      "  gangway scale examples/fashion-mnist.yaml --workers 1,2 -o scaling.png\n"
      "  gangway scale examples/fashion-mnist.yaml --workers 1,2 --weak\n"
      "docs/planning.md says how to read what it prints.");
  command->callback([options, &line] {
    line.action = [options, &line] { return scale(*options, line.environment); };
  });
}

}  // namespace gangway::launch
