// SPDX-License-Identifier: MIT
// `gangway checkpoints ls|verify|show|diff|export|pin|unpin|rm|scrub`: options, help, and what each
// does. Called by launch/commands.cpp; main thread.
#pragma once

#include <filesystem>
#include <string>

namespace CLI {
class App;
}

namespace gangway::launch {

/// What the options are written to.
struct CheckpointOptions {
  std::string reference;  ///< RUN or RUN@STEP, or a checkpoint's folder
  std::string other;      ///< of diff; of scrub: where to repair from
  std::filesystem::path outdir = "runs";
  std::filesystem::path output;  ///< of export
  std::string network = "generator";
  bool last = false;   ///< of export: the last weights instead of their average
  bool force = false;  ///< of rm
};

/// Adds `checkpoints` and its subcommands to `app`.
void add_checkpoint_commands(CLI::App& app, CheckpointOptions& options);

/// Carries out the subcommand `verb`. @return exit code: 5 where a checkpoint is
/// damaged; diff: 1 where they differ). @throws Error of one line.
[[nodiscard]] int run_checkpoint_command(const std::string& verb, const CheckpointOptions& options);

}  // namespace gangway::launch
