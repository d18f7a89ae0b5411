// SPDX-License-Identifier: MIT
// A tick: a run's figures over some steps, and the line that shows them. Made by the coordinator;
// pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/index.hpp"
#include "base/numbers/histogram.hpp"
#include "run/messages/gauges.hpp"

namespace gangway::report {

/// Exposed communication of a phase: compute waits for its exchanges, on the most delayed worker.
struct ExposedPhase {
  std::string phase;   ///< of the step time
  double percent = 0;  ///< of the step time
  double seconds_per_step = 0;
  std::vector<double> by_bucket;  ///< seconds per step during which each bucket arrived last
  bool agrees = false;            ///< updates wait for the gradient's norm (clip_norm)
};

/// A newly committed checkpoint.
struct SavedCheckpoint {
  std::int64_t step = 0;
  double seconds = 0;  ///< from complete snapshot to synced file, slowest worker, plus the commit
  double mib = 0;      ///< all files
};

struct NetworkLoss {
  std::string network;  ///< "generator"
  double loss = 0;      ///< mean over the tick, penalties included; may be NaN
  bool operator==(const NetworkLoss&) const = default;
};

/// Euclidean norms over all trained parameters of a network.
struct UpdateNorms {
  double gradient = 0;      ///< of the mean gradient that the update used, after clipping
  double weights = 0;       ///< of the updated parameters, before the update
  double update_ratio = 0;  ///< norm of the change, divided by that of the weights
  bool operator==(const UpdateNorms&) const = default;
};

/// One of the last updates of a network in a tick.
struct NetworkUpdate {
  std::string network;                 ///< "generator"
  std::int64_t count = 0;              ///< the network's updates so far, including this one
  double lr = 0;                       ///< learning rate, schedules applied
  bool was_skipped = false;            ///< the gradient was not finite; there are no norms
  std::optional<UpdateNorms> norms{};  ///< empty if it was skipped
  bool operator==(const NetworkUpdate&) const = default;
};

/// A mean over the micro-batches and steps of a tick.
struct TickFigure {
  std::string name;  ///< "discriminator_accuracy"
  double value = 0;
  bool operator==(const TickFigure&) const = default;
};

/// A histogram for TensorBoard only.
struct TickHistogram {
  std::int64_t step = 0;  ///< step of the values
  std::string tag;        ///< "Gradients/generator/0/weight"
  HistogramCounts counts;
  bool operator==(const TickHistogram&) const = default;
};

/// Times of one worker's steps by part, as means over a tick.
struct WorkerParts {
  Rank rank{};
  std::vector<double> seconds;       ///< per step, in the order of Tick::part_names; sum: the step
  double waits_seconds = 0;          ///< of these: for other workers or the device
  double core_share = 0;             ///< of the rest without data waits: on a core, 0 to 1
  double other_cores = 0;            ///< cores used by its process's other threads, a mean
  double preemptions_per_step = 0;   ///< involuntary context switches
  double major_faults_per_step = 0;  ///< page faults that read from a disk
  std::vector<double> loader{};      ///< per step, by messages::kLoaderFigureNames
  /// The device's seconds per step, as `seconds`, over the sampled steps; empty: none.
  std::vector<double> device_seconds{};
  double device_starved_share = 0;  ///< share of samples with an idle device
  messages::MemoryFigures memory{};
  [[nodiscard]] double step_seconds() const;
};

/// messages::MemoryFigures at the end of a tick.
struct TickMemory {
  double resident_gib = 0;   ///< of all workers together, like the next two
  double allocated_gib = 0;  ///< in use, by the allocators
  double reserved_gib = 0;   ///< held by the allocators
  double peak_gib = 0;       ///< of the worker with the highest peak
  std::int64_t retries = 0;  ///< of all workers' allocators, in the tick
  double used_gib = 0;       ///< by all processes, of the tightest limit
  double limit_gib = 0;      ///< 0: unknown
  std::string limit;         ///< "GPU", "control group" or "host"
};

struct Tick {
  std::int64_t index = 0;             ///< ticks since the job began
  std::int64_t step = 0;              ///< steps done
  double kimg = 0;                    ///< thousand real images shown
  double seconds_total = 0;           ///< since the job began, including earlier runs
  double seconds_tick = 0;            ///< since the previous tick
  double seconds_per_kimg = 0;        ///< over this tick
  double images_per_second = 0;       ///< over this tick, all workers
  std::vector<NetworkLoss> losses{};  ///< in the order of the job's networks
  double exposed_percent = 0;  ///< of the step time: compute waits for exchanges, worst worker
  double data_percent = 0;     ///< of the step time: compute waiting for data, worst worker
  TickMemory memory{};
  double sent_mib_per_step = 0;    ///< payload to peers, all workers
  double checkpoint_age_kimg = 0;  ///< since the newest checkpoint; without one, since the start
  double unix_seconds = 0;         ///< wall clock when the tick was made
  std::vector<ExposedPhase> exposed{};  ///< parts of exposed_percent, in the job's order of phases
  double check_percent = 0;             ///< of the step time: layout.check_steps, worst worker
  double host_wait_percent = 0;  ///< of the step time: its thread waits in exchanges, worst worker
  double throttled_percent = 0;  ///< of the periods of its CPU quota: used up, worst worker
  /// The GPU with the lowest clock among the throttled GPUs.
  struct SlowGpu {
    Rank rank{};               ///< of a worker that computes there
    double clock_percent = 0;  ///< of its maximum
    std::string slowed_by{};   ///< "power", "heat", "power and heat" or "hardware"
    bool operator==(const SlowGpu&) const = default;
  };
  std::optional<SlowGpu> slow_gpu{};
  std::int64_t unfired = 0;          ///< most parameters without a gradient after a step's phases
  std::int64_t snapshots = 0;        ///< taken in this tick
  double snapshot_seconds = 0;       ///< lane's time to copy them during training, slowest worker
  double snapshot_wait_seconds = 0;  ///< of these: time that an update waited, most delayed worker
  double snapshot_percent = 0;       ///< snapshot_seconds as a share of the tick's time
  double snapshot_mib = 0;           ///< copied by all workers
  std::vector<SavedCheckpoint> checkpoints{};  ///< committed since the previous tick
  /// Updates of the sampled networks, in the order of the job's networks.
  std::vector<NetworkUpdate> updates{};
  std::vector<TickFigure> figures{};        ///< by name
  std::vector<TickHistogram> histograms{};  ///< of steps since the previous tick
  std::vector<std::string> part_names{};    ///< messages::step_part_names
  std::vector<WorkerParts> parts{};         ///< by rank
  /// Calls `it(key, member)` for each key of stats.jsonl that every tick has, in the file's order.
  void for_each(const auto& it) const {
    it("tick", index);
    it("step", step);
    it("kimg", kimg);
    it("seconds_total", seconds_total);
    it("seconds_tick", seconds_tick);
    it("seconds_per_kimg", seconds_per_kimg);
    it("images_per_second", images_per_second);
    it("exposed_percent", exposed_percent);
    it("exposed", exposed);
    it("unfired", unfired);
    it("data_percent", data_percent);
    it("check_percent", check_percent);
    it("host_wait_percent", host_wait_percent);
    it("throttled_percent", throttled_percent);
    it("resident_gib", memory.resident_gib);
    it("allocated_gib", memory.allocated_gib);
    it("reserved_gib", memory.reserved_gib);
    it("peak_gib", memory.peak_gib);
    it("allocation_retries", memory.retries);
    it("sent_mib_per_step", sent_mib_per_step);
    it("snapshots", snapshots);
    it("snapshot_seconds", snapshot_seconds);
    it("snapshot_wait_seconds", snapshot_wait_seconds);
    it("snapshot_percent", snapshot_percent);
    it("snapshot_mib", snapshot_mib);
    it("checkpoints", checkpoints);
    it("checkpoint_age_kimg", checkpoint_age_kimg);
    it("unix_seconds", unix_seconds);
  }
  /// Returns the worker that waits least for others, so they wait for it. Null: no parts reported.
  [[nodiscard]] const WorkerParts* slowest() const;
};

/// Returns "tick 12    kimg 48.0     time 1m 02s       sec/kimg 3.21   img/s 311.2   loss_g 1.214
/// …": one line without newline, aligned from tick to tick, each value one space after its name.
/// Then communication: "comm 3.1% (D 2.0, G 1.1 agree) sent 24.0 MiB/step", phases by initials;
/// snapshots, if any: "snap 0.21%"; the largest parts of a step: "step D 41% G 38% workers 12%".
[[nodiscard]] std::string tick_line(const Tick& tick);

/// Returns "47s", "1m 02s", "3h 07m 15s" or "2d 04h 30m".
[[nodiscard]] std::string format_duration(double seconds);

/// Returns the tick as a JSON object on one line without newline. Keys are the members' names
/// (`index` is "tick"); figures of a network begin with its name. Non-finite numbers become null.
[[nodiscard]] std::string tick_json(const Tick& tick);

/// Sets Tick::slow_gpu if the GPU of `rank` is throttled more than all others so far.
void note_gpu(Tick& tick, Rank rank, const std::optional<messages::DeviceGauges>& gauges);

}  // namespace gangway::report
