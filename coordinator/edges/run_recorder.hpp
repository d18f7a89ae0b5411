// SPDX-License-Identifier: MIT
// Carries out those decisions of the Conductor that concern the run directory and the terminal:
// placement, ticks, pictures, checkpoints, the end. Used on the event loop's thread, which waits
// for the disk only where this page says so.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "coordinator/edges/checkpoint_commit.hpp"
#include "coordinator/edges/run_output.hpp"
#include "coordinator/edges/snapshot_copies.hpp"
#include "coordinator/mind/conductor.hpp"
#include "coordinator/resume/start.hpp"
#include "job/decisions.hpp"
#include "report/stats_file.hpp"
#include "report/tick.hpp"
#include "run/control/steering_file.hpp"
#include "run/trace_steps.hpp"

namespace gangway::coordinator {

/// What goes on with the job when it has failed.
struct ResumeCommands {
  std::string before_save;  ///< nothing was saved since the start
  std::string after_save;   ///< empty: as before
};

class RunRecorder {
 public:
  /// @param run must outlive the recorder. @throws EnvironmentError when its files cannot be
  /// opened.
  RunRecorder(const StartedRun& run, ResumeCommands resume_commands, Identity self,
              Terminal terminal);

  /// The steps that come after `step` are recorded from here on; what was recorded of them before
  /// is dropped. Waits for the disk. @return the last tick that still counts.
  /// @throws EnvironmentError
  std::optional<report::StatsPosition> begin_at(std::int64_t step);

  void show_header();
  /// @param ready  of the last worker: what they have in common
  void show_placement(const Membership& membership, const ShowPlacement& placement);
  void show_tick(report::Tick tick);
  void show_picture(const messages::Picture& picture);
  void say(const std::string& line);
  /// Hears every line that is said.
  void set_listener(std::function<void(const std::string&)> listener) {
    listener_ = std::move(listener);
  }
  /// A mark in TensorBoard and a line of the log: what was decided at `step` (steps done), or came
  /// about. After begin_at.
  void record_event(std::int64_t step, const std::string& text);

  /// Where the folder for the workers' files is to be made.
  [[nodiscard]] std::filesystem::path checkpoints() const;
  /// It has been made.
  void began_checkpoint(std::int64_t step, std::filesystem::path folder);
  /// What makes it exist, for the disk's thread. @param in_use  steps that must not be removed
  [[nodiscard]] CommitWork commit_work(const CompleteCheckpoint& checkpoint, std::int64_t epoch,
                                       std::set<std::int64_t> in_use) const;
  /// Of one that does not exist, only the warnings: give_up_checkpoint is to follow.
  void show_commit(const CompleteCheckpoint& checkpoint, const CommitResult& result);
  /// Whether the checkpoint of `step` is to be scored. Where decisions follow of scores, those that
  /// count need not wait behind others.
  [[nodiscard]] bool scores(std::int64_t step) const;
  [[nodiscard]] ScoreWork score_work(std::int64_t step, std::set<std::int64_t> in_use) const;
  void show_score(std::int64_t step, const ScoreResult& result);
  /// The folder of a checkpoint that failed, if it had got one; it is to be removed.
  [[nodiscard]] std::optional<std::filesystem::path> give_up_checkpoint(std::int64_t step);
  /// Those of all that are under way.
  [[nodiscard]] std::vector<std::filesystem::path> give_up_checkpoints();

  /// Puts them on the disk. For the disk's thread. @throws EnvironmentError
  [[nodiscard]] std::function<void()> record_work(const Decisions& decisions) const;
  /// They are on the disk, and from now on in checkpoints. Those that are new, scores aside, get a
  /// mark in TensorBoard at the step from which they hold.
  void recorded(const Decisions& decisions);

  /// watch.txt, behind everything else.
  void keep_watch(const std::string& text);

  /// steering.jsonl, behind everything else. `written` as append_steering's, on the thread that
  /// writes.
  void record_steering(const SteeringEvent& event, const SteeringWritten& written);
  /// Checkpoints are kept as `spec` says from here on.
  void keep_checkpoints(const CheckpointSpec& spec) { kept_ = spec; }

  /// Other steps are traced: what an earlier trace left goes away.
  void begin_trace(TraceSteps steps) {
    trace_ = steps;
    output_.begin_trace();
  }

  /// status.json, for which it waits; the last words on the terminal, error.json. Never throws for
  /// a disk that fails. While snapshots are copied, until end_keeping(), the status says so.
  void finish(const Outcome& outcome, const Membership& membership);

  /// What copies this host's snapshots from `step` on to the run directory, for the disk's thread.
  [[nodiscard]] checkpoint::KeepSnapshots keep_work(std::int64_t step) const;
  void show_kept(const KeepResult& result);
  /// Nothing is copied any more.
  void end_keeping();

 private:
  /// For which `gangway run` has begun this start; null: for none.
  [[nodiscard]] const Restart* loss_before() const;
  /// In TensorBoard, at the step from which it holds.
  void mark(const Decision& decision);
  /// Which checkpoints stay. @param in_use  steps that must not be removed
  [[nodiscard]] checkpoint::RetentionPolicy retention(std::set<std::int64_t> in_use) const;
  void show_removals(const std::vector<std::string>& warnings,
                     const std::vector<std::filesystem::path>& removed);
  /// One line, and for the next tick.
  void show_saved(const CompleteCheckpoint& checkpoint, const std::filesystem::path& path,
                  double seconds);
  void report_failure(const Outcome& outcome, const Membership& membership);
  [[nodiscard]] std::vector<PlacedRank> placed_ranks(const Membership& membership,
                                                     const Layout& layout) const;

  const StartedRun& run_;
  ResumeCommands resume_commands_;
  TraceSteps trace_;        ///< the newest steps that are
  CheckpointSpec kept_;     ///< which checkpoints stay
  bool has_begun_ = false;  ///< TensorBoard's file is there
  bool has_saved_ = false;
  Decisions decisions_;                          ///< as they are on the disk
  std::string data_fingerprint_;                 ///< as the workers see it
  std::map<std::string, std::string> software_;  ///< versions, for the manifest
  Identity self_;
  RunOutput output_;
  std::map<std::int64_t, std::filesystem::path>
      saving_;                                  ///< folders of checkpoints under way, by step
  std::vector<report::SavedCheckpoint> saved_;  ///< since the last tick
  std::function<void(const std::string&)> listener_ = [](const std::string&) {};
  RunStatus status_;             ///< from finish() on: as it is on the disk
  std::string last_checkpoint_;  ///< path of the newest; empty: none
};

}  // namespace gangway::coordinator
