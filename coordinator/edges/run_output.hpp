// SPDX-License-Identifier: MIT
// What a run shows while it trains: lines on the terminal and in the log, stats.jsonl, TensorBoard,
// small files of the run directory. All of it is written on a thread of its own, in order: a disk
// that is slow or hangs, below a file or below the terminal (which may be one), keeps the event
// loop from nothing. A disk that fails costs a warning, never the job. Used on the event loop's
// thread.
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
#include "coordinator/edges/disk_thread.hpp"
#include "coordinator/edges/viewers.hpp"
#include "report/stats_file.hpp"
#include "report/tick.hpp"

namespace gangway::coordinator {

/// Where a person reads. `bar_columns`: width of the terminal, 0 when there is none.
struct Terminal {
  std::ostream& out;  ///< both must outlive the process's last thread, as std::cout does
  std::ostream& err;
  int bar_columns = 0;
  Viewers viewers = {};  ///< told beside the terminal
};

/// This process.
struct Identity {
  std::string host;
  std::int64_t pid = 0;
};

class RunOutput {
 public:
  /// @throws EnvironmentError when the log file cannot be opened.
  RunOutput(std::filesystem::path run_directory, Identity self, Terminal terminal);
  /// Waits a while for what has not been written yet, not for ever.
  ~RunOutput();
  RunOutput(const RunOutput&) = delete;
  RunOutput& operator=(const RunOutput&) = delete;

  /// What was recorded of the steps beyond `step` is dropped; waits for the disk.
  /// @return the last tick that still counts. @throws EnvironmentError
  std::optional<report::StatsPosition> begin_at(std::int64_t step);

  /// One line or several, on the terminal and in the log.
  void print(std::string lines);
  /// On the error stream as it is, and not in the log.
  void print_error(std::string text);
  /// In the log alone.
  void log(std::string line);
  /// Its line, its place in the files and, on a terminal, the bar. After begin_at.
  void show_tick(report::Tick tick, double fraction_done, std::string beside_bar);
  /// The bar is not drawn again.
  void end_bar();
  /// For stats.jsonl, TensorBoard and whoever watches. After begin_at.
  void add_scores(std::span<const checkpoint::NamedScore> scores, std::int64_t step, double kimg);
  /// For TensorBoard. After begin_at.
  void add_text(std::string tag, std::string text, std::int64_t step);
  void add_picture(std::string file, std::int64_t step);
  /// One trace of all workers' once each has left its part, or at the end of those that are there.
  void merge_traces(int num_workers, bool is_end);
  /// Removes what an earlier trace left: there will be another.
  void begin_trace();
  /// Calls `write`, which must not refer to what ends before this process. Where it throws an Error
  /// or a std::system_error, there is one warning for each `what`.
  void write(std::string what, std::function<void()> write);
  /// The same warning for what was written elsewhere.
  void warn_of_writing(std::string what, std::string error);

 private:
  struct State;
  void submit(std::function<void(State&)> work);

  Viewers viewers_;
  std::shared_ptr<State> state_;  // shared with the thread, which may outlive this
  DiskThread thread_;
};

}  // namespace gangway::coordinator
