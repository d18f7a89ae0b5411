// SPDX-License-Identifier: MIT
#include "launch/report/export_command.hpp"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "base/errors.hpp"
#include "launch/checkpoints/run_lookup.hpp"
#include "launch/process/environment.hpp"

namespace gangway::launch {
namespace {

struct ExportMetricsOptions {
  std::string reference;
  std::filesystem::path outdir = "runs";
  std::string to;
  std::string project = "gangway";
  bool once = false;
};

/// Becomes the script, by the Python that is first on the path: that of the user's environment.
int export_metrics(const ExportMetricsOptions& options) {
  const RunReference reference = parse_run_reference(options.reference);
  if (reference.step) {
    throw ConfigError(
        fmt::format("metrics are of a run, not of a checkpoint: leave @{} out", *reference.step));
  }
  std::vector<std::string> words{"python3",
                                 (share_folder() / "export_metrics.py").string(),
                                 find_run_directory(reference, options.outdir).string(),
                                 "--to",
                                 options.to,
                                 "--project",
                                 options.project};
  if (options.once) {
    words.emplace_back("--once");
  }
  std::vector<char*> arguments;
  for (std::string& word : words) {
    arguments.push_back(word.data());
  }
  arguments.push_back(nullptr);
  ::execvp(arguments.front(), arguments.data());
  throw EnvironmentError("python3 cannot be started: install it, or put it on the PATH");
}

}  // namespace

void add_export_command(CLI::App& app, CommandLine& line) {
  const auto options = std::make_shared<ExportMetricsOptions>();
  CLI::App* command = app.add_subcommand(
      "export-metrics", "Hand a run's metrics to Weights & Biases or MLflow, as they come");
  command->add_option("run", options->reference, "Directory or name of a run")
      ->required()
      ->type_name("RUN");
  command->add_option("--to", options->to, "wandb or mlflow")
      ->required()
      ->check(CLI::IsMember({"wandb", "mlflow"}));
  command->add_option("--project", options->project, "Project of W&B, experiment of MLflow")
      ->capture_default_str();
  command->add_flag("--once", options->once, "Send what is there, and leave");
  command->add_option("--outdir", options->outdir, "Folder of the runs")->capture_default_str();
  command->footer(
      "Example:\n  gangway export-metrics fashion-mnist --to wandb\n"
      "It follows the run to its end, needs the tracker's own package for python3, and sends "
      "nothing twice. docs/export-metrics.md says more.");
  command->callback(
      [options, &line] { line.action = [options] { return export_metrics(*options); }; });
}

}  // namespace gangway::launch
