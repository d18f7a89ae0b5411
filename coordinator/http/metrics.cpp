// SPDX-License-Identifier: MIT
#include "coordinator/http/metrics.hpp"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include "base/units.hpp"

namespace gangway::coordinator {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;

constexpr double kPercent = 0.01;
constexpr double kImagesPerKimg = 1000.0;

/// A metric with one of its values.
struct Row {
  std::string_view name;  ///< ends in "_total": a counter; else a gauge
  std::string_view help;
  std::optional<double> value;
};

/// Writes metric families in the order of their first rows; omits a family without a value.
class Families {
 public:
  void add(const std::vector<Row>& rows, const Labels& labels = {}) {
    for (const Row& row : rows) {
      MetricFamily& family = family_of(row);
      if (row.value) {
        ClientMetric metric{.label = labels};
        (family.type == MetricType::Counter ? metric.counter.value : metric.gauge.value) =
            *row.value;
        family.metric.push_back(std::move(metric));
      }
    }
  }
  [[nodiscard]] std::vector<MetricFamily> take() {
    std::erase_if(all_, [](const MetricFamily& family) { return family.metric.empty(); });
    return std::exchange(all_, {});
  }

 private:
  /// Searches from the end: a row for one more worker belongs to a recent family.
  MetricFamily& family_of(const Row& row) {
    const auto found = std::find_if(all_.rbegin(), all_.rend(), [&](const MetricFamily& family) {
      return family.name == row.name;
    });
    if (found != all_.rend()) {
      return *found;
    }
    all_.push_back({.name = std::string(row.name),
                    .help = std::string(row.help),
                    .type = row.name.ends_with("_total") ? MetricType::Counter : MetricType::Gauge,
                    .metric = {}});
    return all_.back();
  }

