// SPDX-License-Identifier: MIT
#include "launch/commands.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/build_id.hpp"
#include "base/errors.hpp"
#include "base/system/trusted_code.hpp"
#include "base/text/suggestion.hpp"
#include "launch/bench_commands.hpp"
#include "launch/checkpoints/checkpoint_commands.hpp"
#include "launch/checkpoints/digest_command.hpp"
#include "launch/checkpoints/events_command.hpp"
#include "launch/checkpoints/snapshot_commands.hpp"
#include "launch/data/data_commands.hpp"
#include "launch/doctor.hpp"
#include "launch/init/init_command.hpp"
#include "launch/mpirun/host_check.hpp"
#include "launch/plan_command.hpp"
#include "launch/process/command_line.hpp"
#include "launch/rates/find_lr_command.hpp"
#include "launch/replay/replay_command.hpp"
#include "launch/report/advise_command.hpp"
#include "launch/report/compare_command.hpp"
#include "launch/report/export_command.hpp"
#include "launch/report/report_command.hpp"
#include "launch/run/run_commands.hpp"
#include "launch/scale/scale_command.hpp"
#include "launch/tune/tune_command.hpp"

namespace gangway::launch {
namespace {

/// Those of gangway-model, which loads LibTorch and has its own help.
constexpr const char* kSample = "sample";
constexpr const char* kEvaluate = "evaluate";
constexpr const char* kProfile = "profile";

/// Of every command, at any place.
constexpr const char* kTrust = "--trust";

/// Those of gangway-control, which loads gRPC and has its own help.
struct ControlVerb {
  const char* name;
  const char* what;
};
constexpr std::array<ControlVerb, 10> kControlVerbs{{
    {"status", "How a running job stands"},
    {"watch", "Its ticks and events as they come"},
    {"pause", "Train no further steps until it is resumed"},
    {"resume", "Train on after a pause"},
    {"checkpoint", "Save a checkpoint now"},
    {"set", "Change a key of a running job that changes no bit"},
    {"trace", "Trace steps to come of a running job, or show the operators of what was"},
    {"drain", "Take a host out of a running job"},
    {"resize", "Go on with another number of workers"},
    {"stop", "Save, and leave"},
}};

void add_control_commands(CLI::App& app, CommandLine&) {
  for (const ControlVerb& verb : kControlVerbs) {
    app.add_subcommand(verb.name, verb.what)
        ->footer(fmt::format("gangway {} --help says more", verb.name));
  }
}

void add_model_commands(CLI::App& app, CommandLine&) {
  app.add_subcommand(kSample, "Draw pictures from a trained generator")
      ->footer("gangway sample --help says more");
  app.add_subcommand(kEvaluate, "Score a trained generator")
      ->footer("gangway evaluate --help says more");
  app.add_subcommand(kProfile, "Measure what a job costs on this machine, for plans")
      ->footer("gangway profile --help says more");
}

/// In the order of --help.
constexpr std::array kCommands{
    add_run_command,        add_train_command,  add_control_commands,    add_digest_command,
    add_events_command,     add_report_command, add_advise_command,      add_export_command,
    add_compare_command,    add_replay_command, add_checkpoint_commands, add_snapshot_commands,
    add_model_commands,     add_data_commands,  add_find_lr_command,     add_plan_command,
    add_tune_command,       add_scale_command,  add_bench_commands,      add_check_host_command,
    add_host_facts_command, add_doctor_command, add_init_command,
};

void add_commands(CLI::App& app, CommandLine& line) {
  app.require_subcommand(1);
  app.set_version_flag("--version",
                       fmt::format("gangway {} (build {})", GANGWAY_VERSION, build_id()));
  for (const AddCommand add : kCommands) {
    add(app, line);
  }
  app.footer(
      "Examples:\n"
      "  gangway run examples/fashion-mnist.yaml -n 2        train, or go on\n"
      "  gangway digest fashion-mnist                        compare two trained states\n"
      "  gangway sample fashion-mnist --seeds 0-63 -o grid.png\n"
      "Every command has --help. With --trust it runs the code that a job names (a library, "
      "TorchScript) though others can write to its files (SECURITY.md).");
}

/// CLI11 would only say that a subcommand is missing.
void require_known_command(const CLI::App& app, const std::string& name) {
  std::vector<std::string> known;
  for (const CLI::App* command : app.get_subcommands({})) {
    known.push_back(command->get_name());
  }
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    const auto nearest = nearest_word(name, known);
    throw ConfigError(fmt::format("no command '{}'{}: see 'gangway --help'", name,
                                  nearest ? fmt::format("; did you mean '{}'?", *nearest) : ""));
  }
}

}  // namespace

int run_command_line(const std::vector<std::string>& typed, Environment environment) {
  std::vector<std::string> arguments = typed;
  if (std::erase(arguments, kTrust) > 0) {  // for whatever program reads the job
    environment[kTrustVariable] = "1";
    ::setenv(kTrustVariable, "1", /*overwrite=*/1);
  }
  const std::string first = arguments.size() > 1 ? arguments[1] : std::string();
  if (first == kSample || first == kEvaluate || first == kProfile) {
    become("gangway-model", {arguments.begin() + 1, arguments.end()});
  }
  if (std::ranges::find(kControlVerbs, first, &ControlVerb::name) != kControlVerbs.end()) {
    become("gangway-control", {arguments.begin() + 1, arguments.end()});
  }
  CommandLine line{.environment = environment, .typed = typed, .action = {}};
  CLI::App app(
      "Gangway trains GANs on many workers; the job decides the numbers, the layout only the "
      "speed.",
      "gangway");
  add_commands(app, line);
  if (!first.empty() && first.front() != '-') {
    require_known_command(app, first);
  }
  std::vector<std::string> reversed(
      arguments.rbegin(), arguments.rend() - (arguments.empty() ? 0 : 1));  // as CLI11 wants it
  try {
    app.parse(reversed);
  } catch (const CLI::Success& success) {
    return app.exit(success);  // --help, --version
  } catch (const CLI::ParseError& error) {
    throw ConfigError(fmt::format(
        "{}: see 'gangway {}--help'", error.what(),
        app.get_subcommands().empty() ? "" : app.get_subcommands().front()->get_name() + " "));
  }
  return line.action();
}

}  // namespace gangway::launch
