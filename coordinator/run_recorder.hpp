// SPDX-License-Identifier: MIT
// Carries out those decisions of the Conductor that concern the run directory and the terminal:
// placement, ticks, pictures, checkpoints, the end. Owned by the event loop and used on its thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <iosfwd>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <spdlog/logger.h>

#include "coordinator/checkpoint_commit.hpp"
#include "coordinator/conductor.hpp"
#include "coordinator/snapshot_copies.hpp"
#include "coordinator/start.hpp"
#include "report/progress_bar.hpp"
#include "report/stats_file.hpp"
#include "report/tensorboard.hpp"

namespace gangway::coordinator {

/// Where a person reads. `bar_columns`: width of the terminal, 0 when there is none.
struct Terminal {
  std::ostream& out;
  std::ostream& err;
  int bar_columns = 0;
};

/// What goes on with the job when it has failed.
struct ResumeCommands {
  std::string before_save;  ///< nothing was saved since the start
  std::string after_save;   ///< empty: as before
};

/// This process.
struct Identity {
  std::string host;
  std::int64_t pid = 0;
};

class RunRecorder {
 public:
  /// @param run must outlive the recorder. @throws EnvironmentError when its files cannot be
  /// opened.
  RunRecorder(const StartedRun& run, ResumeCommands resume_commands, Identity self,
              Terminal terminal);
  ~RunRecorder();

  /// The steps that come after `step` are recorded from here on; what was recorded of them before
  /// is dropped. @return the last tick that still counts. @throws EnvironmentError
  std::optional<report::StatsPosition> begin_at(std::int64_t step);

  // A disk that fails costs these a warning, never the job.
  void show_header();
  void show_placement(const Membership& membership, const ShowPlacement& placement);
  void show_tick(report::Tick tick);
  void show_picture(const ShowPicture& picture);
  void say(const std::string& line);

  /// A new folder for the workers' files. @throws EnvironmentError
  [[nodiscard]] std::filesystem::path begin_checkpoint(std::int64_t step);
  /// What makes it exist, for the disk's thread. @param in_use  steps that must not be removed
  [[nodiscard]] CommitWork commit_work(const CompleteCheckpoint& checkpoint, std::int64_t epoch,
                                       std::set<std::int64_t> in_use) const;
  /// Of one that does not exist, only the warnings: give_up_checkpoint is to follow.
  void show_commit(const CompleteCheckpoint& checkpoint, const CommitResult& result);
  /// Whether checkpoints are to be scored.
  [[nodiscard]] bool keeps_best() const { return run_.spec.checkpoint.keep_best > 0; }
  [[nodiscard]] ScoreWork score_work(std::int64_t step, std::set<std::int64_t> in_use) const;
  void show_score(std::int64_t step, const ScoreResult& result);
  /// The folder of a checkpoint that failed, if it had got one; it is to be removed.
  [[nodiscard]] std::optional<std::filesystem::path> give_up_checkpoint(std::int64_t step);

  /// status.json, the last words on the terminal, error.json. Never throws for a disk that fails.
  /// @param keeps  snapshots are being copied to the disk: the status says so until end_keeping()
  void finish(const Outcome& outcome, const Membership& membership, bool keeps);

  /// What copies this host's snapshots from `step` on to the run directory, for the disk's thread.
  [[nodiscard]] checkpoint::KeepSnapshots keep_work(std::int64_t step) const;
  void show_kept(const KeepResult& result);
  /// Nothing is copied any more.
  void end_keeping();

 private:
  /// Says what differs from the checkpoint that the run goes on from, and may change bits.
  void warn_of_changes(const checkpoint::Manifest& before);
  /// Which checkpoints stay. @param in_use  steps that must not be removed
  [[nodiscard]] checkpoint::RetentionPolicy retention(std::set<std::int64_t> in_use) const;
  void show_removals(const std::vector<std::string>& warnings,
                     const std::vector<std::filesystem::path>& removed);
  /// One line, and for the next tick.
  void show_saved(const CompleteCheckpoint& checkpoint, const std::filesystem::path& path,
                  double seconds);
  /// Once, when all workers have left their part, or at the end with those that are there.
  void merge_traces(bool is_end);
  /// Carries `write` out; where the disk fails, training goes on with one warning for each `what`.
  void try_writing(const std::string& what, const std::function<void()>& write);
  void warn_of_writing(const std::string& what, const std::string& error);
  void print(const std::string& line);
  void report_failure(const Outcome& outcome, const Membership& membership);
  [[nodiscard]] std::vector<PlacedRank> placed_ranks(const Membership& membership) const;

  const StartedRun& run_;
  ResumeCommands resume_commands_;
  bool has_saved_ = false;
  bool has_merged_traces_ = false;
  std::string data_fingerprint_;                 ///< as the workers see it
  std::map<std::string, std::string> software_;  ///< versions, for the manifest
  Identity self_;
  Terminal terminal_;
  std::optional<report::StatsFile> stats_;  ///< from begin_at() on, as the next
  std::unique_ptr<report::TensorboardWriter> tensorboard_;
  std::unique_ptr<spdlog::logger> log_;
  std::optional<report::ProgressBar> bar_;
  std::map<std::int64_t, std::filesystem::path>
      saving_;                                  ///< folders of checkpoints under way, by step
  std::vector<report::SavedCheckpoint> saved_;  ///< since the last tick
  std::set<std::string> failed_writes_;         ///< what has been warned of
  RunStatus status_;                            ///< from finish() on: as it is on the disk
  std::string last_checkpoint_;                 ///< path of the newest; empty: none
};

}  // namespace gangway::coordinator
