// SPDX-License-Identifier: MIT
#include "launch/report/report_command.hpp"

#include <filesystem>
#include <iostream>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/atomic_file.hpp"
#include "base/errors.hpp"
#include "launch/checkpoints/run_lookup.hpp"
#include "report/page/static_page.hpp"
#include "report/run_view/report_document.hpp"

namespace gangway::launch {
namespace {

struct ReportOptions {
  std::string reference;
  std::filesystem::path outdir = "runs";
  std::filesystem::path output;
};

int write_report(const ReportOptions& options) {
  const RunReference reference = parse_run_reference(options.reference);
  if (reference.step) {
    throw ConfigError(
        fmt::format("a report is of a run, not of a checkpoint: leave @{} out", *reference.step));
  }
  const std::filesystem::path run = find_run_directory(reference, options.outdir);
  const nlohmann::ordered_json document = report::report_document(run);
  const std::filesystem::path output =
      options.output.empty() ? run / "report.html" : options.output;
  const std::string text =
      document.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  write_file_atomically(output, report::static_page(text, run.filename().string() + " · Gangway"));
  std::cout << output.string() << std::endl;
  if (const auto left_out = document["pictures_left_out"].get<std::size_t>(); left_out > 0) {
    std::cout << fmt::format("{} of {} pictures are in it, evenly spaced\n",
                             document["pictures"].size(), document["pictures"].size() + left_out);
  }
  return 0;
}

}  // namespace

void add_report_command(CLI::App& app, CommandLine& line) {
  const auto options = std::make_shared<ReportOptions>();
  CLI::App* command =
      app.add_subcommand("report", "Write a run's page as one HTML file, for any browser");
  command->add_option("run", options->reference, "Directory or name of a run")
      ->required()
      ->type_name("RUN");
  command->add_option("-o,--output", options->output, "File to write [RUN/report.html]")
      ->type_name("FILE");
  command->add_option("--outdir", options->outdir, "Folder of the runs")->capture_default_str();
  command->footer(
      "Example:\n  gangway report fashion-mnist --output clothes.html\n"
      "It needs no server, and nothing of it is fetched from elsewhere.");
  command->callback(
      [options, &line] { line.action = [options] { return write_report(*options); }; });
}

}  // namespace gangway::launch
