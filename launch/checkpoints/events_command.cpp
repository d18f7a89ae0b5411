// SPDX-License-Identifier: MIT
#include "launch/checkpoints/events_command.hpp"

#include <filesystem>
#include <iostream>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/errors.hpp"
#include "launch/checkpoints/run_lookup.hpp"
#include "report/table.hpp"
#include "run/decision_file.hpp"

namespace gangway::launch {
namespace {

struct EventsOptions {
  std::string reference;
  std::filesystem::path outdir = "runs";
};

std::string settings_text(const Decision& decision) {
  std::string text;
  if (decision.change.lr_factor != 1.0) {
    text = fmt::format("lr x {}", decision.change.lr_factor);
  }
  if (decision.change.reseed > 0) {
    text += fmt::format("{}retry {}'s seed", text.empty() ? "" : ", ", decision.change.reseed);
  }
  return text.empty() ? "-" : text;
}

int list_events(const EventsOptions& options) {
  const RunReference reference = parse_run_reference(options.reference);
  if (reference.step) {
    throw ConfigError(
        fmt::format("events are a run's, not a checkpoint's: leave @{} out", *reference.step));
  }
  const auto decisions = read_decisions(find_run_directory(reference, options.outdir));
  if (!decisions || decisions->empty()) {
    std::cout << "nothing was decided in this run" << std::endl;
    return 0;
  }
  report::Table table({{.title = "from step", .align = Align::kRight},
                       {.title = "event"},
                       {.title = "settings"},
                       {.title = "seen after", .align = Align::kRight},
                       {.title = "why"}});
  for (const Decision& decision : *decisions) {
    table.add_row({std::to_string(decision.change.step), std::string(name_of(decision.kind)),
                   settings_text(decision), std::to_string(decision.seen), decision.why});
  }
  std::cout << table.text() << std::flush;
  return 0;
}

}  // namespace

void add_events_command(CLI::App& app, CommandLine& line) {
  const auto options = std::make_shared<EventsOptions>();
  CLI::App* command = app.add_subcommand(
      "events", "What was decided while a run was trained: rollbacks, lower rates, its early end");
  command->add_option("run", options->reference, "Directory or name of a run")
      ->required()
      ->type_name("RUN");
  command->add_option("--outdir", options->outdir, "Folder of the runs")->capture_default_str();
  command->footer("Example:\n  gangway events fashion-mnist\nThey lie in RUN/decisions.jsonl.");
  command->callback(
      [options, &line] { line.action = [options] { return list_events(*options); }; });
}

}  // namespace gangway::launch
