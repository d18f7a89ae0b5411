// SPDX-License-Identifier: MIT
#include "coordinator/http/metrics.hpp"

#include <algorithm>
#include <limits>
#include <span>
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

/// Writes metric families in order; omits a family without a value.
class Families {
 public:
  void begin(MetricType type, std::string name, std::string help) {
    all_.push_back({.name = std::move(name), .help = std::move(help), .type = type, .metric = {}});
  }
  void add(double value, Labels labels = {}) {
    ClientMetric metric;
    metric.label = std::move(labels);
    if (all_.back().type == MetricType::Counter) {
      metric.counter.value = value;
    } else {
      metric.gauge.value = value;
    }
    all_.back().metric.push_back(std::move(metric));
  }
  template <typename Value>
  void add_if(const std::optional<Value>& value) {
    if (value) {
      add(static_cast<double>(*value));
    }
  }
  void gauge(std::string name, std::string help, double value) {
    begin(MetricType::Gauge, std::move(name), std::move(help));
    add(value);
  }
  template <typename Value>
  void gauge_if(std::string name, std::string help, const std::optional<Value>& value) {
    begin(MetricType::Gauge, std::move(name), std::move(help));
    add_if(value);
  }
  void counter(std::string name, std::string help, double value) {
    begin(MetricType::Counter, std::move(name), std::move(help));
    add(value);
  }
  [[nodiscard]] std::vector<MetricFamily> take() {
    std::erase_if(all_, [](const MetricFamily& family) { return family.metric.empty(); });
    return std::exchange(all_, {});
  }

 private:
  std::vector<MetricFamily> all_;
};

void add_training(Families& families, const JobStatus& status) {
  families.begin(MetricType::Gauge, "gangway_run_phase",
                 "1 for the run's phase: starting, training, pausing, paused, stopping, ended.");
  for (const JobPhase phase : {JobPhase::kStarting, JobPhase::kTraining, JobPhase::kPausing,
                               JobPhase::kPaused, JobPhase::kStopping, JobPhase::kEnded}) {
    families.add(phase == status.phase ? 1 : 0, {{"phase", std::string(name_of(phase))}});
  }
  families.gauge("gangway_run_starts", "Starts of the run so far, this one included.",
                 static_cast<double>(status.incarnation));
  families.counter("gangway_restarts_total",
                   "Starts of the run after the loss of a process or a host.",
                   static_cast<double>(status.restarts));
  families.gauge("gangway_training_step", "Steps done by all workers.",
                 static_cast<double>(status.step));
  families.gauge("gangway_training_planned_steps", "Steps that the job has.",
                 static_cast<double>(status.total_steps));
  families.counter("gangway_training_images_total", "Real images shown since the job began.",
                   status.kimg * kImagesPerKimg);
  families.gauge("gangway_training_images_per_second", "Images a second over the last tick.",
                 status.images_per_second);
  if (status.step_seconds > 0.0) {
    families.gauge("gangway_step_seconds", "Median duration of the last steps.",
                   status.step_seconds);
  }
  families.gauge_if("gangway_training_remaining_seconds",
                    "Time to the last step, at the present speed.", status.seconds_left);
}

void add_networks(Families& families, const JobStatus& status) {
  families.begin(MetricType::Gauge, "gangway_loss", "Mean loss of the last step.");
  for (const report::NetworkLoss& loss : status.losses) {
    families.add(loss.loss, {{"network", loss.network}});
  }
  if (!status.tick) {
    return;
  }
  const auto each = [&](std::string name, std::string help, auto value_of) {
    families.begin(MetricType::Gauge, std::move(name), std::move(help));
    for (const report::NetworkUpdate& update : status.tick->updates) {
      if (const std::optional<double> value = value_of(update)) {
        families.add(*value, {{"network", update.network}});
      }
    }
  };
  const auto norm = [](double report::UpdateNorms::*member) {
    return [member](const report::NetworkUpdate& update) {
      return update.norms ? std::optional((*update.norms).*member) : std::nullopt;
    };
  };
  each("gangway_learning_rate", "Learning rate of the last sampled update.",
       [](const report::NetworkUpdate& update) { return std::optional(update.lr); });
  each("gangway_gradient_norm", "Euclidean norm of the gradient that an update used.",
       norm(&report::UpdateNorms::gradient));
  each("gangway_weight_norm", "Euclidean norm of the weights before an update.",
       norm(&report::UpdateNorms::weights));
  each("gangway_update_ratio", "Norm of an update over the norm of the weights.",
       norm(&report::UpdateNorms::update_ratio));
  families.begin(MetricType::Gauge, "gangway_figure",
                 "Other figures of the job, means over the last tick: docs/run-directory.md.");
  for (const report::TickFigure& figure : status.tick->figures) {
    families.add(figure.value, {{"name", figure.name}});
  }
}

