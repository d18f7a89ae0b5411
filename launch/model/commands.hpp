// SPDX-License-Identifier: MIT
// The subcommands of gangway-model, which `gangway sample`, `gangway evaluate` and `gangway
// checkpoints export` start. Main thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launch/model/trained_run.hpp"

namespace gangway::launch {

enum class OutputFormat {
  kText,
  kJson,
  kRecord,  ///< one line, and the score alone is kept beside the checkpoint
};

struct EvaluateOptions {
  RunChoice run;
  /// What is not given is as the job's `evaluation` has it.
  std::optional<std::int64_t> images = {};  ///< generated examples
  std::filesystem::path features;           ///< weights of FD-LeNet, or a TorchScript network
  std::optional<FeatureResize> resize = {};
  std::optional<Metric> recorded = {};  ///< alone is kept beside the checkpoint
  std::filesystem::path lenet;          ///< weights of FD-LeNet
  std::optional<std::int64_t> real;  ///< training images to compare with, instead of the usual ones
  OutputFormat format = OutputFormat::kText;
  bool follows = false;  ///< follow_scores
  bool awaits = false;   ///< await_score
  /// Those given that are about the scores of generated images alone: "--real".
  std::vector<std::string> of_images;
};

struct SampleOptions {
  RunChoice run;
  std::string seeds = "0-63";
  std::filesystem::path picture = "grid.png";
  std::optional<std::int64_t> label;
  std::string interpolate;       ///< "A,B": frames between two seeds, in the place of `seeds`
  int frames = 16;               ///< of those
  std::filesystem::path noise;   ///< .npy, float [N, latent + codes]: likewise; empty: none
  std::filesystem::path single;  ///< a folder for a file each, in the place of the grid
  bool has_captions = false;     ///< seeds and labels under the pictures
  double truncation = 1.0;       ///< psi of gan/evaluation/truncation.hpp; 1: none
};

struct TrainFeaturesOptions {
  std::filesystem::path file;  ///< to be written; must not exist
};

struct ExportOptions {
  std::filesystem::path checkpoint;  ///< its folder
  std::filesystem::path file;        ///< to be written; must not exist
  std::string network;
  WeightVersion weights = WeightVersion::kAverage;
};

struct ComputeOptions {
  std::filesystem::path job_file;
  std::vector<std::string> overrides;  ///< "training.batch=64"
  double seconds = 0.2;                ///< for each time
  OutputFormat format = OutputFormat::kText;
};

struct NetworksOptions {
  std::filesystem::path job_file;
};

/// Makes the networks of a job, which tries those of the user's, and prints a line for each:
/// "network generator 1066880", its name and its trained numbers.
/// @throws ConfigError naming key and file of a network that cannot be trained
void describe_networks(const NetworksOptions& options);

/// Times each layer of a job's networks on one core and prints how near it comes to what the core
/// does at most. @throws ConfigError where there is nothing to time
void bench_compute(const ComputeOptions& options);

/// Prints FD-LeNet (or FID) with floor and ceiling, KID, precision, recall and classes; or the
/// modes covered, for a toy mixture and for stacked pictures; or for pairs how like the pictures
/// made are to those that they should be. @throws ConfigError for options that the score does not
/// take
void evaluate(const EvaluateOptions& options);
/// Writes a grid of pictures (a scatter plot for points), one a seed. @throws ConfigError for a
/// label of pictures that are made of other pictures
void sample(const SampleOptions& options);
/// Trains the feature network of FD-LeNet and writes its weights.
void train_features(const TrainFeaturesOptions& options);

/// Writes a network as TorchScript. @throws CheckpointError, EnvironmentError of one line.
void export_script(const ExportOptions& options);

/// "0-63", "1,5,9-12" → the seeds in that order. @throws ConfigError for anything else and for more
/// than 65,536 seeds.
[[nodiscard]] std::vector<std::uint64_t> parse_seeds(std::string_view text);

}  // namespace gangway::launch
