// SPDX-License-Identifier: MIT
// Loads a run's generator from its newest valid checkpoint, or one network of a given checkpoint.
// Called by `apply`, `sample`, `evaluate` and `export`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "checkpoint/format/safetensors.hpp"
#include "gan/blocks/build_networks.hpp"
#include "job/spec.hpp"

namespace gangway::launch {

struct RunChoice {
  std::string run;  ///< run directory, or run name in `outdir`
  std::filesystem::path outdir = "runs";
  std::optional<std::int64_t> step;      ///< checkpoint step; nullopt: newest valid checkpoint
  DeviceKind device = DeviceKind::kCpu;  ///< device of the networks; GPUs: the first
  int threads = 2;                       ///< that compute, in programs
};

enum class WeightVersion {
  kAverage,
  kLast
};  ///< kAverage: exponential moving average over the training (EMA)

/// One network of a checkpoint.
struct NetworkChoice {
  std::string network;  ///< its name; empty: the network whose results are shown
  WeightVersion weights = WeightVersion::kAverage;  ///< kAverage: if the checkpoint has it
};

/// The run and the manifest that loaded weights belong to.
struct TrainedState {
  std::filesystem::path directory;  ///< of the run
  JobSpec job;                      ///< from the checkpoint: the model that the weights belong to
  std::string job_yaml;
  std::string checkpoint_id;
  std::int64_t step = 0;
  std::int64_t images = 0;
};

/// One network of the checkpoint.
struct TrainedRun : TrainedState {
  WeightVersion weights = WeightVersion::kLast;
  gan::Network network;
  /// Examples that another engine made of evaluation's inputs; undefined: the network makes them.
  at::Tensor made = {};
};

/// Copies `record` into `target`. @throws CheckpointError if shape or type differ
/// @param where  source of the record, for the message
void load_tensor(const checkpoint::TensorRecord& record, at::Tensor& target,
                 const std::string& where);

/// Loads a network. @throws CheckpointError naming file and tensor that are missing or damaged
[[nodiscard]] TrainedRun load_network(const std::filesystem::path& checkpoint,
                                      const NetworkChoice& choice);

/// Same, from the run's newest valid checkpoint, or that of `run.step`. Throws as
/// open_trained_job.
[[nodiscard]] TrainedRun open_network(const RunChoice& run, const NetworkChoice& choice);

/// All networks of a run's checkpoint, loaded by open_trained_job.
struct TrainedJob : TrainedState {
  PerNetwork<WeightVersion> weights;
  PerNetwork<gan::Network> networks;
};

/// Returns the run's directory; nullopt if it does not exist (yet).
[[nodiscard]] std::optional<std::filesystem::path> try_find_directory(const RunChoice& choice);

/// Finds the run, verifies the checkpoint and loads the generator, or all networks if the job has
/// its own step; averaged weights if the job keeps them. Prints one line to standard error for each
/// newer checkpoint that it rejects.
/// @throws ConfigError if the run does not exist; CheckpointError if it has no usable checkpoint or
/// not that step
[[nodiscard]] TrainedJob open_trained_job(const RunChoice& choice);

/// True if the generator makes pictures from noise. If the job's own step has a show(), the
/// generator may take or make something else.
[[nodiscard]] bool makes_samples(TrainedJob& trained);

/// Moves the network's parameters and buffers to a device. Compute thread.
void place_on(at::Device device, gan::Network& network);

/// Returns the generator. @throws ConfigError if it makes no pictures from noise
[[nodiscard]] TrainedRun samples_of(TrainedJob trained);

}  // namespace gangway::launch