  std::vector<MetricFamily> all_;
};

void add_training(Families& families, const JobStatus& status) {
  for (const JobPhase phase : {JobPhase::kStarting, JobPhase::kTraining, JobPhase::kPausing,
                               JobPhase::kPaused, JobPhase::kStopping, JobPhase::kEnded}) {
    families.add({{"gangway_run_phase",
                   "1 for the run's phase: starting, training, pausing, paused, stopping, ended.",
                   phase == status.phase}},
                 {{"phase", std::string(name_of(phase))}});
  }
  families.add(
      {{"gangway_run_starts", "Starts of the run so far, this one included.", status.incarnation},
       {"gangway_restarts_total", "Starts of the run after the loss of a process or a host.",
        status.restarts},
       {"gangway_training_step", "Steps done by all workers.", status.step},
       {"gangway_training_planned_steps", "Steps that the job has.", status.total_steps},
       {"gangway_training_images_total", "Real images shown since the job began.",
        status.kimg * kImagesPerKimg},
       {"gangway_training_images_per_second", "Images a second over the last tick.",
        status.images_per_second},
       {"gangway_step_seconds", "Median duration of the last steps.",
        status.step_seconds > 0.0 ? std::optional(status.step_seconds) : std::nullopt},
       {"gangway_training_remaining_seconds", "Time to the last step, at the present speed.",
        status.seconds_left}});
}

void add_networks(Families& families, const JobStatus& status) {
  for (const report::NetworkLoss& loss : status.losses) {
    families.add({{"gangway_loss", "Mean loss of the last step.", loss.loss}},
                 {{"network", loss.network}});
  }
  if (!status.tick) {
    return;
  }
  using Norms = report::UpdateNorms;
  for (const report::NetworkUpdate& update : status.tick->updates) {
    const auto norm = [&](double Norms::*member) {
      return update.norms ? std::optional((*update.norms).*member) : std::nullopt;
    };
    families.add({{"gangway_learning_rate", "Learning rate of the last sampled update.", update.lr},
                  {"gangway_gradient_norm", "Euclidean norm of the gradient that an update used.",
                   norm(&Norms::gradient)},
                  {"gangway_weight_norm", "Euclidean norm of the weights before an update.",
                   norm(&Norms::weights)},
                  {"gangway_update_ratio", "Norm of an update over the norm of the weights.",
                   norm(&Norms::update_ratio)}},
                 {{"network", update.network}});
  }
  for (const report::TickFigure& figure : status.tick->figures) {
    families.add({{"gangway_figure",
                   "Other figures of the job, means over the last tick: docs/run-directory.md.",
                   figure.value}},
                 {{"name", figure.name}});
  }
}

/// Adds a series for each worker and part.
void add_part_seconds(Families& families, Row row,
                      const std::map<Rank, std::vector<double>>& by_rank,
                      const std::vector<std::string>& names) {
  for (const auto& [rank, seconds] : by_rank) {
    for (std::size_t part = 0; part < seconds.size(); ++part) {
      if (seconds[part] > 0.0) {
        row.value = seconds[part];
        families.add({row}, {{"part", names[part]}, {"rank", fmt::to_string(rank)}});
      }
    }
  }
}

void add_totals(Families& families, const MetricsTotals& book) {
  const MetricsTotals::Totals& totals = book.totals();
  families.add({{"gangway_training_seconds_total", "Time of the ticks of this start.",
                 totals.training_seconds}});
  for (const auto& [phase, seconds] : totals.exposed_seconds) {
    families.add({{"gangway_exposed_communication_seconds_total",
                   "Time for which computing waited for exchanges, on the worker that waited most.",
                   seconds}},
                 {{"phase", phase}});
  }
  families.add({{"gangway_data_wait_seconds_total",
                 "Time for which computing waited for data, on the worker that waited most.",
                 totals.data_wait_seconds},
                {"gangway_check_seconds_total", "Time that layout.check_steps has cost.",
                 totals.check_seconds}});
  add_part_seconds(families,
                   {"gangway_step_part_seconds_total",
                    "Where the time of a worker's compute thread went: docs/tuning.md.",
                    {}},
                   totals.part_seconds, totals.part_names);
  add_part_seconds(families,
                   {"gangway_device_part_seconds_total",
                    "Where the time of a worker's GPU went, from the sampled steps.",
                    {}},
                   totals.device_part_seconds, totals.part_names);
  families.add(
      {{"gangway_sent_bytes_total", "Payload between workers.", totals.sent_bytes},
       {"gangway_snapshots_total", "Snapshots taken.", totals.snapshots},
       {"gangway_snapshot_bytes_total", "Bytes copied for snapshots.", totals.snapshot_bytes},
       {"gangway_snapshot_seconds_total",
        "Time for which snapshots were copied, on the slowest worker.", totals.snapshot_seconds},
       {"gangway_snapshot_wait_seconds_total", "Part of the copy time for which an update waited.",
        totals.snapshot_wait_seconds}});
  for (const auto& [network, count] : totals.skipped_updates) {
    families.add(
        {{"gangway_skipped_updates_total",
          "Ticks whose update of a network was skipped, as its gradient was not finite.", count}},
        {{"network", network}});
  }
  for (const auto& [metric, value] : book.scores()) {
    families.add({{"gangway_score", "The last score of a checkpoint; lower is better.", value}},
                 {{"metric", metric}});
  }
}

void add_checkpoints(Families& families, const MetricSources& sources) {
  const MetricsTotals::Totals& totals = sources.book.totals();
  const JobStatus& status = sources.status;
  // Before the first checkpoint, the age counts from the start, because none may ever come.
  const double since_start = status.unix_seconds - sources.build.started_unix;
  const auto age = status.checkpoint ? status.checkpoint->age_seconds : std::nullopt;
  families.add(
      {{"gangway_checkpoints_total", "Checkpoints that this start has written.",
        totals.checkpoints},
       {"gangway_checkpoint_age_seconds", "Time since the newest checkpoint, or since the start.",
        age.value_or(since_start)},
       {"gangway_checkpoint_step", "Step of the newest checkpoint; 0: there is none.",
        status.checkpoint ? status.checkpoint->step : 0},
       {"gangway_checkpoint_bytes", "Size of the newest checkpoint.",
        totals.saved ? std::optional(totals.saved->mib * kMebibyte) : std::nullopt},
       {"gangway_checkpoint_write_seconds",
        "Time from the whole snapshot to the committed checkpoint, the newest.",
        totals.saved ? std::optional(totals.saved->seconds) : std::nullopt},
       {"gangway_snapshot_step", "Step of the newest snapshot that all workers have.",
        status.snapshot_step}});
}

/// Adds what is known of a worker once there is a tick.
void add_tick_of(Families& families, const WorkerStatus& worker, const Labels& labels) {
  const auto gauges = worker.gauges.value_or(messages::DeviceGauges{});
  families.add(
      {{"gangway_worker_resident_memory_bytes", "Resident memory of the worker.",
        worker.memory.resident_bytes},
       {"gangway_worker_allocated_memory_bytes",
        "Memory allocated on the worker's device; on a CPU the heap of its process.",
        worker.memory.allocated_bytes},
       {"gangway_worker_reserved_memory_bytes", "Memory that the device's allocator holds.",
        worker.memory.reserved_bytes},
       {"gangway_worker_peak_memory_bytes",
        "Peak so far: resident memory on a CPU, reserved memory on a GPU.",
        worker.memory.peak_bytes},
       {"gangway_worker_allocation_retries",
        "Times so far that a GPU's allocator freed cached memory, or failed.",
        worker.memory.retries},
       {"gangway_worker_work_seconds", "Work time of a step, mean of the last tick.",
        worker.work_seconds_per_step},
       {"gangway_worker_wait_seconds",
        "Time of a step waiting for exchanges, mean of the last tick.",
        worker.wait_seconds_per_step},
       {"gangway_worker_data_wait_seconds",
        "Time of a step waiting for data, mean of the last tick.", worker.data_seconds_per_step},
       {"gangway_gpu_utilization_ratio",
        "Share of the last moments in which the worker's GPU ran a kernel of any process.",
        gauges.busy},
       {"gangway_gpu_memory_used_bytes", "Memory of the worker's GPU in use by all processes.",
        gauges.used_bytes},
       {"gangway_gpu_memory_bytes", "Memory of the worker's GPU.", gauges.total_bytes},
       {"gangway_gpu_temperature_celsius", "The GPU's temperature.", gauges.celsius},
       {"gangway_gpu_power_watts", "Power draw of the worker's GPU.", gauges.watts},
       {"gangway_gpu_clock_ratio", "Clock of the worker's GPU over its maximum.", gauges.clock}},
      labels);
}

void add_workers(Families& families, const JobStatus& status) {
  for (const WorkerStatus& worker : status.workers) {
    const Labels labels = {
        {"rank", fmt::to_string(worker.rank)}, {"host", worker.host}, {"device", worker.device}};
    families.add({{"gangway_worker_up", "1: the worker takes part.",
                   worker.state == "joined" || worker.state == "ready"},
                  {"gangway_worker_steps", "Steps that the worker has done.", worker.steps_done},
                  {"gangway_worker_straggler", "1: the other workers wait for it in most steps.",
                   worker.is_straggler}},
                 labels);
    if (status.tick) {
      add_tick_of(families, worker, labels);
    }
  }
}

void add_host(Families& families, const MetricSources& sources) {
  const HostFigures& host = sources.host;
  families.add(
      {{"gangway_host_load1", "Load average of the coordinator's host, one minute.",
        host.load_1_minute},
       {"gangway_host_memory_bytes", "Memory of the coordinator's host.", host.memory_bytes},
       {"gangway_host_memory_available_bytes",
        "Memory of the coordinator's host that programs can still have.",
        host.available_memory_bytes},
       {"gangway_run_disk_bytes", "Size of the file system with the run directory.",
        host.disk_bytes},
       {"gangway_run_disk_available_bytes", "Free space on it.", host.available_disk_bytes},
       {"process_resident_memory_bytes", "Resident memory of the coordinator.",
        host.resident_bytes},
       {"process_open_fds", "Open descriptors of the coordinator.", host.open_descriptors},
       {"process_start_time_seconds", "When this start of the run began, since 1970.",
        sources.build.started_unix},
       {"process_cpu_seconds_total", "Processor time of the coordinator.",
        host.cpu_seconds.value_or(0.0)},
       {"gangway_page_connections", "Open connections to the page.", sources.load.connections},
       {"gangway_page_viewers", "Connections that receive events as they come.",
        sources.load.streams},
       {"gangway_page_requests_total", "Requests to the page.", sources.load.requests},
       {"gangway_page_refused_connections_total",
        "Connections to the page for which there was no room.", sources.load.refused}});
}

}  // namespace