/// Adds a series for each worker and part.
void add_part_seconds(Families& families, const std::map<int, std::vector<double>>& by_rank,
                      const std::vector<std::string>& names) {
  for (const auto& [rank, seconds] : by_rank) {
    for (std::size_t part = 0; part < seconds.size(); ++part) {
      if (seconds[part] > 0.0) {
        families.add(seconds[part], {{"part", names[part]}, {"rank", std::to_string(rank)}});
      }
    }
  }
}

void add_totals(Families& families, const MetricsTotals& book) {
  const MetricsTotals::Totals& totals = book.totals();
  families.counter("gangway_training_seconds_total", "Time of the ticks of this start.",
                   totals.training_seconds);
  families.begin(MetricType::Counter, "gangway_exposed_communication_seconds_total",
                 "Time for which computing waited for exchanges, on the worker that waited most.");
  for (const auto& [phase, seconds] : totals.exposed_seconds) {
    families.add(seconds, {{"phase", phase}});
  }
  families.counter("gangway_data_wait_seconds_total",
                   "Time for which computing waited for data, on the worker that waited most.",
                   totals.data_wait_seconds);
  families.counter("gangway_check_seconds_total", "Time that layout.check_steps has cost.",
                   totals.check_seconds);
  families.begin(MetricType::Counter, "gangway_step_part_seconds_total",
                 "Where the time of a worker's compute thread went: docs/tuning.md.");
  add_part_seconds(families, totals.part_seconds, totals.part_names);
  families.begin(MetricType::Counter, "gangway_device_part_seconds_total",
                 "Where the time of a worker's GPU went, from the sampled steps.");
  add_part_seconds(families, totals.device_part_seconds, totals.part_names);
  families.counter("gangway_sent_bytes_total", "Payload between workers.", totals.sent_bytes);
  families.counter("gangway_snapshots_total", "Snapshots taken.",
                   static_cast<double>(totals.snapshots));
  families.counter("gangway_snapshot_bytes_total", "Bytes copied for snapshots.",
                   totals.snapshot_bytes);
  families.counter("gangway_snapshot_seconds_total",
                   "Time for which snapshots were copied, on the slowest worker.",
                   totals.snapshot_seconds);
  families.counter("gangway_snapshot_wait_seconds_total",
                   "Part of the copy time for which an update waited.",
                   totals.snapshot_wait_seconds);
  families.begin(MetricType::Counter, "gangway_skipped_updates_total",
                 "Ticks whose update of a network was skipped, as its gradient was not finite.");
  for (const auto& [network, count] : totals.skipped_updates) {
    families.add(static_cast<double>(count), {{"network", network}});
  }
  families.begin(MetricType::Gauge, "gangway_score",
                 "The last score of a checkpoint; lower is better.");
  for (const auto& [metric, value] : book.scores()) {
    families.add(value, {{"metric", metric}});
  }
}

void add_checkpoints(Families& families, const MetricSources& sources) {
  const MetricsTotals::Totals& totals = sources.book.totals();
  const JobStatus& status = sources.status;
  families.counter("gangway_checkpoints_total", "Checkpoints that this start has written.",
                   static_cast<double>(totals.checkpoints));
  // Before the first checkpoint, the age counts from the start, because none may ever come.
  const double since_start = status.unix_seconds - sources.build.started_unix;
  const auto age = status.checkpoint ? status.checkpoint->age_seconds : std::nullopt;
  families.gauge("gangway_checkpoint_age_seconds",
                 "Time since the newest checkpoint, or since the start.",
                 age.value_or(since_start));
  families.gauge("gangway_checkpoint_step", "Step of the newest checkpoint; 0: there is none.",
                 status.checkpoint ? static_cast<double>(status.checkpoint->step) : 0.0);
  if (totals.saved) {
    families.gauge("gangway_checkpoint_bytes", "Size of the newest checkpoint.",
                   totals.saved->mib * kMebibyte);
    families.gauge("gangway_checkpoint_write_seconds",
                   "Time from the whole snapshot to the committed checkpoint, the newest.",
                   totals.saved->seconds);
  }
  families.gauge_if("gangway_snapshot_step", "Step of the newest snapshot that all workers have.",
                    status.snapshot_step);
}

Labels labels_of(const WorkerStatus& worker) {
  return {{"rank", std::to_string(worker.rank)}, {"host", worker.host}, {"device", worker.device}};
}

void add_gpus(Families& families, const JobStatus& status) {
  const auto each = [&](std::string name, std::string help, auto member) {
    families.begin(MetricType::Gauge, std::move(name), std::move(help));
    for (const WorkerStatus& worker : status.workers) {
      if (const auto value = worker.gauges ? (*worker.gauges).*member : std::nullopt) {
        families.add(static_cast<double>(*value), labels_of(worker));
      }
    }
  };
  using Gauges = messages::DeviceGauges;
  each("gangway_gpu_utilization_ratio",
       "Share of the last moments in which the worker's GPU ran a kernel of any process.",
       &Gauges::busy);
  each("gangway_gpu_memory_used_bytes", "Memory of the worker's GPU in use by all processes.",
       &Gauges::used_bytes);
  each("gangway_gpu_memory_bytes", "Memory of the worker's GPU.", &Gauges::total_bytes);
  each("gangway_gpu_temperature_celsius", "The GPU's temperature.", &Gauges::celsius);
  each("gangway_gpu_power_watts", "Power draw of the worker's GPU.", &Gauges::watts);
  each("gangway_gpu_clock_ratio", "Clock of the worker's GPU over its maximum.", &Gauges::clock);
}

