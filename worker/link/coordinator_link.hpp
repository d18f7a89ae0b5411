// SPDX-License-Identifier: MIT
// A worker's side of the talk with the coordinator, as plain values: no Protobuf, no MPI, no
// LibTorch. The training session calls it from the compute thread, the checkpoint writer from its
// own; a fake serves in tests.
//
// Order of a life: join, connect the lifeline (worker/link/lifeline.hpp), ask_begin (and again,
// where what it names cannot be loaded), ready, then next_lease until one says `last`, then
// goodbye. After the steps of a lease come, in this order, its pictures and its checkpoint.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/errors.hpp"
#include "base/process_identity.hpp"
#include "job/microbatch_ranges.hpp"
#include "run/trace_steps.hpp"
#include "worker/link/state_link.hpp"

namespace gangway::worker {

/// How this process presents itself.
struct HelloInfo {
  int rank = 0;      ///< MPI rank, 1..W
  std::string host;  ///< for people
  ProcessIdentity process;
  std::uint64_t shared_memory = 0;  ///< shared_memory_identity()
  std::string device;               ///< "cpu" or the GPU's name
};

/// Where the lifeline is to be connected.
struct LifelineAddress {
  std::string hosts;  ///< numeric addresses of the coordinator's host, comma-separated, best first
  std::uint16_t port = 0;
  std::string token;  ///< 64 hexadecimal digits
};

/// Everything a worker needs before its first lease.
struct WelcomeInfo {
  std::int64_t epoch = 0;
  std::string job_yaml;                 ///< the resolved job
  std::string run_directory;            ///< absolute
  std::vector<MicrobatchRange> ranges;  ///< by worker index 0..W-1; this worker's index is rank - 1
  LifelineAddress lifeline;
  TraceSteps trace;
  /// As HelloInfo::shared_memory: whose snapshots the coordinator keeps when the run fails.
  std::uint64_t coordinator_memory = 0;
  std::string run_id;            ///< run/run_start.hpp
  std::int64_t incarnation = 0;  ///< counts the starts of the run
};

/// What this worker has set up.
struct ReadyInfo {
  std::uint64_t plan_hash = 0;  ///< worker/plan_hash.hpp: must be equal on all workers
  std::string plan_summary;     ///< one line for the log
  std::int64_t generator_parameters = 0;
  std::int64_t discriminator_parameters = 0;
  std::string data_fingerprint;  ///< of the examples
  std::string libtorch;          ///< version
  bool has_buddies = false;      ///< snapshots are copied to other hosts
};

/// The steps [begin, end) may be run. `begin == end` is possible: no step, only what follows.
struct LeaseInfo {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool pictures = false;             ///< after step `end`: worker 0 writes fakesNNNNNN.png
  std::string checkpoint_directory;  ///< not empty: after step `end`, write this worker's file
                                     ///< there, report the part
  bool last = false;  ///< no lease follows: say goodbye once every part has been reported
  /// Steps done, in (begin, end], after which one is taken, and copied to buddies.
  std::vector<std::int64_t> snapshots;
  std::int64_t protected_snapshot =
      -1;  ///< all have it, buddies too: it stays until there is another
};

struct MicrobatchLossInfo {
  int microbatch = 0;
  double generator = 0.0;  ///< mean over the micro-batch
  double discriminator =
      0.0;  ///< mean over the micro-batch and the step's repeats, penalties included
};

/// The wait for the exchanges that one phase began and a step awaited.
struct PhaseExposureInfo {
  int phase = 0;  ///< index into the job's phases
  std::string name;
  double seconds = 0.0;
  std::vector<double> by_bucket;  ///< the part of it for which each bucket was the last to come
  bool agrees = false;            ///< updates waited for the gradient's norm
};

/// Figures of one finished step of this worker.
struct ProgressInfo {
  std::int64_t step = 0;  ///< steps done
  std::vector<MicrobatchLossInfo> losses;
  double exposed_seconds = 0.0;              ///< the thread or the device's stream stood still
  std::vector<PhaseExposureInfo> exposures;  ///< what they consist of, by phase
  std::uint64_t unfired = 0;           ///< parameters whose phase left them without a gradient
  double data_seconds = 0.0;           ///< compute thread waiting for the loader
  double check_seconds = 0.0;          ///< compute thread at the checks (layout.check_steps)
  double host_wait_seconds = 0.0;      ///< compute thread waiting in exchanges
  std::uint64_t resident_bytes = 0;    ///< resident memory of the process
  std::uint64_t sent_bytes = 0;        ///< payload to peers in this step
  std::int64_t snapshot = -1;          ///< the newest that is whole; -1: none yet
  double snapshot_seconds = 0.0;       ///< for how long it was copied
  double snapshot_wait_seconds = 0.0;  ///< for how long of these an update waited
  std::uint64_t snapshot_bytes = 0;    ///< of one
  std::int64_t copied_snapshot = -1;   ///< the newest that the buddy has said to hold; -1: none
  std::int64_t tried_snapshot = -1;    ///< the newest that was copied to it, or given up
};

/// Thrown by what waits for the coordinator when that ends the job. It has already told the
/// user why: the worker leaves quietly (its message and exit code are for the log).
class StoppedByCoordinator : public Error {
 public:
  using Error::Error;
};

/// The talk with the coordinator. Thread: `checkpoint_part`, `picture`, `report` and `stop` from
/// any thread, the rest from the compute thread.
class CoordinatorLink : public StateLink {
 public:
  /// Says Hello and waits for the Welcome.
  /// @throws StoppedByCoordinator; CommError when `limit` passes.
  [[nodiscard]] virtual WelcomeInfo join(const HelloInfo& hello,
                                         std::chrono::milliseconds limit) = 0;

  /// Everything is set up and the lifeline stands: leases may flow. Never waits.
  virtual void ready(const ReadyInfo& ready) = 0;

  /// The next lease; granted one ahead, so that it is normally here already.
  /// @throws StoppedByCoordinator; CommError when `limit` passes.
  [[nodiscard]] virtual LeaseInfo next_lease(std::chrono::milliseconds limit) = 0;

  /// A step is done. Never waits.
  virtual void report(const ProgressInfo& progress) = 0;

  /// A picture was written: its name inside the run directory. Never waits.
  virtual void picture(std::int64_t step, const std::string& file) = 0;

  /// This worker cannot go on. Waits at most a second for the message to leave; the caller then
  /// ends the process.
  /// @param accused  worker that was waited for in vain, if one was
  virtual void stop(ExitCode code, const std::string& reason,
                    const std::optional<int>& accused) = 0;

  /// All leases done, nothing in flight. Waits until the message has left.
  /// @throws CommError when `limit` passes.
  virtual void goodbye(std::chrono::milliseconds limit) = 0;
};

}  // namespace gangway::worker
