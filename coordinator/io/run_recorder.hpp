// SPDX-License-Identifier: MIT
// Carries out RunCore's effects on the run directory and the terminal: placement, ticks,
// pictures, checkpoints, the end. Used on the event loop's thread, which waits for the disk only
// where a comment here says so.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/core/run_core.hpp"
#include "coordinator/io/checkpoint_commit.hpp"
#include "coordinator/io/run_output.hpp"
#include "coordinator/resume/start.hpp"
#include "job/decisions.hpp"
#include "report/stats_file.hpp"
#include "report/tick.hpp"
#include "run/control/steering_file.hpp"
#include "run/run_files.hpp"
#include "run/trace_steps.hpp"

namespace gangway::coordinator {

/// Commands that resume a failed job, printed for the user.
struct ResumeCommands {
  std::string before_save;  ///< if nothing was saved since the start
  std::string after_save;   ///< if a state was saved; empty: same as before_save
};

class RunRecorder {
 public:
  /// @param run  must outlive the recorder
  /// @throws EnvironmentError when the run's files cannot be opened
  RunRecorder(const StartedRun& run, ResumeCommands resume_commands, Identity self,
              Terminal terminal);

  /// Starts recording after `step` and drops earlier records of later steps. Waits for the disk.
  /// @return the last valid tick
  /// @throws EnvironmentError
  std::optional<report::StatsPosition> begin_at(std::int64_t step);

  void show_header();
  /// @param placement  its `ready` holds what all workers have in common
  void show_placement(const Membership& membership, const ShowPlacement& placement);
  void show_tick(report::Tick tick);
  void show_picture(const messages::Picture& picture) {
    output_.add_picture(picture.file, picture.step);
  }
  void say(const std::string& line);
  /// Sets a listener for every line printed by say().
  void set_listener(std::function<void(const std::string&)> listener) {
    listener_ = std::move(listener);
  }
  /// Adds a mark in TensorBoard and a line in the log for a decision or event at `step` (steps
  /// done). After begin_at.
  void record_event(std::int64_t step, const std::string& text);

  /// Returns the folder in which to make the folder for the workers' files.
  [[nodiscard]] std::filesystem::path checkpoints() const {
    return run_.directory / kCheckpointsFolder;
  }
  /// Records the folder that was made for the checkpoint of `step`.
  void began_checkpoint(std::int64_t step, std::filesystem::path folder) {
    saving_[step] = std::move(folder);
  }
  /// Returns the commit for the disk's thread. @param in_use  steps that must not be removed
  [[nodiscard]] CommitWork commit_work(const CompleteCheckpoint& checkpoint, std::int64_t epoch,
                                       std::set<std::int64_t> in_use) const;
  /// Shows a commit; after a failed one only the warnings, then call give_up_checkpoint.
  void show_commit(const CompleteCheckpoint& checkpoint, const CommitResult& result);
  /// Whether to score the checkpoint of `step`. If decisions depend on scores or
  /// evaluation.every_kimg is set, only checkpoints that count and the last are scored.
  [[nodiscard]] bool scores(std::int64_t step) const;
  [[nodiscard]] ScoreWork score_work(std::int64_t step, std::set<std::int64_t> in_use) const;
  void show_score(std::int64_t step, const ScoreResult& result);
  /// Returns the folder of a failed checkpoint, if it has one; the caller removes it.
  [[nodiscard]] std::optional<std::filesystem::path> give_up_checkpoint(std::int64_t step);
  /// Returns the folders of all checkpoints under way; the caller removes them.
  [[nodiscard]] std::vector<std::filesystem::path> give_up_checkpoints();

  /// Returns the work that writes the decisions, for the disk's thread. @throws EnvironmentError
  [[nodiscard]] std::function<void()> record_work(const Decisions& decisions) const;
  /// Notes that the decisions are on the disk: checkpoints include them from now on. Marks new
  /// ones, except scores, in TensorBoard at the step where they take effect.
  void recorded(const Decisions& decisions);

  /// Writes watch.txt after all queued writes.
  void keep_watch(const std::string& text);

  /// Appends to steering.jsonl after all queued writes. `written` is called as by append_steering,
  /// on the writing thread.
  void record_steering(const SteeringEvent& event, const SteeringWritten& written);
  /// Applies the retention keys of `spec` from now on.
  void keep_checkpoints(const CheckpointSpec& spec) { kept_ = spec; }

  /// Sets the steps to trace and removes an earlier trace's files.
  void begin_trace(TraceSteps steps) {
    trace_ = steps;
    output_.begin_trace();
  }

  /// Writes status.json and waits for it, prints the last lines, writes error.json. A failing disk
  /// never makes it throw. The status reports snapshot copies until end_keeping().
  void finish(const RunEnd& end, const Membership& membership);

  /// Returns the work that copies this host's snapshots from `step` on, for the disk's thread.
  [[nodiscard]] checkpoint::KeepSnapshots keep_work(std::int64_t step) const;
  void show_kept(const KeepResult& result);
  /// Ends the status's report of snapshot copies.
  void end_keeping();

 private:
  /// The loss after which `gangway run` restarted the job; null: none.
  [[nodiscard]] const Restart* loss_before() const;
  /// Marks the decision in TensorBoard at the step where it takes effect.
  void mark(const Decision& decision);
  /// Returns the retention policy. @param in_use  steps that must not be removed
  [[nodiscard]] checkpoint::RetentionPolicy retention(std::set<std::int64_t> in_use) const;
  void show_removals(const std::vector<std::string>& warnings,
                     const std::vector<std::filesystem::path>& removed);
  /// Prints one line and keeps the checkpoint for the next tick.
  void show_saved(const CompleteCheckpoint& checkpoint, const std::filesystem::path& path,
                  double seconds);
  void report_failure(const RunEnd& end, const Membership& membership);
  [[nodiscard]] std::vector<PlacedRank> placed_ranks(const Membership& membership,
                                                     const Layout& layout) const;

  const StartedRun& run_;
  ResumeCommands resume_commands_;
  TraceSteps trace_;        ///< newest steps to trace
  CheckpointSpec kept_;     ///< retention keys
  bool has_begun_ = false;  ///< TensorBoard's file exists
  bool has_saved_ = false;
  Decisions decisions_;                          ///< decisions on the disk
  std::string data_fingerprint_;                 ///< as reported by the workers
  std::map<std::string, std::string> software_;  ///< versions, for the manifest
  Identity self_;
  RunOutput output_;
  std::map<std::int64_t, std::filesystem::path>
      saving_;                                  ///< folders of checkpoints under way, by step
  std::vector<report::SavedCheckpoint> saved_;  ///< saved since the last tick
  std::function<void(const std::string&)> listener_ = [](const std::string&) {};
  RunEnd status_;                ///< from finish() on: the status on the disk
  std::string last_checkpoint_;  ///< path of the newest; empty: none
};

}  // namespace gangway::coordinator
