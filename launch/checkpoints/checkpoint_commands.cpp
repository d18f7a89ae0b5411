// SPDX-License-Identifier: MIT
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/errors.hpp"
#include "checkpoint/format/manifest.hpp"
#include "checkpoint/format/state_index.hpp"
#include "checkpoint/format/stored_state.hpp"
#include "checkpoint/format/weights_file.hpp"
#include "checkpoint/snapshots/snapshot_files.hpp"
#include "checkpoint/snapshots/snapshot_slot.hpp"
#include "checkpoint/snapshots/snapshot_source.hpp"
#include "checkpoint/store/retention.hpp"
#include "checkpoint/store/scan.hpp"
#include "checkpoint/store/verify.hpp"
#include "checkpoint/tools/compare.hpp"
#include "checkpoint/tools/repair.hpp"
#include "checkpoint/tools/report.hpp"
#include "job/file/parse.hpp"
#include "launch/checkpoints/run_lookup.hpp"
#include "launch/process/command_list.hpp"
#include "launch/process/environment.hpp"
#include "run/run_files.hpp"
#include "run/run_start.hpp"

namespace gangway::launch {
namespace {

namespace fs = std::filesystem;

using checkpoint::CheckpointEntry;
using checkpoint::CheckpointStatus;

constexpr const char* kTorchExportSuffix = ".pt2";  // of networks in Python
constexpr const char* kOnnxSuffix = ".onnx";
constexpr const char* kPlainSuffix = ".safetensors";

/// Values of the command-line options.
struct CheckpointOptions {
  std::string reference;  ///< RUN or RUN@STEP, or a checkpoint folder
  std::string other;      ///< for diff: the other checkpoint; for scrub: repair source
  std::filesystem::path outdir = "runs";
  std::filesystem::path output;  ///< for export
  std::string network;           // empty: the network whose results are shown
  bool last = false;             ///< for export: the last weights instead of their average
  bool force = false;            ///< for rm
};

void print(const std::string& text) { std::cout << text << std::flush; }

/// A run and, if given, a step of it.
struct RunPlace {
  fs::path run;
  RunReference reference;
};

RunPlace place_of(const CheckpointOptions& options) {
  RunPlace place;
  place.reference = parse_run_reference(options.reference);
  place.run = find_run_directory(place.reference, options.outdir);
  return place;
}

/// Finds a checkpoint: by its own folder, by RUN@STEP, or the newest complete one of RUN.
fs::path checkpoint_of(const std::string& text, const fs::path& outdir) {
  std::error_code error;
  if (fs::is_regular_file(fs::path(text) / checkpoint::kManifestName, error)) {
    return text;
  }
  const RunReference reference = parse_run_reference(text);
  return checkpoint::find_checkpoint(
             checkpoint::checkpoints_folder(find_run_directory(reference, outdir)), reference.step)
      .path;
}

/// Requires an explicit step for commands that change a checkpoint.
std::int64_t require_step(const RunPlace& place, const std::string& verb) {
  if (!place.reference.step) {
    throw ConfigError(fmt::format(
        "which checkpoint? Say 'gangway checkpoints {} {}@STEP'; 'gangway checkpoints ls {}' shows "
        "them",
        verb, place.reference.run, place.reference.run));
  }
  return *place.reference.step;
}

CheckpointEntry entry_of(const RunPlace& place, std::optional<std::int64_t> step) {
  return checkpoint::find_checkpoint(checkpoint::checkpoints_folder(place.run), step);
}

int verify(const CheckpointOptions& options) {
  const RunPlace place = place_of(options);
  const checkpoint::VerifyText verified = checkpoint::verify_text(place.run, place.reference.step);
  print(verified.text);
  return verified.all_valid ? 0 : static_cast<int>(ExitCode::kCheckpoint);
}

int diff(const CheckpointOptions& options) {
  const auto differences =
      checkpoint::compare_checkpoints(checkpoint_of(options.reference, options.outdir),
                                      checkpoint_of(options.other, options.outdir));
  print(checkpoint::differences_text(differences));
  return differences.empty() ? 0 : 1;
}

int pin(const CheckpointOptions& options) {
  const RunPlace place = place_of(options);
  const CheckpointEntry entry = entry_of(place, place.reference.step);
  checkpoint::pin_checkpoint(entry.path.parent_path(), entry.step);
  print(fmt::format("{}: kept until it is unpinned\n", entry.path.string()));
  return 0;
}

int unpin(const CheckpointOptions& options) {
  const RunPlace place = place_of(options);
  const std::int64_t step = require_step(place, "unpin");
  const bool was_pinned =
      checkpoint::unpin_checkpoint(checkpoint::checkpoints_folder(place.run), step);
  print(fmt::format("{}: step {} {}\n", place.run.string(), step,
                    was_pinned ? "may be removed again" : "was not pinned"));
  return 0;
}

int remove(const CheckpointOptions& options) {
  const RunPlace place = place_of(options);
  const std::int64_t step = require_step(place, "rm");
  const CheckpointEntry entry = entry_of(place, step);
  const fs::path folder = checkpoint::checkpoints_folder(place.run);
  if (!options.force && checkpoint::pinned_steps(folder).contains(step)) {
    throw ConfigError(fmt::format(
        "{} is pinned: unpin it, or say --force to remove it all the same", entry.path.string()));
  }
  const auto entries = checkpoint::list_checkpoints(folder);
  const auto newest =
      std::ranges::find(entries, CheckpointStatus::kComplete, &CheckpointEntry::status);
  if (!options.force && newest != entries.end() && newest->step == step) {
    throw ConfigError(fmt::format(
        "{} is the newest, from which the run resumes: say --force to remove it all the same",
        entry.path.string()));
  }
  checkpoint::remove_checkpoint(entry);
  print(fmt::format("{}: removed\n", entry.path.string()));
  return 0;
}

int export_network(const CheckpointOptions& options) {
  const fs::path path = checkpoint_of(options.reference, options.outdir);
  std::error_code error;
  const bool is_folder = fs::is_directory(options.output, error);
  const std::string suffix = options.output.extension().string();
  const checkpoint::Manifest manifest = checkpoint::read_manifest(path);
  const JobSpec job =
      parse_job(manifest.job_yaml, path.string() + " (job)",
                fs::absolute(path / "../.." / kJobFile).lexically_normal().parent_path(),
                path / checkpoint::kManifestName);
  const NetworkSpec& chosen = job.networks[job.chosen(options.network)];
  const std::string& network = chosen.name;
  const bool is_python = chosen.module.is_python();
  const bool is_program = suffix == kOnnxSuffix || (is_python && suffix == kTorchExportSuffix);
  if (!is_folder && suffix != kPlainSuffix && !is_program) {
    throw ConfigError(fmt::format("{}: neither a folder nor a name that ends in {} or {}{}",
                                  options.output.string(), kPlainSuffix, kOnnxSuffix,
                                  is_python ? " or .pt2 (torch.export)" : ""));
  }
  if (is_folder || suffix == kPlainSuffix) {
    const fs::path file = is_folder ? options.output / (network + kPlainSuffix) : options.output;
    checkpoint::StoredState state(path);
    const auto exported = checkpoint::export_weights(
        state, network,
        options.last ? checkpoint::WeightsKind::kLast : checkpoint::WeightsKind::kAverage, file);
    print(fmt::format("{}: {} tensors, {} weights of the {} at step {}\n", file.string(),
                      exported.tensors, exported.is_average ? "average" : "last", network,
                      manifest.step));
  }
  if (is_folder || is_program) {
    const char* const of_folder = is_python ? kTorchExportSuffix : kOnnxSuffix;
    const fs::path file = is_folder ? options.output / (network + of_folder) : options.output;
    if (!is_python) {
      become("gangway-onnx",
             {path.string(), file.string(), network, options.last ? "last" : "average"});
    }
    std::vector<std::string> words{"export",      path.string(), "-o",
                                   file.string(), "--network",   network};
    if (options.last) {
      words.emplace_back("--last");
    }
    become("gangway-model", words);
  }
  return 0;
}

/// Finds copies of the step's values: at the user's path, and in this host's memory.
std::vector<checkpoint::ElementSource> sources_of(const CheckpointOptions& options,
                                                  const RunPlace& place,
                                                  const CheckpointEntry& entry) {
  std::vector<checkpoint::ElementSource> sources;
  if (!options.other.empty()) {
    sources.push_back(checkpoint::elements_of(checkpoint_of(options.other, options.outdir)));
  }
  const auto folders = checkpoint::snapshot_folders(place.run);
  const std::string key =
      checkpoint::snapshot_key(place.run, entry.manifest->job_fingerprint, run_id_of(place.run));
  std::vector<checkpoint::SnapshotFile> parts;
  for (const auto& found : checkpoint::find_snapshots(folders, key)) {
    if (found.id.step != entry.step) {
      continue;
    }
    try {
      parts.emplace_back(found.file, checkpoint::VerifyPieces::kLater);
    } catch (const CheckpointError&) {
      continue;  // overwritten meanwhile: useless, but not damaged
    }
  }
  if (!parts.empty()) {
    sources.push_back(checkpoint::elements_of(std::move(parts)));
  }
  return sources;
}

/// Scrubs a checkpoint: prints a line per damaged chunk, or "ok". Returns true if sound at the end.
bool scrub_one(const CheckpointOptions& options, const RunPlace& place,
               const CheckpointEntry& entry) {
  const std::string name = entry.path.filename().string();
  try {
    if (!entry.manifest || entry.manifest->format_version < 2) {
      (void)checkpoint::verify_checkpoint(entry.path);  // its error names the damaged file
      print(fmt::format("{}  ok\n", name));
      return true;
    }
    std::vector<checkpoint::DamagedChunk> damage = checkpoint::find_damage(entry.path);
    if (!damage.empty()) {
      for (const auto& source : sources_of(options, place, entry)) {
        const checkpoint::RepairResult result = checkpoint::repair_checkpoint(entry.path, source);
        for (const auto& chunk : result.repaired) {
          print(fmt::format("{}  REPAIRED  {}\n", name, chunk.line));
        }
        damage = result.left;
      }
    }
    for (const auto& chunk : damage) {
      print(fmt::format("{}  DAMAGED  {}\n", name, chunk.line));
    }
    if (!damage.empty()) {
      return false;
    }
    (void)checkpoint::verify_checkpoint(entry.path);  // checks data without chunk checksums
    print(fmt::format("{}  ok\n", name));
    return true;
  } catch (const CheckpointError& error) {
    print(fmt::format("{}  DAMAGED  {}\n", name, error.what()));
    return false;
  }
}

int scrub(const CheckpointOptions& options) {
  const RunPlace place = place_of(options);
  bool is_sound = true;
  if (place.reference.step) {
    is_sound = scrub_one(options, place, entry_of(place, *place.reference.step));
  } else {
    const auto entries = checkpoint::list_checkpoints(checkpoint::checkpoints_folder(place.run));
    for (const CheckpointEntry& entry : entries) {
      is_sound = scrub_one(options, place, entry) && is_sound;
    }
    if (entries.empty()) {
      print(fmt::format("{}: no checkpoints\n", place.run.string()));
    }
  }
  return is_sound ? 0 : static_cast<int>(ExitCode::kCheckpoint);
}

int list(const CheckpointOptions& options) {
  print(checkpoint::list_text(place_of(options).run, std::chrono::system_clock::now()));
  return 0;
}

int show(const CheckpointOptions& options) {
  const RunPlace place = place_of(options);
  print(checkpoint::show_text(place.run, place.reference.step));
  return 0;
}

using Options = std::shared_ptr<CheckpointOptions>;

/// Adds the options that all verbs share.
CLI::App* add_verb(CLI::App& group, CommandLine& line, const Options& options,
                   const std::string& name, const std::string& help,
                   int (*carry_out)(const CheckpointOptions&)) {
  CLI::App* command = group.add_subcommand(name, help);
  command
      ->add_option("run", options->reference,
                   "Directory or name of a run; with @STEP one of its checkpoints")
      ->required()
      ->type_name("RUN[@STEP]");
  command->add_option("--outdir", options->outdir, "Folder of the runs")->capture_default_str();
  command->callback([options, &line, carry_out] {
    line.action = [options, carry_out] { return carry_out(*options); };
  });
  return command;
}

void add_export(CLI::App& group, CommandLine& line, const Options& options) {
  CLI::App* command =
      add_verb(group, line, options, "export",
               "Write the generator as ONNX (.onnx) or its plain weights (.safetensors); a "
               "generator in Python also by torch.export (.pt2)",
               export_network);
  command
      ->add_option("-o,--output", options->output,
                   "New file, or a folder for a file of each format")
      ->required();
  command->add_option("--network", options->network,
                      "Network of the job: generator, discriminator; default: generator");
  command->add_flag("--last", options->last,
                    "Write the last weights even if the checkpoint has their average");
}

}  // namespace

void add_checkpoint_commands(CLI::App& app, CommandLine& line) {
  const auto options = std::make_shared<CheckpointOptions>();
  CLI::App* group = app.add_subcommand(
      "checkpoints", "List, verify, compare, export, pin or remove the checkpoints of a run");
  group->require_subcommand(1);
  add_verb(*group, line, options, "ls", "A table of all checkpoints", list);
  add_verb(*group, line, options, "verify",
           "Read everything and check every hash; exit code 5 when one is damaged", verify);
  add_verb(*group, line, options, "show", "Manifest and tensors of a checkpoint", show);
  add_verb(*group, line, options, "diff",
           "Name the tensors that differ, in how many elements and by how much; exit code 1 when "
           "there are any",
           diff)
      ->add_option("other", options->other, "Checkpoint to compare with")
      ->required()
      ->type_name("RUN[@STEP]");
  add_export(*group, line, options);
  add_verb(*group, line, options, "pin", "Keep a checkpoint until it is unpinned", pin);
  add_verb(*group, line, options, "unpin", "Let a pinned checkpoint be removed again", unpin);
  add_verb(*group, line, options, "rm", "Remove a checkpoint", remove)
      ->add_flag("--force", options->force, "Remove it even if it is the newest or pinned");
  add_verb(*group, line, options, "scrub",
           "Verify everything, name each damaged file, tensor and chunk, and repair it from other "
           "copies; exit code 5 when damage is left",
           scrub)
      ->add_option("--from", options->other,
                   "A checkpoint of the same step, of any layout; snapshots in this host's memory "
                   "are used anyway")
      ->type_name("RUN[@STEP]");
  group->footer(
      "Examples:\n"
      "  gangway checkpoints ls fashion-mnist\n"
      "  gangway checkpoints show runs/00000-fashion-mnist@1563\n"
      "  gangway checkpoints diff first@400 second@400\n"
      "  gangway checkpoints export fashion-mnist -o generator.onnx\n"
      "  gangway checkpoints rm fashion-mnist@1563");
}

}  // namespace gangway::launch
