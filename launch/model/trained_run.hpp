// SPDX-License-Identifier: MIT
// A run's generator, as its newest valid checkpoint has it, or one network of one checkpoint. Used
// by `sample`, `evaluate` and `export`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "gan/blocks/build_networks.hpp"
#include "job/spec.hpp"

namespace gangway::launch {

struct RunChoice {
  std::string run;  ///< a run directory, or a run's name in `outdir`
  std::filesystem::path outdir = "runs";
  std::optional<std::int64_t> step;      ///< of the checkpoint; nothing: the newest valid one
  DeviceKind device = DeviceKind::kCpu;  ///< where its networks compute; of GPUs the first
};

enum class WeightVersion {
  kAverage,
  kLast
};  ///< kAverage: the exponential moving average over the training (EMA)

/// One network of a checkpoint.
struct NetworkChoice {
  std::string network;  ///< its name; empty: the one whose results are shown
  WeightVersion weights = WeightVersion::kAverage;  ///< kAverage: where the checkpoint has it
};

struct TrainedNetwork {
  JobSpec job;  ///< the checkpoint's own: these weights belong to that model
  std::string job_yaml;
  std::string checkpoint_id;
  std::int64_t step = 0;
  std::int64_t images = 0;
  WeightVersion weights = WeightVersion::kLast;
  gan::Network network;
};

/// @throws CheckpointError naming the file and the tensor of what is missing or damaged.
[[nodiscard]] TrainedNetwork load_network(const std::filesystem::path& checkpoint,
                                          const NetworkChoice& choice);

/// The networks of a run's checkpoint, as open_trained_job loads them.
struct TrainedJob {
  std::filesystem::path directory;
  JobSpec job;  ///< as TrainedNetwork's
  std::string job_yaml;
  std::string checkpoint_id;
  std::int64_t step = 0;
  std::int64_t images = 0;
  PerNetwork<WeightVersion> weights;
  PerNetwork<gan::Network> networks;
};

struct TrainedRun {
  std::filesystem::path directory;
  JobSpec job;
  std::string checkpoint_id;
  std::int64_t step = 0;
  std::int64_t images = 0;
  WeightVersion weights = WeightVersion::kLast;
  gan::Network generator;
};

/// The directory of the run; nothing where there is none (yet).
[[nodiscard]] std::optional<std::filesystem::path> try_find_directory(const RunChoice& choice);

/// Finds the run, verifies the checkpoint and loads the generator, and where the job has its own
/// step all networks: averages where the job keeps some. Refused newer checkpoints cost one line
/// each on standard error.
/// @throws ConfigError when there is no such run; CheckpointError when it has no usable checkpoint
/// or not that step.
[[nodiscard]] TrainedJob open_trained_job(const RunChoice& choice);

/// Whether the generator makes pictures of noise: where the step has a show() of its own it may
/// take, and make, whatever that likes.
[[nodiscard]] bool makes_samples(TrainedJob& trained);

/// Moves what the network is made of. Compute thread.
void place_on(at::Device device, gan::Network& network);

/// The generator. @throws ConfigError where it draws no examples but changes pictures, or the above
[[nodiscard]] TrainedRun samples_of(TrainedJob trained);

}  // namespace gangway::launch
