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

/// What the exchange of gradients and weights runs beside. Only the speed depends on it.
enum class Overlap { kNone, kWithin, kAcross };
/// In which order the workers of networks that are cut do their work (docs/pipeline-stages.md).
/// Only speed and memory depend on it.
enum class StageOrder {
  /// By phase, and between a phase's forwards and its backwards the next phase's forwards, if they
  /// need nothing that this phase trains: they fill the wait for the first gradient. Their graphs
  /// are
  /// kept longer.
  kFill,
  kByPhase,  ///< a phase's forwards of all micro-batches, then its backwards (GPipe, Huang et al.,
             ///< 2019, by phase)
  /// As filled, with no more micro-batches under way than there are stages (1F1B, PipeDream-flush,
  /// Narayanan et al., 2021).
  kOneForwardOneBackward,
  /// As filled, and the gradients of a chunk's weights come some time behind those of what it
  /// takes, for which the worker before it waits (zero bubble, Qi et al., 2024).
  kZeroBubble,
};

/// Whether steps are recorded as CUDA graphs; with kOverlap, gradients leave while one is played;
/// with branches, it has micro-batches beside one another.
enum class GraphChoice { kAuto, kOn, kOverlap, kBranches, kOff };
/// Of workers that compute other bits than the others do (docs/numerics.md).
enum class MixedProcessors { kRefuse, kAllow };

/// Whether micro-batches go from slow workers to fast ones while the job runs (docs/going-on.md).
enum class Balance { kAuto, kOff };

/// Which worker has which chunk of networks that are cut.
enum class StagePlacement {
  kLoop,  ///< the first workers have the first chunk of each
  kV,     ///< of the job's first network; of the others the last one
};

/// What the layout says of one network.
struct NetworkPlacement {
  std::vector<int> workers;  ///< layout.NETWORK: its holders, ascending; empty: all
  /// layout.cuts.NETWORK: the blocks before which it is cut, ascending; nothing: as layout.stages
  /// says
  std::optional<std::vector<int>> cuts;
  bool operator==(const NetworkPlacement&) const = default;
};

/// How workers carry their lists out: all of a layout but the placement of networks. It decides
/// speed and memory, and after how long a silent peer counts as lost.
struct Execution {
  TransportKind transport = TransportKind::kAuto;
  Overlap overlap = Overlap::kAcross;
  int buckets = 0;                          ///< of each network's gradients; 0: as suits the device
  StageOrder schedule = StageOrder::kFill;  ///< of networks that are cut
  /// Micro-batches of which a worker keeps what their backwards need, at most; 0: as the schedule.
  int in_flight = 0;
  double timeout_seconds = 60.0;  ///< deadline of every wait on a peer
  int check_steps = 100;  ///< steps between two comparisons of the replicas' weights; 0: none
  bool audit = false;     ///< whether others recompute random slices of updates, as often
  /// Activation checkpointing: whether what networks make inside is not kept for backward, but made
  /// again.
  bool recompute = false;
  Balance balance = Balance::kAuto;
  GraphChoice cuda_graph = GraphChoice::kAuto;                  ///< numerics.cuda_graph
  MixedProcessors mixed_processors = MixedProcessors::kRefuse;  ///< numerics.mixed_processors
  /// The environment whose interpreter runs networks that are the user's Python: its folder, or the
  /// interpreter in it; empty: auto (gan/python/python_library.hpp).
  std::string python = {};
  bool operator==(const Execution&) const = default;
};

/// The layout part of a job file, and what a plan considers. job/layout/layout.hpp resolves it.
struct LayoutChoice : Execution {
  static constexpr int kAutoRestarts = -1;

  /// The profile by which `gangway run` chooses the layout; "auto": the one beside the job file, if
  /// it fits; empty: none, the keys alone decide.
  std::string plan;
  int data = 0;  ///< workers on the data axis; 0: auto, as many as mpirun started
  /// Micro-batches of each worker, where all hold all networks; empty: evenly many.
  std::vector<int> shares;
  int stages = 1;  ///< chunks of each network that has as many blocks
  StagePlacement placement = StagePlacement::kLoop;
  /// Losses of a process or a host after which `gangway run` starts the job again; auto: as long as
  /// it gets on.
  int restarts = kAutoRestarts;
  int min_workers = 1;  ///< with fewer a lost host is not gone on without
  PerNetwork<NetworkPlacement> networks;
  bool operator==(const LayoutChoice&) const = default;

  /// Whether it cuts `network`, which may have too few blocks for that.
  [[nodiscard]] bool wants_cut(NetworkId network) const;
  /// Whether it cuts some network.
  [[nodiscard]] bool cuts_networks() const;
  /// Whether it names workers of a network, or cuts one.
  [[nodiscard]] bool places_networks() const;
  /// What a job of `recipe` has that says nothing about it.
  [[nodiscard]] static LayoutChoice of(const Recipe& recipe);
};

}  // namespace gangway