void MetricsTotals::add_parts(const report::Tick& tick, double steps) {
  constexpr std::size_t kMostRanks = 64;  // one series for each rank and part
  totals_.part_names = tick.part_names;
  const std::span all(tick.parts);
  const auto add = [steps](std::vector<double>& sums, const std::vector<double>& seconds) {
    sums.resize(std::max(sums.size(), seconds.size()), 0.0);
    for (std::size_t part = 0; part < seconds.size(); ++part) {
      sums[part] += seconds[part] * steps;
    }
  };
  for (const report::WorkerParts& worker : all.first(std::min(all.size(), kMostRanks))) {
    add(totals_.part_seconds[worker.rank], worker.seconds);
    if (!worker.device_seconds.empty()) {
      add(totals_.device_part_seconds[worker.rank], worker.device_seconds);
    }
  }
}

void MetricsTotals::add(const report::Tick& tick) {
  totals_.training_seconds += tick.seconds_tick;
  for (const report::ExposedPhase& phase : tick.exposed) {
    totals_.exposed_seconds[phase.phase] += kPercent * phase.percent * tick.seconds_tick;
  }
  totals_.data_wait_seconds += kPercent * tick.data_percent * tick.seconds_tick;
  totals_.check_seconds += kPercent * tick.check_percent * tick.seconds_tick;
  totals_.snapshot_seconds += tick.snapshot_seconds;
  totals_.snapshot_wait_seconds += tick.snapshot_wait_seconds;
  totals_.snapshots += tick.snapshots;
  totals_.snapshot_bytes += tick.snapshot_mib * kMebibyte;
  if (tick.seconds_per_kimg > 0.0 && tick.kimg > 0.0) {
    const double kimg_per_step = tick.kimg / static_cast<double>(tick.step);
    const double steps = tick.seconds_tick / tick.seconds_per_kimg / kimg_per_step;
    totals_.sent_bytes += tick.sent_mib_per_step * kMebibyte * steps;
    add_parts(tick, steps);
  }
  for (const report::NetworkUpdate& update : tick.updates) {
    totals_.skipped_updates[update.network] += update.was_skipped ? 1 : 0;
  }
  totals_.checkpoints += static_cast<std::int64_t>(tick.checkpoints.size());
  if (!tick.checkpoints.empty()) {
    totals_.saved = tick.checkpoints.back();
  }
}

std::string metrics_text(const MetricSources& sources) {
  Families families;
  families.add({{"gangway_build_info", "1; the labels name version and run.", 1}},
               {{"version", sources.build.version}, {"run", sources.build.run}});
  add_training(families, sources.status);
  add_networks(families, sources.status);
  add_totals(families, sources.book);
  add_checkpoints(families, sources);
  add_workers(families, sources.status);
  add_host(families, sources);
  return prometheus::TextSerializer().Serialize(families.take());
}

}  // namespace gangway::coordinator
