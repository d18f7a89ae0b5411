// SPDX-License-Identifier: MIT
#include "launch/rates/find_lr_command.hpp"

#include <memory>

#include <CLI/CLI.hpp>

#include "launch/process/positive_number.hpp"
#include "launch/rates/find_lr.hpp"

namespace gangway::launch {

void add_find_lr_command(CLI::App& app, CommandLine& line) {
  const auto options = std::make_shared<FindLrOptions>();
  CLI::App* command = app.add_subcommand(
      "find-lr", "Find a learning rate: a short training in which it rises until a loss explodes");
  command->add_option("job", options->job, "Job file")->required()->type_name("JOB.yaml");
  command->add_option("overrides", options->overrides, "Keys of the job, as training.batch=64")
      ->type_name("key=value");
  command->add_option("--network", options->network,
                      "Network whose rate rises, while the others keep theirs; default: all rise "
                      "together");
  command->add_option("--from", options->from, "Rate of the first steps")->capture_default_str();
  command->add_option("--to", options->to, "Rate of the last step")->capture_default_str();
  command->add_option("--steps", options->steps, "Steps of the test")
      ->capture_default_str()
      ->check(CLI::Range(20, 1'000'000));
  command
      ->add_option("-n,--workers", options->workers,
                   "Workers; default: as many as gangway run takes")
      ->check(kPositiveNumber);
  command->add_option("-o,--output", options->picture, "PNG file for the curves; default: none");
  command->footer(
      "Examples:\n"
      "  gangway find-lr examples/ring8.yaml\n"
      "  gangway find-lr examples/fashion-mnist.yaml --network discriminator -o lr.png\n"
      "It trains in a temporary folder and leaves nothing of that. docs/schedules.md says how to "
      "read what it prints.");
  command->callback([options, &line] {
    line.action = [options, &line] { return find_lr(*options, line.environment); };
  });
}

}  // namespace gangway::launch
