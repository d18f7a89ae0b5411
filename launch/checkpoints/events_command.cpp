// SPDX-License-Identifier: MIT
#include "launch/checkpoints/events_command.hpp"

#include <ctime>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/chrono.h>
#include <fmt/format.h>

#include "base/errors.hpp"
#include "launch/checkpoints/run_lookup.hpp"
#include "report/table.hpp"
#include "run/control/steering_file.hpp"
#include "run/decision_file.hpp"
#include "run/restart_file.hpp"

namespace gangway::launch {
namespace {

struct EventsOptions {
  std::string reference;
  std::filesystem::path outdir = "runs";
};

std::string local_time(double unix_seconds) {
  return fmt::format("{:%Y-%m-%d %H:%M:%S}",
                     fmt::localtime(static_cast<std::time_t>(unix_seconds)));
}

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

void show_decisions(const Decisions& decisions) {
  report::Table table({{.title = "from step", .align = Align::kRight},
                       {.title = "event"},
                       {.title = "settings"},
                       {.title = "seen after", .align = Align::kRight},
                       {.title = "why"}});
  for (const Decision& decision : decisions) {
    table.add_row({std::to_string(decision.change.step), std::string(name_of(decision.kind)),
                   settings_text(decision), std::to_string(decision.seen), decision.why});
  }
  std::cout << table.text() << std::flush;
}

void show_steering(const SteeringEvents& events) {
  report::Table table({{.title = "after step", .align = Align::kRight},
                       {.title = "asked"},
                       {.title = "command"},
                       {.title = "who"},
                       {.title = "answer"}});
  for (const SteeringEvent& event : events) {
    table.add_row({std::to_string(event.step), local_time(event.unix_seconds), event.command,
                   event.who, event.answer});
  }
  std::cout << table.text() << std::flush;
}

void show_restarts(const Restarts& restarts) {
  report::Table table({{.title = "when"},
                       {.title = "start", .align = Align::kRight},
                       {.title = "begun at", .align = Align::kRight},
                       {.title = "ran", .align = Align::kRight},
                       {.title = "lost"},
                       {.title = "answer"}});
  for (const Restart& restart : restarts) {
    table.add_row({local_time(restart.unix_seconds), std::to_string(restart.start),
                   restart.begun ? std::to_string(*restart.begun) : "-",
                   fmt::format("{:.1f} s", restart.ran_seconds), restart.why, restart.answer});
  }
  std::cout << table.text() << std::flush;
}

int list_events(const EventsOptions& options) {
  const RunReference reference = parse_run_reference(options.reference);
  if (reference.step) {
    throw ConfigError(
        fmt::format("events are a run's, not a checkpoint's: leave @{} out", *reference.step));
  }
  const std::filesystem::path run = find_run_directory(reference, options.outdir);
  const auto decisions = read_decisions(run);
  const SteeringEvents steering = read_steering(run);
  if (decisions && !decisions->empty()) {
    show_decisions(*decisions);
  } else {
    std::cout << "nothing was decided in this run" << std::endl;
  }
  if (const Restarts restarts = read_restarts(run); !restarts.empty()) {
    std::cout << "\nlost processes and hosts:\n";
    show_restarts(restarts);
  }
  if (!steering.empty()) {
    std::cout << "\nasked for, or done by gangway itself:\n";
    show_steering(steering);
  }
  return 0;
}

}  // namespace

void add_events_command(CLI::App& app, CommandLine& line) {
  const auto options = std::make_shared<EventsOptions>();
  CLI::App* command = app.add_subcommand(
      "events",
      "What was decided while a run was trained (rollbacks, lower rates, its early end), what it "
      "lost and how it went on, and what people asked of it");
  command->add_option("run", options->reference, "Directory or name of a run")
      ->required()
      ->type_name("RUN");
  command->add_option("--outdir", options->outdir, "Folder of the runs")->capture_default_str();
  command->footer(
      "Example:\n  gangway events fashion-mnist\nThey lie in RUN/decisions.jsonl, "
      "RUN/restarts.jsonl and RUN/steering.jsonl.");
  command->callback(
      [options, &line] { line.action = [options] { return list_events(*options); }; });
}

}  // namespace gangway::launch
