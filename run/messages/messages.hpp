// SPDX-License-Identifier: MIT
// What the coordinator (rank 0) and the workers (ranks 1..W) say to one another, as plain values:
// no MPI, no LibTorch. Both ends use them as they are; run/messages/codec.hpp turns them into bytes
// and back, by fields(): all members of a struct. The order of a talk:
// worker/link/coordinator_link.hpp. Pure.
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

/// Worker -> coordinator, first message: how this process presents itself. The coordinator answers
/// with Welcome or, where it cannot go on, with Stop.
struct Hello {
  static constexpr std::string_view kName = "Hello";
  /// Read of any build: a member may be appended to fields(), none moved, changed or removed.
  static constexpr bool kOutlivesBuilds = true;
  std::uint32_t protocol = kProtocolVersion;  ///< must be equal in both programs
  int rank = 0;                               ///< MPI rank, 1..W
  std::string host;                           ///< for people
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

/// Coordinator -> worker. Everything a worker needs before its first lease.
struct Welcome {
  static constexpr std::string_view kName = "Welcome";
  std::int64_t epoch = 0;     ///< that begins; all that the worker sends names it
  std::string job_yaml;       ///< the resolved job
  std::string fingerprint;    ///< job_fingerprint() of it
  std::string run_directory;  ///< absolute
  Layout layout;              ///< resolved; a worker's index in it is rank - 1
  GreetingAddress lifeline;   ///< connected before the first lease is asked for
  TraceSteps trace;
  bool copies_snapshots = false;  ///< to the disk when the run fails: rank 0 cannot see them
  bool goes_on = false;           ///< after a loss; the worker then copies only on request
  std::string run_id;             ///< run/run_start.hpp
  std::int64_t incarnation = 0;   ///< counts the starts of the run; the epoch counts within one
  std::vector<SettingsChange> changes;  ///< of decisions, in their order
  static auto fields(auto& it) {
    return std::tie(it.epoch, it.job_yaml, it.fingerprint, it.run_directory, it.layout, it.lifeline,
                    it.trace, it.copies_snapshots, it.goes_on, it.run_id, it.incarnation,
                    it.changes);
  }
  bool operator==(const Welcome&) const = default;
};

/// One worker's part of a snapshot, or a buddy's copy of it. Its structure was verified.
struct SnapshotPart {
  SnapshotId of;
  int worker = 0;  ///< of num_workers, when it was taken
  static auto fields(auto& it) { return std::tie(it.of, it.worker); }
  bool operator==(const SnapshotPart&) const = default;
};

/// Worker -> coordinator, after the Welcome: the snapshots of this run that its host holds. The
/// coordinator answers, when it has them all, with Begin.
struct Inventory {
  static constexpr std::string_view kName = "Inventory";
  std::vector<SnapshotPart> parts;
  static auto fields(auto& it) { return std::tie(it.parts); }
  bool operator==(const Inventory&) const = default;
};

/// A snapshot all of whose parts are somewhere.
struct WholeSnapshot {
  SnapshotId id;
  /// By the worker that took the part: the workers of this start, ascending, on whose host it or a
  /// copy of it lies. None is empty.
  std::vector<std::vector<int>> holders;
  static auto fields(auto& it) { return std::tie(it.id, it.holders); }
  bool operator==(const WholeSnapshot&) const = default;
};

/// Coordinator -> worker: the state to begin with. Neither checkpoint nor snapshot: a new one.
struct Begin {
  static constexpr std::string_view kName = "Begin";
  std::int64_t attempt = 0;  ///< counts the proposals, from 1
  std::int64_t step = 0;     ///< steps done in that state
  std::string checkpoint;    ///< absolute path; its structure was verified
  std::optional<WholeSnapshot> snapshot;
  bool keeps_newer = false;  ///< parts of a newer snapshot, whose others may come back with a host

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
  std::uint64_t total = 0;  ///< of this worker
  static auto fields(auto& it) { return std::tie(it.bytes, it.total); }
  bool operator==(const Loading&) const = default;
};

/// Worker -> coordinator: what Begin names could not be loaded. All workers then wait for another
/// Begin.
struct Unloadable {
  static constexpr std::string_view kName = "Unloadable";
  std::int64_t attempt = 0;  ///< of the Begin
  std::string reason;        ///< one line
  std::optional<int> part;   ///< of the snapshot; nothing: the checkpoint
  int holder = 0;            ///< the worker on whose host the part is damaged
  static auto fields(auto& it) { return std::tie(it.attempt, it.reason, it.part, it.holder); }
  bool operator==(const Unloadable&) const = default;
};

/// Something known of what a worker computes with, for people: "instructions", "AVX512".
struct ArithmeticFact {
  std::string name;
  std::string value;
  static auto fields(auto& it) { return std::tie(it.name, it.value); }
  bool operator==(const ArithmeticFact&) const = default;
};

/// By what a worker's numbers come about: worker/arithmetic/.
struct Arithmetic {
  std::string bits;                   ///< of the trial micro-batch: workers with other ones differ
  std::vector<ArithmeticFact> facts;  ///< ascending by name
  static auto fields(auto& it) { return std::tie(it.bits, it.facts); }
  bool operator==(const Arithmetic&) const = default;
};

/// Worker -> coordinator: set up, lifeline connected, state loaded; leases may flow.
struct Ready {
  static constexpr std::string_view kName = "Ready";
  std::uint64_t plan_hash = 0;           ///< worker/plan_hash.hpp: must be equal on all workers
  std::string plan_summary;              ///< one line for the log: parameters, buckets
  std::vector<std::int64_t> parameters;  ///< trained numbers, by network in the job's order
  std::string data_fingerprint;          ///< of the examples: must be equal on all workers
  std::string libtorch;                  ///< version of the arithmetic
  bool has_buddies = false;              ///< snapshots are copied to other hosts
  Arithmetic arithmetic;
  DataFiles data;
  static auto fields(auto& it) {
    return std::tie(it.plan_hash, it.plan_summary, it.parameters, it.data_fingerprint, it.libtorch,
                    it.has_buddies, it.arithmetic, it.data);
  }
  bool operator==(const Ready&) const = default;
};

/// Coordinator -> worker: the steps [begin, end) may be run. `begin` is the end of the lease
/// before; `begin == end`: no step, only what follows. Granted one ahead, so that no step waits.
struct Lease {
  static constexpr std::string_view kName = "Lease";
  std::int64_t begin = 0;
  std::int64_t end = 0;
  // After step `end` (steps done == end), in this order:
  bool pictures = false;             ///< worker 0 writes fakesNNNNNN.png
  std::string checkpoint_directory;  ///< not empty: write this worker's file there, report the part
  bool last = false;  ///< no lease follows: say Goodbye once every part has been reported
  /// Steps done, in (begin, end], after which one is taken, and copied to buddies; ascending.
  std::vector<std::int64_t> snapshots;
  /// All workers have that of this step, buddies too: it stays until there is another.
  std::optional<std::int64_t> protected_snapshot;
  /// Decided since the lease before; none holds before `begin`.
  std::vector<SettingsChange> changes;
  TraceSteps trace;  ///< to be traced, none before `begin`; none: as it was
  static auto fields(auto& it) {
    return std::tie(it.begin, it.end, it.pictures, it.checkpoint_directory, it.last, it.snapshots,
                    it.protected_snapshot, it.changes, it.trace);
  }
  bool operator==(const Lease&) const = default;
};

/// A number that people are shown, and nothing else looks at.
struct NamedFigure {
  std::string name;  ///< "discriminator_real_logit"
  double value = 0.0;
  static auto fields(auto& it) { return std::tie(it.name, it.value); }
  bool operator==(const NamedFigure&) const = default;
};

struct MicrobatchLoss {
  int microbatch = 0;
  /// Mean over the micro-batch and the step's repeats, penalties included; in the job's order.
  std::vector<double> by_network;
  /// Means too, each name once; not every step has all of them.
  std::vector<NamedFigure> figures = {};
  static auto fields(auto& it) { return std::tie(it.microbatch, it.by_network, it.figures); }
  bool operator==(const MicrobatchLoss&) const = default;
};

/// The wait for the exchanges that one phase began and a step awaited.
struct PhaseExposure {
  int phase = 0;     ///< index into the job's phases
  std::string name;  ///< "discriminator"
  double seconds = 0.0;
  std::vector<double> by_bucket;  ///< the part of it for which each bucket was the last to come
  bool agrees = false;            ///< updates waited for the gradient's norm
  static auto fields(auto& it) {
    return std::tie(it.phase, it.name, it.seconds, it.by_bucket, it.agrees);
  }
  bool operator==(const PhaseExposure&) const = default;
};

/// What a step was to a worker since its last report, in numbers that add up over those of a tick.
struct StepFigures {
  double exposed_seconds = 0.0;    ///< the thread or the device's stream stood still for exchanges
  std::vector<double> parts;       ///< seconds of the compute thread, by index_of(); add up to all
  double core_seconds = 0.0;       ///< for which it had a core
  std::uint64_t preemptions = 0;   ///< times that it lost one against its will
  std::uint64_t major_faults = 0;  ///< its pages that a disk had to bring
  std::vector<double> loader;      ///< of its loader, by kLoaderFigureNames
  std::vector<double> device_parts;  ///< as `parts`, of a device that lags behind
  std::uint64_t device_steps = 0;    ///< in so many steps
  std::uint64_t device_marks = 0;    ///< looks in them
  std::uint64_t device_starved = 0;  ///< at which it had nothing left to do
  /// Periods of the CPU quota that its control group has, and those in which that was used up.
  std::uint64_t quota_periods = 0;
  std::uint64_t throttled_periods = 0;
  double other_core_seconds = 0.0;  ///< for which the process's other threads had cores, all summed
  static auto fields(auto& it) {
    return std::tie(it.exposed_seconds, it.parts, it.core_seconds, it.preemptions, it.major_faults,
                    it.loader, it.device_parts, it.device_steps, it.device_marks, it.device_starved,
                    it.quota_periods, it.throttled_periods, it.other_core_seconds);
  }
  bool operator==(const StepFigures&) const = default;
};

/// An update that all workers have skipped, since they agreed that its gradient is not finite.
struct SkippedUpdate {
  int network = 0;          ///< index into the job's networks
  std::int64_t step = 0;    ///< it belongs to, counted when it is done
  std::int64_t update = 0;  ///< its number, which the next one has
  double loss_scale = 1.0;  ///< from now on
  static auto fields(auto& it) { return std::tie(it.network, it.step, it.update, it.loss_scale); }
  bool operator==(const SkippedUpdate&) const = default;
};

/// Sums of squares over the elements of a network that a worker updates: those of all workers add
/// up to squared norms.
struct UpdateSquares {
  double gradient = 0.0;  ///< of the mean gradient that the update used, clipped where it clips
  double change = 0.0;    ///< of what it added to the weights
  double weights = 0.0;   ///< of what they were before
  static auto fields(auto& it) { return std::tie(it.gradient, it.change, it.weights); }
  bool operator==(const UpdateSquares&) const = default;
};

/// One update of a network.
struct UpdateFigures {
  int network = 0;                            ///< index, in the job's order
  std::int64_t update = 0;                    ///< its number, from 1 on
  double lr = 0.0;                            ///< learning rate, schedules applied
  std::optional<UpdateSquares> squares = {};  ///< nothing of one that was skipped
  bool was_skipped = false;                   ///< it was not made: its gradient was not finite
  static auto fields(auto& it) {
    return std::tie(it.network, it.update, it.lr, it.squares, it.was_skipped);
  }
  bool operator==(const UpdateFigures&) const = default;
};

/// A worker's part of a histogram.
struct HistogramPart {
  std::int64_t step = 0;  ///< steps done, that it is of
  std::string tag;        ///< "Weights/generator/0/weight"
  HistogramCounts counts;
  static auto fields(auto& it) { return std::tie(it.step, it.tag, it.counts); }
  bool operator==(const HistogramPart&) const = default;
};

/// Worker -> coordinator, after every step (sent without waiting).
struct Progress {
  static constexpr std::string_view kName = "Progress";
  std::int64_t step = 0;               ///< steps done
  std::vector<MicrobatchLoss> losses;  ///< of this worker's micro-batches
  StepFigures figures;
  std::vector<PhaseExposure> exposures;  ///< what figures.exposed_seconds consist of, by phase
  std::uint64_t unfired = 0;             ///< parameters whose phase left them without a gradient
  MemoryFigures memory;
  std::uint64_t sent_bytes = 0;                 ///< payload to peers in this step
  std::optional<std::int64_t> snapshot;         ///< step of the newest that is whole on this worker
  double snapshot_seconds = 0.0;                ///< for how long it was copied
  double snapshot_wait_seconds = 0.0;           ///< for how long of these an update waited
  std::uint64_t snapshot_bytes = 0;             ///< of one
  std::optional<std::int64_t> copied_snapshot;  ///< the newest that the buddy has said to hold
  std::optional<std::int64_t> tried_snapshot;   ///< the newest that was copied to it, or given up
  std::vector<SkippedUpdate> skips = {};        ///< awaited in this step; equal on all workers
  /// Of updates that were looked at and are over; all workers tell the same ones in one step.
  std::vector<UpdateFigures> updates = {};
  std::vector<HistogramPart> histograms = {};
  std::optional<DeviceGauges> gauges = {};  ///< nothing: a CPU, or the driver has none
  static auto fields(auto& it) {
    return std::tie(it.step, it.losses, it.figures, it.exposures, it.unfired, it.memory,
                    it.sent_bytes, it.snapshot, it.snapshot_seconds, it.snapshot_wait_seconds,
                    it.snapshot_bytes, it.copied_snapshot, it.tried_snapshot, it.updates,
                    it.histograms, it.skips, it.gauges);
  }
  bool operator==(const Progress&) const = default;
};

/// Worker -> coordinator: its file of a checkpoint is on the disk (fsync done), on its way there,
/// or why there is none.
struct CheckpointPart {
  static constexpr std::string_view kName = "CheckpointPart";
  std::int64_t step = 0;
  std::string file;  ///< name inside the checkpoint directory
  std::uint64_t bytes = 0;
  std::string xxh3_128;    ///< 32 hexadecimal digits, of the whole file
  std::string error;       ///< not empty: the save failed, and why
  bool under_way = false;  ///< the disk takes it: of the rest only the step is known
  double seconds = 0.0;    ///< from the whole snapshot to the file on the disk
  static auto fields(auto& it) {
    return std::tie(it.step, it.file, it.bytes, it.xxh3_128, it.error, it.under_way, it.seconds);
  }
  bool operator==(const CheckpointPart&) const = default;
};

/// Worker -> coordinator: a picture was written.
struct Picture {
  static constexpr std::string_view kName = "Picture";
  std::int64_t step = 0;
  std::string file;  ///< name inside the run directory
  static auto fields(auto& it) { return std::tie(it.step, it.file); }
  bool operator==(const Picture&) const = default;
};

/// Either way: the sender cannot go on. From a worker: why. To a worker: end now with this code.
struct Stop {
  static constexpr std::string_view kName = "Stop";
  static constexpr bool kOutlivesBuilds = true;  ///< as Hello
  int exit_code = 0;
  std::string reason;  ///< one line: place and remedy
  int accused = 0;     ///< from a worker: the rank that it has waited for in vain; 0: none
  /// From a worker whose training diverged: steps done when that shows, equal under every layout;
  /// 0: unknown.
  std::int64_t step = 0;
  bool keep = false;  ///< from the coordinator: snapshots are to be copied to the disk
  static auto fields(auto& it) {
    return std::tie(it.exit_code, it.reason, it.accused, it.step, it.keep);
  }
  bool operator==(const Stop&) const = default;
};

/// Coordinator -> worker, before the Welcome, where the coordinator has much to read first, and
/// between two leases, where training waits for a score: it lives, and goes on.
struct Patience {
  static constexpr std::string_view kName = "Patience";
  static auto fields(auto& /*it*/) { return std::tie(); }
  bool operator==(const Patience&) const = default;
};

/// Worker -> coordinator: all leases done, nothing in flight.
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

/// A message as it is sent.
struct Envelope {
  /// Of the membership under which it was sent; one from another epoch is dropped. 0: before the
  /// Welcome.
  std::int64_t epoch = 0;
  Message message;
  bool operator==(const Envelope&) const = default;
};

}  // namespace gangway::messages