void add_workers(Families& families, const JobStatus& status) {
  const auto each = [&](std::string name, std::string help, auto value_of) {
    families.begin(MetricType::Gauge, std::move(name), std::move(help));
    for (const WorkerStatus& worker : status.workers) {
      families.add(static_cast<double>(value_of(worker)), labels_of(worker));
    }
  };
  each("gangway_worker_up", "1: the worker takes part.", [](const WorkerStatus& worker) {
    return worker.state == "joined" || worker.state == "ready" ? 1 : 0;
  });
  each("gangway_worker_steps", "Steps that the worker has done.",
       [](const WorkerStatus& worker) { return worker.steps_done; });
  each("gangway_worker_straggler", "1: the other workers wait for it in most steps.",
       [](const WorkerStatus& worker) { return worker.is_straggler ? 1 : 0; });
  if (!status.tick) {
    return;
  }
  each("gangway_worker_resident_memory_bytes", "Resident memory of the worker.",
       [](const WorkerStatus& worker) { return worker.memory.resident_bytes; });
  each("gangway_worker_allocated_memory_bytes",
       "Memory allocated on the worker's device; on a CPU the heap of its process.",
       [](const WorkerStatus& worker) { return worker.memory.allocated_bytes; });
  each("gangway_worker_reserved_memory_bytes", "Memory that the device's allocator holds.",
       [](const WorkerStatus& worker) { return worker.memory.reserved_bytes; });
  each("gangway_worker_peak_memory_bytes",
       "Peak so far: resident memory on a CPU, reserved memory on a GPU.",
       [](const WorkerStatus& worker) { return worker.memory.peak_bytes; });
  each("gangway_worker_allocation_retries",
       "Times so far that a GPU's allocator freed cached memory, or failed.",
       [](const WorkerStatus& worker) { return worker.memory.retries; });
  each("gangway_worker_work_seconds", "Work time of a step, mean of the last tick.",
       [](const WorkerStatus& worker) { return worker.work_seconds_per_step; });
  each("gangway_worker_wait_seconds",
       "Time of a step waiting for exchanges, mean of the last tick.",
       [](const WorkerStatus& worker) { return worker.wait_seconds_per_step; });
  each("gangway_worker_data_wait_seconds",
       "Time of a step waiting for data, mean of the last tick.",
       [](const WorkerStatus& worker) { return worker.data_seconds_per_step; });
  add_gpus(families, status);
}

void add_host(Families& families, const MetricSources& sources) {
  const HostFigures& host = sources.host;
  families.gauge_if("gangway_host_load1", "Load average of the coordinator's host, one minute.",
                    host.load_1_minute);
  families.gauge_if("gangway_host_memory_bytes", "Memory of the coordinator's host.",
                    host.memory_bytes);
  families.gauge_if("gangway_host_memory_available_bytes",
                    "Memory of the coordinator's host that programs can still have.",
                    host.available_memory_bytes);
  families.gauge_if("gangway_run_disk_bytes", "Size of the file system with the run directory.",
                    host.disk_bytes);
  families.gauge_if("gangway_run_disk_available_bytes", "Free space on it.",
                    host.available_disk_bytes);
  families.gauge_if("process_resident_memory_bytes", "Resident memory of the coordinator.",
                    host.resident_bytes);
  families.gauge_if("process_open_fds", "Open descriptors of the coordinator.",
                    host.open_descriptors);
  families.gauge("process_start_time_seconds", "When this start of the run began, since 1970.",
                 sources.build.started_unix);
  families.counter("process_cpu_seconds_total", "Processor time of the coordinator.",
                   host.cpu_seconds.value_or(0.0));
  families.gauge("gangway_page_connections", "Open connections to the page.",
                 static_cast<double>(sources.load.connections));
  families.gauge("gangway_page_viewers", "Connections that receive events as they come.",
                 static_cast<double>(sources.load.streams));
  families.counter("gangway_page_requests_total", "Requests to the page.",
                   static_cast<double>(sources.load.requests));
  families.counter("gangway_page_refused_connections_total",
                   "Connections to the page for which there was no room.",
                   static_cast<double>(sources.load.refused));
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
  families.begin(MetricType::Gauge, "gangway_build_info", "1; the labels name version and run.");
  families.add(1, {{"version", sources.build.version}, {"run", sources.build.run}});
  add_training(families, sources.status);
  add_networks(families, sources.status);
  add_totals(families, sources.book);
  add_checkpoints(families, sources);
  add_workers(families, sources.status);
  add_host(families, sources);
  return prometheus::TextSerializer().Serialize(families.take());
}

}  // namespace gangway::coordinator
