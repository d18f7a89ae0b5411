// SPDX-License-Identifier: MIT
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/errors.hpp"
#include "checkpoint/store/scan.hpp"
#include "checkpoint/tools/digest.hpp"
#include "checkpoint/tools/report.hpp"
#include "launch/checkpoints/run_lookup.hpp"
#include "launch/process/command_list.hpp"

namespace gangway::launch {
namespace {

struct DigestOptions {
  std::string reference;
  std::filesystem::path outdir = "runs";
};

/// Requires a sound newest checkpoint: an older digest is not the run's. @throws CheckpointError
void require_whole_newest(const std::filesystem::path& folder, const RunReference& reference) {
  const auto entries = checkpoint::list_checkpoints(folder);
  const auto* const whole = checkpoint::newest_complete(entries);
  if (!reference.step && whole != nullptr && whole != &entries.front()) {
    throw CheckpointError(fmt::format("{}: {}; {}@{} is the newest that is whole",
                                      entries.front().path.string(), entries.front().damage,
                                      reference.run, whole->step));
  }
}

int digest(const DigestOptions& options) {
  const RunReference reference = parse_run_reference(options.reference);
  const auto run = find_run_directory(reference, options.outdir);
  const auto folder = checkpoint::checkpoints_folder(run);
  require_whole_newest(folder, reference);
  std::vector<std::string> notes;
  const auto choose = [&] {
    const checkpoint::CheckpointEntry chosen = checkpoint::find_checkpoint(folder, reference.step);
    notes =
        chosen.manifest ? checkpoint::digest_notes(*chosen.manifest) : std::vector<std::string>();
    return chosen.path;
  };
  std::cout << checkpoint::read_chosen(choose, checkpoint::digest) << std::endl;
  for (const std::string& note : notes) {  // to standard error: scripts read only the digest
    std::cerr << "note   " << note << std::endl;
  }
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
