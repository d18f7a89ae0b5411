// SPDX-License-Identifier: MIT
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/errors.hpp"
#include "launch/checkpoints/run_lookup.hpp"
#include "launch/process/command_list.hpp"
#include "report/advice/advice.hpp"
#include "report/run_view/run_records.hpp"

namespace gangway::launch {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct AdviseOptions {
  std::string reference;
  fs::path outdir = "runs";
  bool as_json = false;
};

report::AdviceTracker book_of(const fs::path& run) {
  report::AdviceTracker book(report::advice_keys(run));
  std::ifstream stats(run / "stats.jsonl");
  int num_ticks = 0;
  for (std::string line; std::getline(stats, line);) {
    const json tick = json::parse(line, nullptr, false);  // the last line may be incomplete
    if (tick.is_object() && tick.contains("parts")) {
      (void)book.add(tick);
      ++num_ticks;
    }
  }
  constexpr int kLeast = 3;
  if (num_ticks < kLeast) {
    throw ConfigError(
        fmt::format("{}: advice needs {} ticks with the times of a step's parts, and there are {}: "
                    "wait for more, or set a smaller output.tick_kimg",
                    run.string(), kLeast, num_ticks));
  }
  return book;
}

void print_json(const report::AdviceTracker& book) {
  json list = json::array();
  for (const report::Advice& advice : book.current()) {
    list.push_back(report::json_of(advice));
  }
  std::cout << json{{"computing", book.computing()}, {"advice", list}}.dump(2) << std::endl;
}

int advise(const AdviseOptions& options) {
  const RunReference reference = parse_run_reference(options.reference);
  if (reference.step) {
    throw ConfigError(
        fmt::format("advice is for a run, not for a checkpoint: leave @{} out", *reference.step));
  }
  const report::AdviceTracker book = book_of(find_run_directory(reference, options.outdir));
  if (options.as_json) {
    print_json(book);
    return 0;
  }
  const std::vector<report::Advice> all = book.current();
  if (all.empty()) {
    std::cout << fmt::format("nothing found: compute takes {:.0f}% of a step and limits it\n",
                             100.0 * book.computing());
  }
  for (const report::Advice& advice : all) {
    std::cout << report::advice_line(advice) << '\n';
  }
  std::cout << std::flush;
  return 0;
}

}  // namespace

void add_advise_command(CLI::App& app, CommandLine& line) {
  const auto options = std::make_shared<AdviseOptions>();
  CLI::App* command =
      app.add_subcommand("advise", "Say what would make a run faster, judged by its last ticks");
  command->add_option("run", options->reference, "Directory or name of a run")
      ->required()
      ->type_name("RUN");
  command->add_option("--outdir", options->outdir, "Folder of the runs")->capture_default_str();
  command->add_flag("--json", options->as_json, "The advice as JSON");
  command->footer("docs/tuning.md has the rules.\nExample:\n  gangway advise first");
  command->callback([options, &line] { line.action = [options] { return advise(*options); }; });
}

}  // namespace gangway::launch
