// SPDX-License-Identifier: MIT
// What /metrics says: names after Prometheus's conventions (prometheus.io/docs/practices/naming),
// described for people in docs/metrics.md. Pure; used on the page's thread and on the one that
// reads.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "coordinator/http/host_figures.hpp"
#include "coordinator/steering/job_status.hpp"
#include "report/tick.hpp"

namespace gangway::coordinator {

/// What this program is; labels of gangway_build_info.
struct BuildFigures {
  std::string version;
  std::string run;            ///< name of the run directory
  double started_unix = 0.0;  ///< when this start of the run began
};

/// The page's own work.
struct WebLoad {
  std::size_t connections = 0;
  std::size_t streams = 0;  ///< of these: who is told events as they come
  std::uint64_t requests = 0;
  std::uint64_t refused = 0;  ///< connections for which there was no room
};

/// Adds up what ticks tell by the tick.
class MetricsBook {
 public:
  void add(const report::Tick& tick);
  void set_score(const std::string& metric, double value) { scores_[metric] = value; }

  struct Totals {
    double training_seconds = 0;                    ///< of the ticks
    std::map<std::string, double> exposed_seconds;  ///< by phase
    double data_wait_seconds = 0;
    double check_seconds = 0;
    std::vector<std::string> part_names;
    std::map<int, std::vector<double>> part_seconds;         ///< by rank, in their order
    std::map<int, std::vector<double>> device_part_seconds;  ///< the same of GPUs
    double snapshot_seconds = 0;
    double snapshot_wait_seconds = 0;
    std::int64_t snapshots = 0;
    double snapshot_bytes = 0;
    double sent_bytes = 0;
    std::int64_t checkpoints = 0;
    std::map<std::string, std::int64_t> skipped_updates;  ///< seen, by network
    std::optional<report::SavedCheckpoint> saved;         ///< the newest
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
  MetricsBook book;
  HostFigures host;
  WebLoad load;
};

/// The text exposition format, version 0.0.4.
[[nodiscard]] std::string metrics_text(const MetricSources& sources);
inline constexpr const char* kMetricsType = "text/plain; version=0.0.4; charset=utf-8";

}  // namespace gangway::coordinator
