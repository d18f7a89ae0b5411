// SPDX-License-Identifier: MIT
// Builds the text of /metrics, with names by Prometheus's conventions
// (prometheus.io/docs/practices/naming); users' description: docs/metrics.md. Pure; used on the
// page's thread and its reading thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "coordinator/http/host_figures.hpp"
#include "coordinator/steering/job_status.hpp"
#include "report/tick.hpp"

namespace gangway::coordinator {

/// The program's build and run; labels of gangway_build_info.
struct BuildFigures {
  std::string version;
  std::string run;            ///< name of the run directory
  double started_unix = 0.0;  ///< when this start of the run began
};

/// Load of the web server.
struct WebLoad {
  std::size_t connections = 0;
  std::size_t streams = 0;  ///< connections that receive events
  std::uint64_t requests = 0;
  std::uint64_t refused = 0;  ///< connections refused for lack of room
};

/// Adds up the figures of all ticks.
class MetricsTotals {
 public:
  void add(const report::Tick& tick);
  void set_score(const std::string& metric, double value) { scores_[metric] = value; }

  struct Totals {
    double training_seconds = 0;                    ///< sum of the ticks' durations
    std::map<std::string, double> exposed_seconds;  ///< by phase
    double data_wait_seconds = 0;
    double check_seconds = 0;
    std::vector<std::string> part_names;
    std::map<Rank, std::vector<double>> part_seconds;         ///< by rank, in part_names' order
    std::map<Rank, std::vector<double>> device_part_seconds;  ///< of GPUs, in the same order
    double snapshot_seconds = 0;
    double snapshot_wait_seconds = 0;
    std::int64_t snapshots = 0;
    double snapshot_bytes = 0;
    double sent_bytes = 0;
    std::int64_t checkpoints = 0;
    std::map<std::string, std::int64_t> skipped_updates;  ///< reported skipped updates, by network
    std::optional<report::SavedCheckpoint> saved;         ///< newest saved checkpoint
  };
  [[nodiscard]] const Totals& totals() const { return totals_; }
  [[nodiscard]] const std::map<std::string, double>& scores() const { return scores_; }

 private:
  void add_parts(const report::Tick& tick, double steps);

  Totals totals_;
  std::map<std::string, double> scores_;
};

struct MetricSources {
  BuildFigures build;
  JobStatus status;
  MetricsTotals book;
  HostFigures host;
  WebLoad load;
};

/// Returns the metrics in the text exposition format, version 0.0.4.
[[nodiscard]] std::string metrics_text(const MetricSources& sources);
inline constexpr const char* kMetricsType = "text/plain; version=0.0.4; charset=utf-8";

}  // namespace gangway::coordinator
