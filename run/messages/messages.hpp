// SPDX-License-Identifier: MIT
// Defines the messages between coordinator (rank 0) and workers (ranks 1..W) as plain values. No
// MPI, no LibTorch. run/messages/codec.hpp converts them to bytes and back by fields(), which lists
// all members. worker/link/coordinator_link.hpp describes their order. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#include "base/numbers/histogram.hpp"
#include "base/process_identity.hpp"
#include "job/data_files.hpp"
#include "job/decisions.hpp"
#include "job/layout/layout.hpp"
#include "run/control_protocol.hpp"
#include "run/liveness/greeting.hpp"
#include "run/messages/gauges.hpp"
#include "run/snapshot_id.hpp"
#include "run/trace_steps.hpp"

namespace gangway::messages {

/// Worker -> coordinator, first message: identifies the worker's process, device and build. The
/// coordinator answers with Welcome or, if it cannot go on, with Stop.
struct Hello {
  static constexpr std::string_view kName = "Hello";
  /// Other builds can read it: append to fields(), but never move, change or remove a member.
  static constexpr bool kOutlivesBuilds = true;
  std::uint32_t protocol = kProtocolVersion;  ///< must be equal in both programs
  Rank rank{};
  std::string host;  ///< host name, for display
  ProcessIdentity process;
  std::uint64_t shared_memory = 0;  ///< shared_memory_identity()
  std::string device;               ///< "cpu" or the GPU's name
  std::string build;                ///< base/build_id.hpp; must be equal in both programs
  static auto fields(auto& it) {
    return std::tie(it.protocol, it.rank, it.host, it.process, it.shared_memory, it.device,
                    it.build);
  }
  bool operator==(const Hello&) const = default;
};

/// Coordinator -> worker: all that a worker needs before it asks for a state and a lease.
struct Welcome {
  static constexpr std::string_view kName = "Welcome";
  std::int64_t epoch = 0;     ///< the new epoch; every later message of the worker carries it
  std::string job_yaml;       ///< the resolved job
  std::string fingerprint;    ///< job_fingerprint() of the job
  std::string run_directory;  ///< absolute
  Layout layout;              ///< resolved
  GreetingAddress lifeline;   ///< the worker connects to it before it asks for its first lease
  TraceSteps trace;
  bool copies_snapshots = false;  ///< copy them to disk if the run fails: rank 0 cannot see them
  bool goes_on = false;           ///< the job restarts after a loss: copy only on request
  std::string run_id;             ///< run/run_start.hpp
  std::int64_t incarnation = 0;   ///< counts the starts of the run; the epoch counts within one
  std::vector<SettingsChange> changes;  ///< changes that decisions made, in their order
  static auto fields(auto& it) {
    return std::tie(it.epoch, it.job_yaml, it.fingerprint, it.run_directory, it.layout, it.lifeline,
                    it.trace, it.copies_snapshots, it.goes_on, it.run_id, it.incarnation,
                    it.changes);
  }
  bool operator==(const Welcome&) const = default;
};

/// One worker's part of a snapshot, or a buddy's copy of it. The sender has verified its structure.
struct SnapshotPart {
  SnapshotId of;
  int worker = 0;  ///< index of the worker that took it, below of.num_workers
  static auto fields(auto& it) { return std::tie(it.of, it.worker); }
  bool operator==(const SnapshotPart&) const = default;
};

/// Worker -> coordinator, after the Welcome: the snapshot parts of this run that its host holds.
/// The coordinator answers with Begin when it has all workers' Inventories.
struct Inventory {
  static constexpr std::string_view kName = "Inventory";
  std::vector<SnapshotPart> parts;
  static auto fields(auto& it) { return std::tie(it.parts); }
  bool operator==(const Inventory&) const = default;
};

/// A snapshot of which each part is on at least one host.
struct WholeSnapshot {
  SnapshotId id;
  /// Indexed by the worker that took the part. Holds the workers of this start, ascending, whose
  /// hosts have the part or a copy of it; never empty.
  std::vector<std::vector<WorkerIndex>> holders;
  static auto fields(auto& it) { return std::tie(it.id, it.holders); }
  bool operator==(const WholeSnapshot&) const = default;
};

/// Coordinator -> worker: the state to begin with. Without checkpoint and snapshot: a new state.
struct Begin {
  static constexpr std::string_view kName = "Begin";
  std::int64_t attempt = 0;  ///< number of this Begin, from 1
  std::int64_t step = 0;     ///< steps done in the state
  std::string checkpoint;    ///< absolute path; its structure was verified
  std::optional<WholeSnapshot> snapshot;
  bool keeps_newer = false;  ///< keep parts of a newer snapshot: a host may return with the rest

