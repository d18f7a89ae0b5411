// SPDX-License-Identifier: MIT
#include "launch/checkpoints/digest_command.hpp"

#include <filesystem>
#include <iostream>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "checkpoint/store/scan.hpp"
#include "checkpoint/tools/digest.hpp"
#include "checkpoint/tools/report.hpp"
#include "launch/checkpoints/run_lookup.hpp"

namespace gangway::launch {
namespace {

struct DigestOptions {
  std::string reference;
  std::filesystem::path outdir = "runs";
};

int digest(const DigestOptions& options) {
  const RunReference reference = parse_run_reference(options.reference);
  const auto run = find_run_directory(reference, options.outdir);
  const auto folder = checkpoint::checkpoints_folder(run);
  std::cout << checkpoint::read_chosen(
                   [&] { return checkpoint::find_checkpoint(folder, reference.step).path; },
                   checkpoint::digest)
            << std::endl;
  return 0;
}

}  // namespace

void add_digest_command(CLI::App& app, CommandLine& line) {
  const auto options = std::make_shared<DigestOptions>();
  CLI::App* command = app.add_subcommand(
      "digest", "Hash of a trained state: equal for equal jobs, whatever the layout");
  command
      ->add_option("run", options->reference,
                   "Directory or name of a run; with @STEP one of its checkpoints")
      ->required()
      ->type_name("RUN[@STEP]");
  command->add_option("--outdir", options->outdir, "Folder of the runs")->capture_default_str();
  command->footer(
      "Examples:\n  gangway digest fashion-mnist\n  gangway digest "
      "runs/00000-fashion-mnist@1563");
  command->callback([options, &line] { line.action = [options] { return digest(*options); }; });
}

}  // namespace gangway::launch
