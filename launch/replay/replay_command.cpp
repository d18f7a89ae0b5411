// SPDX-License-Identifier: MIT
#include "launch/replay/replay_command.hpp"

#include <memory>

#include <CLI/CLI.hpp>

#include "launch/process/positive_number.hpp"
#include "launch/replay/replay.hpp"

namespace gangway::launch {

void add_replay_command(CLI::App& app, CommandLine& line) {
  const auto options = std::make_shared<ReplayOptions>();
  CLI::App* command = app.add_subcommand(
      "replay", "Train steps of a run again, on any layout, and compare with its checkpoints");
  command->add_option("run", options->run, "Directory or name of a run")
      ->required()
      ->type_name("RUN");
  command
      ->add_option("overrides", options->overrides, "Keys that change no bit, as layout.stages=2")
      ->type_name("key=value");
  command->add_option("--from", options->from,
                      "Step of a checkpoint, or 0; default: the oldest checkpoint's");
  command->add_option("--to", options->to, "Step of a checkpoint; default: the newest one's");
  command
      ->add_option("--audit", options->audit,
                   "So many stretches between neighbouring checkpoints, drawn by chance")
      ->check(kPositiveNumber);
  command->add_option("--seed", options->seed, "Of what --audit draws")->capture_default_str();
  command
      ->add_option("-n,--workers", options->workers,
                   "Workers, each with all networks unless layout keys say otherwise; default: "
                   "the layout that the run had")
      ->check(kPositiveNumber);
  command->add_option("--hostfile", options->hostfile, "Hosts, as 'node-a slots=8', for Open MPI");
  command->add_option("--outdir", options->outdir, "Folder of the runs")->capture_default_str();
  command->footer(
      "Examples:\n"
      "  gangway replay fashion-mnist --from 1000 --to 2000 -n 1\n"
      "  gangway replay fashion-mnist --audit 2 -n 2 layout.stages=2\n"
      "Exit code 0: proven; 1: the first checkpoint that differs is named, and its tensors.");
  command->callback([options, &line] {
    line.action = [options, &line] { return replay(*options, line.environment); };
  });
}

}  // namespace gangway::launch
