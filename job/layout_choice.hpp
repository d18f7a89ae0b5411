// SPDX-License-Identifier: MIT
// Part `layout` of a job file. Nothing in it can change a weight (docs/numerics.md). Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "job/models/network_id.hpp"
#include "job/models/recipes.hpp"
#include "job/transports.hpp"

namespace gangway {

/// Work that the exchange of gradients and weights overlaps. Only the speed depends on it.
enum class Overlap { kNone, kWithin, kAcross };
/// Order of work on the workers of cut networks (docs/pipeline-stages.md). Only speed and memory
/// depend on it.
enum class StageOrder {
  /// Phase by phase. Between a phase's forwards and backwards, workers run the next phase's
  /// forwards, if these need nothing that this phase trains. They fill the wait for the first
  /// gradient. Their graphs are kept longer.
  kFill,
  kByPhase,  ///< all forwards of a phase, then its backwards (GPipe, Huang et al., 2019, by phase)
  /// As kFill, with at most as many micro-batches in flight as stages (1F1B, PipeDream-flush,
  /// Narayanan et al., 2021).
  kOneForwardOneBackward,
  /// As kFill, but a chunk computes its weight gradients some time after its input gradients, for
  /// which the previous worker waits (zero bubble, Qi et al., 2024).
  kZeroBubble,
};

/// Whether steps are recorded as CUDA graphs. kOverlap: gradients leave while a graph replays.
/// kBranches: the graph computes micro-batches beside one another.
enum class GraphChoice { kAuto, kOn, kOverlap, kBranches, kOff };
/// Reaction to workers that compute other bits than the rest (docs/numerics.md).
enum class MixedProcessors { kRefuse, kAllow };

/// Whether micro-batches move from slow workers to fast ones during the run (docs/going-on.md).
enum class Balance { kAuto, kOff };

/// Assignment of the chunks of cut networks to workers.
enum class StagePlacement {
  kLoop,  ///< the first workers hold the first chunk of each network
  kV,     ///< as kLoop for the job's first network; reversed for the rest
};

/// Placement of one network.
struct NetworkPlacement {
  std::vector<int> workers;  ///< layout.NETWORK less 1: its holders, ascending; empty: all
  /// layout.cuts.NETWORK: the blocks before which it is cut, ascending; nothing: layout.stages
  /// decides.
  std::optional<std::vector<int>> cuts;
  bool operator==(const NetworkPlacement&) const = default;
};

/// How workers execute their lists: all of a layout but the placement of networks. Decides speed,
/// memory, and the time after which a silent peer counts as lost.
struct Execution {
  TransportKind transport = TransportKind::kAuto;
  Overlap overlap = Overlap::kAcross;
  int buckets = 0;                          ///< of each network; 0: as suits the device
  StageOrder schedule = StageOrder::kFill;  ///< of networks that are cut
  /// Most micro-batches whose data for backward a worker keeps; 0: as the schedule needs.
  int in_flight = 0;
  int nccl_ctas = 0;  ///< most thread blocks (CTAs) of NCCL's kernels; 0: as suits the device
  double timeout_seconds = 60.0;  ///< deadline of every wait on a peer
  int check_steps = 100;          ///< steps between comparisons of the replicas' weights; 0: none
  bool audit = false;  ///< whether workers recompute random slices of each other's updates then
  /// Activation checkpointing: whether backward recomputes inner activations instead of keeping
  /// them.
  bool recompute = false;
  Balance balance = Balance::kAuto;
  GraphChoice cuda_graph = GraphChoice::kAuto;                  ///< numerics.cuda_graph
  MixedProcessors mixed_processors = MixedProcessors::kRefuse;  ///< numerics.mixed_processors
  /// Python environment of the user's networks: its folder, or the interpreter in it. Empty: auto
  /// (python/open/python_library.hpp).
  std::string python = {};
  bool operator==(const Execution&) const = default;
};

/// The layout part of a job file, or of a plan's candidate. job/layout/layout.hpp resolves it.
struct LayoutChoice : Execution {
  static constexpr int kAutoRestarts = -1;

  /// Profile by which `gangway run` chooses the layout. "auto": the one beside the job file, if it
  /// fits; empty: none, the keys alone decide.
  std::string plan;
  int data = 0;  ///< workers on the data axis; 0: auto, all that mpirun started
  /// Micro-batches of each worker, if all hold all networks; empty: an even split.
  std::vector<int> shares;
  int stages = 1;  ///< chunks of each network that has at least so many blocks
  StagePlacement placement = StagePlacement::kLoop;
  /// Losses of a process or a host after which `gangway run` restarts the job; auto: as long as the
  /// job makes progress.
  int restarts = kAutoRestarts;
  int min_workers = 1;  ///< with fewer, the job ends at the loss of a host
  PerNetwork<NetworkPlacement> networks;
  bool operator==(const LayoutChoice&) const = default;

  /// Returns whether it asks to cut `network`, which may have too few blocks.
  [[nodiscard]] bool wants_cut(NetworkId network) const;
  /// Returns whether it cuts any network.
  [[nodiscard]] bool cuts_networks() const;
  /// Returns whether it names workers of any network, or cuts any.
  [[nodiscard]] bool places_networks() const;
  /// Returns the layout of a job of `recipe` that gives no layout.
  [[nodiscard]] static LayoutChoice of(const Recipe& recipe);
};

}  // namespace gangway