  [[nodiscard]] bool is_new() const { return checkpoint.empty() && !snapshot; }
  static auto fields(auto& it) {
    return std::tie(it.attempt, it.step, it.checkpoint, it.snapshot, it.keeps_newer);
  }
  bool operator==(const Begin&) const = default;
};

/// Worker -> coordinator, about every second while it reads a checkpoint.
struct Loading {
  static constexpr std::string_view kName = "Loading";
  std::uint64_t bytes = 0;  ///< read and verified
  std::uint64_t total = 0;  ///< bytes that this worker reads
  static auto fields(auto& it) { return std::tie(it.bytes, it.total); }
  bool operator==(const Loading&) const = default;
};

/// Worker -> coordinator: the worker could not load the state of a Begin. All workers then wait for
/// another Begin.
struct Unloadable {
  static constexpr std::string_view kName = "Unloadable";
  std::int64_t attempt = 0;  ///< attempt of the Begin
  std::string reason;        ///< one line
  std::optional<int> part;   ///< damaged part of the snapshot; nothing: the checkpoint is damaged
  WorkerIndex holder{};      ///< the worker on whose host the part is damaged
  static auto fields(auto& it) { return std::tie(it.attempt, it.reason, it.part, it.holder); }
  bool operator==(const Unloadable&) const = default;
};

/// A property of a worker's arithmetic, for display: "instructions", "AVX512".
struct ArithmeticFact {
  std::string name;
  std::string value;
  static auto fields(auto& it) { return std::tie(it.name, it.value); }
  bool operator==(const ArithmeticFact&) const = default;
};

/// A worker's arithmetic (worker/arithmetic/): decides which bits its results have.
struct Arithmetic {
  std::string bits;                   ///< of the trial micro-batch; differ if the arithmetic does
  std::vector<ArithmeticFact> facts;  ///< ascending by name
  static auto fields(auto& it) { return std::tie(it.bits, it.facts); }
  bool operator==(const Arithmetic&) const = default;
};

/// Worker -> coordinator: the worker is set up, its lifeline stands, its state is loaded. The
/// coordinator may send leases.
struct Ready {
  static constexpr std::string_view kName = "Ready";
  std::uint64_t plan_hash = 0;           ///< worker/plan_hash.hpp: must be equal on all workers
  std::string plan_summary;              ///< one line for the log: parameters, buckets
  std::vector<std::int64_t> parameters;  ///< number of trained scalars by network, in job order
  std::string data_fingerprint;          ///< hash of the examples: must be equal on all workers
  std::string libtorch;                  ///< LibTorch's version
  bool has_buddies = false;              ///< the worker copies its snapshots to another host
  Arithmetic arithmetic;
  DataFiles data;
  static auto fields(auto& it) {
    return std::tie(it.plan_hash, it.plan_summary, it.parameters, it.data_fingerprint, it.libtorch,
                    it.has_buddies, it.arithmetic, it.data);
  }
  bool operator==(const Ready&) const = default;
};

/// Coordinator -> worker: permits the steps [begin, end). `begin` is the end of the lease before.
/// If `begin == end`, only the work below is due. Granted one ahead, so that no step waits.
struct Lease {
  static constexpr std::string_view kName = "Lease";
  std::int64_t begin = 0;
  std::int64_t end = 0;
  // Work to do when `end` steps are done, in this order:
  bool pictures = false;             ///< worker 0 writes fakesNNNNNN.png
  std::string checkpoint_directory;  ///< not empty: write this worker's file there, report the part
  bool last = false;  ///< no lease follows: send Goodbye once every part has been reported
  /// Steps done, in (begin, end], after which to take a snapshot and copy it to buddies; ascending.
  std::vector<std::int64_t> snapshots;
  /// Step of the snapshot that all workers and buddies hold: keep it until another is protected.
  std::optional<std::int64_t> protected_snapshot;
  /// Changes decided since the lease before; none takes effect before `begin`.
  std::vector<SettingsChange> changes;
  TraceSteps trace;  ///< steps to trace, none before `begin`; empty: no change
  static auto fields(auto& it) {
    return std::tie(it.begin, it.end, it.pictures, it.checkpoint_directory, it.last, it.snapshots,
                    it.protected_snapshot, it.changes, it.trace);
  }
  bool operator==(const Lease&) const = default;
};

/// A number for display only.
struct NamedFigure {
  std::string name;  ///< "discriminator_real_logit"
  double value = 0.0;
  static auto fields(auto& it) { return std::tie(it.name, it.value); }
  bool operator==(const NamedFigure&) const = default;
};

struct MicrobatchLoss {
  int microbatch = 0;
  /// Mean loss of each network, in job order, over micro-batch and repeats, with penalties.
  std::vector<double> by_network;
  /// Means, too; each name occurs once; a step may lack some of them.
  std::vector<NamedFigure> figures = {};
  static auto fields(auto& it) { return std::tie(it.microbatch, it.by_network, it.figures); }
  bool operator==(const MicrobatchLoss&) const = default;
};

/// Time that a step waited for the exchanges that one phase started.
struct PhaseExposure {
  int phase = 0;     ///< index into the job's phases
  std::string name;  ///< "discriminator"
  double seconds = 0.0;
  std::vector<double> by_bucket;  ///< seconds of it caused by each bucket, as the last to arrive
  bool agrees = false;            ///< updates waited until workers agreed on the gradient's norm
  static auto fields(auto& it) {
    return std::tie(it.phase, it.name, it.seconds, it.by_bucket, it.agrees);
  }
  bool operator==(const PhaseExposure&) const = default;
};

/// Figures of a worker's step since its last report; they can be summed over steps and workers.
struct StepFigures {
  double exposed_seconds = 0.0;      ///< the compute thread or stream waited for exchanges
  std::vector<double> parts;         ///< compute thread's seconds by index_of(); sum: all its time
  double core_seconds = 0.0;         ///< time in which the compute thread had a core
  std::uint64_t preemptions = 0;     ///< involuntary context switches of the compute thread
  std::uint64_t major_faults = 0;    ///< page faults that read from a disk
  std::vector<double> loader;        ///< the loader's figures, by kLoaderFigureNames
  std::vector<double> device_parts;  ///< like `parts`, for a device that runs behind the thread
  std::uint64_t device_steps = 0;    ///< number of steps in device_parts
  std::uint64_t device_marks = 0;    ///< samples of the device's queue in these steps
  std::uint64_t device_starved = 0;  ///< samples at which the device had no work queued
  /// Periods of the control group's CPU quota, and periods in which the quota was used up.
  std::uint64_t quota_periods = 0;
  std::uint64_t throttled_periods = 0;
  double other_core_seconds = 0.0;  ///< core_seconds of all other threads of the process, summed
  static auto fields(auto& it) {
    return std::tie(it.exposed_seconds, it.parts, it.core_seconds, it.preemptions, it.major_faults,
                    it.loader, it.device_parts, it.device_steps, it.device_marks, it.device_starved,
                    it.quota_periods, it.throttled_periods, it.other_core_seconds);
  }
  bool operator==(const StepFigures&) const = default;
};

/// An update that all workers skipped because they agreed that its gradient is not finite.
struct SkippedUpdate {
  int network = 0;          ///< index into the job's networks
  std::int64_t step = 0;    ///< steps done after its step
  std::int64_t update = 0;  ///< its number; the next update has the same
  double loss_scale = 1.0;  ///< loss scale from now on
  static auto fields(auto& it) { return std::tie(it.network, it.step, it.update, it.loss_scale); }
  bool operator==(const SkippedUpdate&) const = default;
};

/// Sums of squares over the elements of a network that this worker updates. The sums of all workers
/// add up to squared norms.
struct UpdateSquares {
  double gradient = 0.0;  ///< mean gradient that the update used, after clipping
  double change = 0.0;    ///< change of the weights
  double weights = 0.0;   ///< weights before the update
  static auto fields(auto& it) { return std::tie(it.gradient, it.change, it.weights); }
  bool operator==(const UpdateSquares&) const = default;
};

/// One update of a network.
struct UpdateFigures {
  int network = 0;                            ///< index, in the job's order
  std::int64_t update = 0;                    ///< its number, from 1 on
  double lr = 0.0;                            ///< learning rate, after schedules
  std::optional<UpdateSquares> squares = {};  ///< nothing if the update was skipped
  bool was_skipped = false;                   ///< skipped because its gradient was not finite
  static auto fields(auto& it) {
    return std::tie(it.network, it.update, it.lr, it.squares, it.was_skipped);
  }
  bool operator==(const UpdateFigures&) const = default;
};

/// A worker's part of a histogram.
struct HistogramPart {
  std::int64_t step = 0;  ///< steps done when it was counted
  std::string tag;        ///< "Weights/generator/0/weight"
  HistogramCounts counts;
  static auto fields(auto& it) { return std::tie(it.step, it.tag, it.counts); }
  bool operator==(const HistogramPart&) const = default;
};

/// Worker -> coordinator, after every step: the step's results. The worker does not wait for it.
struct Progress {
  static constexpr std::string_view kName = "Progress";
  std::int64_t step = 0;               ///< steps done
  std::vector<MicrobatchLoss> losses;  ///< of this worker's micro-batches
  StepFigures figures;
  std::vector<PhaseExposure> exposures;  ///< figures.exposed_seconds, split by phase
  std::uint64_t unfired = 0;             ///< parameters that got no gradient in their phase
  MemoryFigures memory;
  std::uint64_t sent_bytes = 0;                 ///< payload to peers in this step
  std::optional<std::int64_t> snapshot;         ///< step of this worker's newest whole snapshot
  double snapshot_seconds = 0.0;                ///< duration of its copy
  double snapshot_wait_seconds = 0.0;           ///< part of that for which an update waited
  std::uint64_t snapshot_bytes = 0;             ///< size of one snapshot
  std::optional<std::int64_t> copied_snapshot;  ///< step of the newest that the buddy confirmed
  std::optional<std::int64_t> tried_snapshot;   ///< step of the newest sent to it, or given up
  std::vector<SkippedUpdate> skips = {};        ///< skips found in this step; equal on all workers
  /// Figures of finished updates that were sampled; in a step all workers report the same updates.
  std::vector<UpdateFigures> updates = {};
  std::vector<HistogramPart> histograms = {};
  std::optional<DeviceGauges> gauges = {};  ///< nothing: on a CPU, or the driver has none
  static auto fields(auto& it) {
    return std::tie(it.step, it.losses, it.figures, it.exposures, it.unfired, it.memory,
                    it.sent_bytes, it.snapshot, it.snapshot_seconds, it.snapshot_wait_seconds,
                    it.snapshot_bytes, it.copied_snapshot, it.tried_snapshot, it.updates,
                    it.histograms, it.skips, it.gauges);
  }
  bool operator==(const Progress&) const = default;
};

/// Worker -> coordinator: the worker's file of a checkpoint is on the disk (fsync done), is being
/// written, or failed.
struct CheckpointPart {
  static constexpr std::string_view kName = "CheckpointPart";
  std::int64_t step = 0;
  std::string file;  ///< name inside the checkpoint directory
  std::uint64_t bytes = 0;
  std::string xxh3_128;    ///< hash of the whole file, 32 hexadecimal digits
  std::string error;       ///< not empty: why the save failed
  bool under_way = false;  ///< being written; of the other members only `step` is valid
  double seconds = 0.0;    ///< from the complete snapshot to the file on the disk
  static auto fields(auto& it) {
    return std::tie(it.step, it.file, it.bytes, it.xxh3_128, it.error, it.under_way, it.seconds);
  }
  bool operator==(const CheckpointPart&) const = default;
};

/// Worker -> coordinator: the worker wrote a picture.
struct Picture {
  static constexpr std::string_view kName = "Picture";
  std::int64_t step = 0;
  std::string file;  ///< name inside the run directory
  static auto fields(auto& it) { return std::tie(it.step, it.file); }
  bool operator==(const Picture&) const = default;
};

/// Both directions: the sender cannot go on. From a worker it tells why; to a worker it means: exit
/// now with this code.
struct Stop {
  static constexpr std::string_view kName = "Stop";
  static constexpr bool kOutlivesBuilds = true;  ///< as Hello
  int exit_code = 0;
  std::string reason;  ///< one line: place and remedy
  Rank accused{};      ///< from a worker: the rank that it timed out on; 0: none
  /// From a worker whose training diverged: steps done when that shows, equal under every layout;
  /// 0: unknown.
  std::int64_t step = 0;
  bool keep = false;  ///< from the coordinator: copy the snapshots to the disk
  static auto fields(auto& it) {
    return std::tie(it.exit_code, it.reason, it.accused, it.step, it.keep);
  }
  bool operator==(const Stop&) const = default;
};

/// Coordinator -> worker: the coordinator lives and makes progress. Sent before the Welcome if it
/// reads much first, and between two leases while training waits for a score.
struct Patience {
  static constexpr std::string_view kName = "Patience";
  static auto fields(auto& /*it*/) { return std::tie(); }
  bool operator==(const Patience&) const = default;
};

/// Worker -> coordinator: the worker has done all leases and has nothing in flight.
struct Goodbye {
  static constexpr std::string_view kName = "Goodbye";
  static auto fields(auto& /*it*/) { return std::tie(); }
  bool operator==(const Goodbye&) const = default;
};

using Message = std::variant<Hello, Welcome, Inventory, Begin, Loading, Unloadable, Ready, Lease,
                             Progress, CheckpointPart, Picture, Stop, Patience, Goodbye>;

[[nodiscard]] inline std::string_view name_of(const Message& message) {
  return std::visit([](const auto& one) { return one.kName; }, message);
}

/// A message with the epoch of its sender.
struct Envelope {
  /// Epoch of the sender's membership; a message of another epoch is dropped. 0: before the
  /// Welcome.
  std::int64_t epoch = 0;
  Message message;
  bool operator==(const Envelope&) const = default;
};

}  // namespace gangway::messages
