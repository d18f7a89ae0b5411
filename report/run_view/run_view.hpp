// SPDX-License-Identifier: MIT
// Reads a run directory's records into one JSON document for pages and reports (docs/control.md).
//
// Called by `gangway run-view` and by the page's server in a running job. The server keeps a
// RunView, which reads only new lines. One thread per object; other processes may write to the
// directory meanwhile.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "report/advice/advice.hpp"
#include "report/run_view/line_tail.hpp"
#include "report/run_view/log_events.hpp"
#include "report/run_view/tick_columns.hpp"

namespace gangway::report {

/// Limits of a document, so that a browser can draw it.
struct ViewLimits {
  std::size_t ticks = 2000;
  std::size_t events = 2000;    ///< the newest
  std::size_t log_lines = 200;  ///< the last
};

class RunView {
 public:
  explicit RunView(std::filesystem::path run, ViewLimits limits = {});
  ~RunView();
  RunView(RunView&&) = delete;
  RunView& operator=(RunView&&) = delete;
  RunView(const RunView&) = delete;
  RunView& operator=(const RunView&) = delete;

  /// Returns the run's current state. Never throws for missing, torn or damaged records.
  [[nodiscard]] nlohmann::ordered_json document();

 private:
  struct Caches;

  void read_ticks();
  void take_tick(const std::string& line);
  void read_log();
  [[nodiscard]] nlohmann::ordered_json job_json(
      const std::map<std::string, std::string>& keys) const;
  [[nodiscard]] nlohmann::ordered_json progress_json(const nlohmann::ordered_json& job,
                                                     bool is_over) const;
  [[nodiscard]] nlohmann::ordered_json events_json() const;
  [[nodiscard]] nlohmann::ordered_json advice_json() const;
  [[nodiscard]] nlohmann::ordered_json scores_json(double images_per_step) const;
  [[nodiscard]] nlohmann::ordered_json checkpoints_json();
  [[nodiscard]] nlohmann::ordered_json timeline_json();

  std::filesystem::path run_;
  ViewLimits limits_;
  LineTail stats_;
  LineTail log_;
  TickColumns ticks_;
  AdviceTracker advice_;
  nlohmann::json rank_parts_;  // of the newest tick; null: none
  std::size_t damaged_lines_ = 0;
  std::deque<RunEvent> events_;                                   // of the log
  std::deque<std::string> last_lines_;                            // of the log
  std::map<std::string, std::map<std::int64_t, double>> scores_;  // by metric and step
  std::map<std::string, std::int64_t> picture_steps_;
  std::unique_ptr<Caches> caches_;
};

}  // namespace gangway::report
