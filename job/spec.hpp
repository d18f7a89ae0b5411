// SPDX-License-Identifier: MIT
// What is to be trained and by whom: the resolved job file as plain values. No parsing here
// (job/keys/parse.hpp), no LibTorch.
//
// Everything outside `layout`, `checkpoint` and `output` can change a weight; those three never do.
#pragma once

#include <cstdint>
#include <string>

#include "job/models/model_spec.hpp"
#include "job/network_id.hpp"
#include "job/optimizers.hpp"
#include "job/transports.hpp"

namespace gangway {

enum class LossKind { kNonsaturating, kLeastSquares, kHinge, kWasserstein, kRelativistic };
enum class DecayKind { kNone, kCosine, kStep };
enum class MemoryFormat { kContiguous, kChannelsLast };
enum class DeviceKind { kCpu, kCuda };
/// Number format of what travels between hosts; all but fp32 are inexact (docs/numerics.md).
enum class WireFormat { kFp32, kBf16, kFp16 };
/// What the exchange of gradients and weights runs beside. Only the speed depends on it.
enum class Overlap { kNone, kWithin, kAcross };

struct DataSpec {
  std::string source =
      "fashion-mnist";  ///< fashion-mnist, idx:DIR, images:DIR_OR_ZIP, toy:ring8, toy:grid25
  bool mirror = false;  ///< horizontal flips, keyed by sample
  int prefetch = 4;     ///< micro-batches prepared ahead
  bool operator==(const DataSpec&) const = default;
};

struct PenaltySpec {
  double gradient_penalty = 0.0;  ///< lambda of WGAN-GP (Gulrajani et al., 2017, eq. 3); 0: none
  double r1_gamma = 0.0;          ///< gamma of R1 (Mescheder et al., 2018, eq. 9); 0: none
  int r1_interval =
      1;  ///< every so many steps; above 1 as its own lazy phase (StyleGAN2, appendix B)
  [[nodiscard]] bool is_any() const { return gradient_penalty > 0.0 || r1_gamma > 0.0; }
  bool operator==(const PenaltySpec&) const = default;
};

struct TrainingSpec {
  double kimg = 40;      ///< thousand real images shown to the discriminator
  int batch = 128;       ///< images a phase, over all workers
  int microbatches = 2;  ///< M: pieces the batch is cut into; the unit of arithmetic
  std::uint64_t seed = 0;
  LossKind loss = LossKind::kNonsaturating;
  PenaltySpec penalty;
  bool operator==(const TrainingSpec&) const = default;
};

/// Factor on the learning rate as a function of images seen.
struct ScheduleSpec {
  double warmup_kimg = 0.0;  ///< linear from 0
  DecayKind decay = DecayKind::kNone;
  double step_kimg = 0.0;  ///< kStep: multiply by `step_factor` every so many kimg
  double step_factor = 0.1;
  double final_factor = 0.0;  ///< kCosine: factor at training.kimg
  bool operator==(const ScheduleSpec&) const = default;
};

struct NetworkSpec {
  OptimizerSpec optimizer;
  ScheduleSpec schedule;
  double clip_norm = 0.0;  ///< global norm; 0: no clipping
  std::string weights;     ///< safetensors file to begin from; empty: keyed random numbers
  bool operator==(const NetworkSpec&) const = default;
};

struct GeneratorSpec : NetworkSpec {
  double ema_kimg = 10.0;  ///< half-life of the weight average; 0: no average is kept
  bool operator==(const GeneratorSpec&) const = default;
};

struct DiscriminatorSpec : NetworkSpec {
  int steps = 1;  ///< n_critic
  bool operator==(const DiscriminatorSpec&) const = default;
};

using WireSpec = PerNetwork<WireFormat>;  ///< fp32 each unless told otherwise

/// In which order the micro-batches' gradients are added.
enum class SumOrder {
  kTree,  ///< the job's: the same bits on any layout
  kNccl,  ///< NCCL's own, declared inexact
};
/// Which kernels a GPU computes with.
enum class KernelChoice {
  kDeterministic,
  kFastest,  ///< declared inexact: a run is not even equal to itself
};

struct NumericsSpec {
  int threads = 1;  ///< compute threads a worker: they change bits
  MemoryFormat memory_format = MemoryFormat::kChannelsLast;
  WireSpec wire;
  DeviceKind device = DeviceKind::kCpu;
  SumOrder order = SumOrder::kTree;
  KernelChoice kernels = KernelChoice::kDeterministic;
  bool operator==(const NumericsSpec&) const = default;
};

struct LayoutSpec {
  int data = 0;  ///< workers on the data axis; 0: auto, as many as mpirun started
  int stages = 1;
  int tensor = 1;
  TransportKind transport = TransportKind::kAuto;
  Overlap overlap = Overlap::kAcross;
  double timeout_seconds = 60.0;  ///< deadline of every wait on a peer
  int check_steps = 100;  ///< steps between two comparisons of the replicas' weights; 0: none
  bool audit = false;     ///< whether others recompute random slices of updates, as often
  bool operator==(const LayoutSpec&) const = default;
};

/// Checkpoints are taken at whichever comes first of the three intervals; 0: not by this one. One
/// is always taken at the end.
struct CheckpointSpec {
  static constexpr std::int64_t kAutoSnapshots = -1;

  double every_kimg = 10.0;
  double every_seconds = 0.0;
  std::int64_t every_steps = 0;
  int keep = 3;             ///< newest that stay
  double keep_every = 0.0;  ///< kimg; the first of each such stretch stays for good; 0: none
  int keep_best = 0;        ///< those with the best scores stay, so many; 0: none is scored
  std::int64_t score_samples = 10'000;  ///< generated examples of a score
  /// From one snapshot in memory to the next; 0: none are taken.
  std::int64_t snapshot_steps = kAutoSnapshots;
  bool operator==(const CheckpointSpec&) const = default;
};

struct OutputSpec {
  double tick_kimg = 1.0;
  double pictures_kimg = 4.0;
  int grid = 8;  ///< pictures a side of a grid
  bool operator==(const OutputSpec&) const = default;
};

struct JobSpec {
  ModelSpec model;
  DataSpec data;
  TrainingSpec training;
  GeneratorSpec generator;
  DiscriminatorSpec discriminator;
  NumericsSpec numerics;
  LayoutSpec layout;
  CheckpointSpec checkpoint;
  OutputSpec output;

  /// What is said about either network.
  [[nodiscard]] const NetworkSpec& of(NetworkId network) const {
    if (network == NetworkId::kGenerator) {
      return generator;
    }
    return discriminator;
  }
  /// The model with Normalization::kAuto replaced by what it stands for in this job.
  [[nodiscard]] ModelSpec settled_model() const;
  /// Images a micro-batch.
  [[nodiscard]] int images_per_microbatch() const { return training.batch / training.microbatches; }
  /// Real images that one step shows to the discriminator.
  [[nodiscard]] std::int64_t images_per_step() const {
    return static_cast<std::int64_t>(training.batch) * discriminator.steps;
  }
  /// Steps after which training.kimg is reached (rounded up).
  [[nodiscard]] std::int64_t total_steps() const;
  /// Steps between events that are given in kimg: at least 1; 0 stays 0.
  [[nodiscard]] std::int64_t steps_of_kimg(double kimg) const;
  bool operator==(const JobSpec&) const = default;
};

}  // namespace gangway
