// SPDX-License-Identifier: MIT
// What a person is told once a tick: the numbers, and the one line that shows them. Made by the
// coordinator; pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/numbers/histogram.hpp"
#include "run/messages/gauges.hpp"

namespace gangway::report {

/// How long compute waited for the exchanges of one phase, on the worker that waited most in all.
struct ExposedPhase {
  std::string phase;   ///< "discriminator"
  double percent = 0;  ///< of the step time
  double seconds_per_step = 0;
  std::vector<double> by_bucket;  ///< seconds a step for which each bucket was the last to come
  bool agrees = false;            ///< updates wait for the gradient's norm (clip_norm)
};

/// A checkpoint that came to exist.
struct SavedCheckpoint {
  std::int64_t step = 0;
  double seconds =
      0;  ///< from the whole snapshot to the synced file, slowest worker, and of the commit
  double mib = 0;  ///< all files
};

struct NetworkLoss {
  std::string network;  ///< "generator"
  double loss = 0;      ///< mean over the tick, penalties included; may be NaN
  bool operator==(const NetworkLoss&) const = default;
};

/// Euclidean norms over all that a network trains.
struct UpdateNorms {
  double gradient = 0;      ///< of the mean gradient as the update used it: clipped where it clips
  double weights = 0;       ///< of what was updated, before
  double update_ratio = 0;  ///< norm of what the update added, over that of the weights
  bool operator==(const UpdateNorms&) const = default;
};

/// One of a tick's last updates of a network.
struct NetworkUpdate {
  std::string network;                 ///< "generator"
  std::int64_t count = 0;              ///< of the network's updates, this one included
  double lr = 0;                       ///< learning rate, schedules applied
  bool was_skipped = false;            ///< its gradient was not finite: there are no norms either
  std::optional<UpdateNorms> norms{};  ///< nothing of one that was skipped
  bool operator==(const NetworkUpdate&) const = default;
};

/// A mean over the micro-batches and steps of a tick.
struct TickFigure {
  std::string name;  ///< "discriminator_accuracy"
  double value = 0;
  bool operator==(const TickFigure&) const = default;
};

/// For TensorBoard alone.
struct TickHistogram {
  std::int64_t step = 0;  ///< that it is of
  std::string tag;        ///< "Gradients/generator/0/weight"
  HistogramCounts counts;
  bool operator==(const TickHistogram&) const = default;
};

/// Where the steps of one worker went, means over a tick.
struct WorkerParts {
  int rank = 0;
  std::vector<double> seconds;      ///< a step, in the order of Tick::part_names; they add up to it
  double waits_seconds = 0;         ///< of these: for others, or the device
  double core_share = 0;            ///< of the rest, but for waits for data: it had a core, 0 to 1
  double other_cores = 0;           ///< that its process's other threads had beside it, a mean
  double preemptions_per_step = 0;  ///< times that it lost one against its will
  double major_faults_per_step = 0;  ///< its pages that a disk had to bring
  std::vector<double> loader{};      ///< a step, by messages::kLoaderFigureNames
  /// A step of its device, as `seconds`, over the steps that it was looked at in; empty: none.
  std::vector<double> device_seconds{};
  double device_starved_share = 0;  ///< of the looks: it had nothing left to do
  messages::MemoryFigures memory{};
  [[nodiscard]] double step_seconds() const;
};

/// messages::MemoryFigures as they were at the end of a tick.
struct TickMemory {
  double resident_gib = 0;   ///< of all workers together, like the next two
  double allocated_gib = 0;  ///< given out by allocators
  double reserved_gib = 0;   ///< what they have
  double peak_gib = 0;       ///< of the worker that has had most
  std::int64_t retries = 0;  ///< of all workers' allocators, in the tick
  double used_gib = 0;       ///< by all processes, of the limit that has least left
  double limit_gib = 0;      ///< 0: unknown
  std::string limit;         ///< "GPU", "control group" or "host"
};

struct Tick {
  std::int64_t index = 0;             ///< ticks since the job began
  std::int64_t step = 0;              ///< steps done
  double kimg = 0;                    ///< thousand real images shown
  double seconds_total = 0;           ///< since the job began, earlier runs included
  double seconds_tick = 0;            ///< since the tick before
  double seconds_per_kimg = 0;        ///< over this tick
  double images_per_second = 0;       ///< over this tick, all workers
  std::vector<NetworkLoss> losses{};  ///< in the order of the job's networks
  double exposed_percent =
      0;                    ///< of the step time: compute waiting for communication, worst worker
  double data_percent = 0;  ///< of the step time: compute waiting for data, worst worker
  TickMemory memory{};
  double sent_mib_per_step = 0;  ///< payload to peers, all workers
  double checkpoint_age_kimg =
      0;  ///< kimg since the newest checkpoint (since the start, if there is none)
  double unix_seconds = 0;  ///< wall clock when the tick was made
  std::vector<ExposedPhase>
      exposed{};  ///< what exposed_percent consists of, in the order of the job's phases
  double check_percent =
      0;  ///< of the step time: compute at the checks (layout.check_steps), worst worker
  double host_wait_percent =
      0;  ///< of the step time: the compute thread waiting in exchanges, worst worker
  double throttled_percent =
      0;  ///< of the periods of its control group's CPU quota: used up, worst worker
  /// The GPU with the lowest clock of those that something slows.
  struct SlowGpu {
    int rank = 0;              ///< of a worker that computes there
    double clock_percent = 0;  ///< of its highest
    std::string slowed_by{};   ///< "power", "heat", "power and heat" or "hardware"
    bool operator==(const SlowGpu&) const = default;
  };
  std::optional<SlowGpu> slow_gpu{};
  std::int64_t unfired = 0;  ///< parameters that a step's phases left without a gradient, the most
  std::int64_t snapshots = 0;  ///< taken in this tick
  double snapshot_seconds =
      0;  ///< for which the lane copied them beside the training, slowest worker
  double snapshot_wait_seconds =
      0;                        ///< for which of these an update waited, worker that waited most
  double snapshot_percent = 0;  ///< snapshot_seconds of the tick's time
  double snapshot_mib = 0;      ///< copied by all workers
  std::vector<SavedCheckpoint> checkpoints{};  ///< committed since the tick before
  /// Of the networks whose updates were looked at, in the order of the job's.
  std::vector<NetworkUpdate> updates{};
  std::vector<TickFigure> figures{};        ///< by name
  std::vector<TickHistogram> histograms{};  ///< of steps since the tick before
  std::vector<std::string> part_names{};    ///< messages::step_part_names
  std::vector<WorkerParts> parts{};         ///< by rank
  /// The worker that waits for others least: they wait for it. Null: no worker has told its parts.
  [[nodiscard]] const WorkerParts* slowest() const;
};

/// "tick 12    kimg 48.0     time 1m 02s       sec/kimg 3.21   img/s 311.2   loss_g 1.214  …": one
/// line without newline, columns aligned from tick to tick, every value directly after its name and
/// one space. Last comes what communication costs: "comm 3.1% (D 2.0, G 1.1 agree) sent 24.0
/// MiB/step", phases by their initials, and what snapshots cost in a tick that has some: "snap
/// 0.21%", and what takes most of a step: "step D 41% G 38% workers 12%".
[[nodiscard]] std::string tick_line(const Tick& tick);

/// "47s", "1m 02s", "3h 07m 15s", "2d 04h 30m".
[[nodiscard]] std::string format_duration(double seconds);

/// The tick as one JSON object on one line without newline, keys as the members (`index` is
/// "tick"), what there is by network under keys that begin with its name; a number that is not
/// finite becomes null.
[[nodiscard]] std::string tick_json(const Tick& tick);

/// Takes up what the GPU of `rank` tells, if something slows it, and more than any other so far.
void note_gpu(Tick& tick, int rank, const std::optional<messages::DeviceGauges>& gauges);

}  // namespace gangway::report
