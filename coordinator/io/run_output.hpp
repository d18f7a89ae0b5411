// SPDX-License-Identifier: MIT
// Writes a run's output: lines on the terminal and in the log, stats.jsonl, TensorBoard, small
// files of the run directory. Its own thread writes, so a slow or hanging disk or terminal never
// blocks the event loop. A failing disk causes a warning and never ends the job. Used on the event
// loop's thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "checkpoint/store/scores.hpp"
#include "coordinator/io/disk_thread.hpp"
#include "coordinator/steering/job_status.hpp"
#include "report/stats_file.hpp"
#include "report/tick.hpp"

namespace gangway::coordinator {

/// Pass a run's output to the live page, beside the terminal and the files. Each may be empty; none
/// waits. Called on the event loop's thread.
struct Viewers {
  std::function<void(JobStatus)> status;  ///< about once a second
  std::function<void(const report::Tick&)> tick;
  std::function<void(const std::string&)> line;  ///< as on the terminal; may hold several lines
  std::function<void(const std::string& metric, double value)> score;  ///< of a checkpoint
};

/// The user's terminal. `bar_columns`: its width, 0 if there is no terminal.
struct Terminal {
  std::ostream& out;  ///< both must outlive the process's last thread, as std::cout does
  std::ostream& err;
  int bar_columns = 0;
  Viewers viewers = {};  ///< receive the same as the terminal
};

/// Identity of this process.
struct Identity {
  std::string host;
  std::int64_t pid = 0;
};

class RunOutput {
 public:
  /// @throws EnvironmentError when the log file cannot be opened.
  RunOutput(std::filesystem::path run_directory, Identity self, Terminal terminal);
  /// Waits for pending writes, but only for a limited time.
  ~RunOutput();
  RunOutput(const RunOutput&) = delete;
  RunOutput& operator=(const RunOutput&) = delete;

  /// Drops the records of steps beyond `step`; waits for the disk. @return the last valid tick
  /// @throws EnvironmentError
  std::optional<report::StatsPosition> begin_at(std::int64_t step);

  /// Prints one or more lines on the terminal and in the log.
  void print(std::string lines);
  /// Prints to the error stream unchanged, not to the log.
  void print_error(std::string text);
  /// Writes to the log only.
  void log(std::string line);
  /// Prints the tick, writes it to the files, and draws the bar on a terminal. After begin_at.
  void show_tick(report::Tick tick, double fraction_done, std::string beside_bar);
  /// Stops drawing the bar.
  void end_bar();
  /// Writes scores to stats.jsonl, TensorBoard and the viewers. After begin_at.
  void add_scores(std::span<const checkpoint::NamedScore> scores, std::int64_t step, double kimg);
  /// Writes text to TensorBoard. After begin_at.
  void add_text(std::string tag, std::string text, std::int64_t step);
  void add_picture(std::string file, std::int64_t step);
  /// Merges the workers' trace parts once all exist, or at the end the parts that exist.
  void merge_traces(int num_workers, bool is_end);
  /// Removes an earlier trace's files before a new trace.
  void begin_trace();
  /// Calls `write` on the writing thread; it must not refer to objects that end before the process.
  /// If it throws an Error or a std::system_error, prints one warning for each `what`.
  void write(std::string what, std::function<void()> write);
  /// Prints the same warning for a write that failed elsewhere.
  void warn_of_writing(std::string what, std::string error);

 private:
  struct State;
  void submit(std::function<void(State&)> work);

  Viewers viewers_;
  std::shared_ptr<State> state_;  // shared with the thread, which may outlive this
  DiskThread thread_;
};

}  // namespace gangway::coordinator
