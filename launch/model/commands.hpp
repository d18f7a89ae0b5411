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
  std::int64_t samples = 10'000;   ///< generated examples
  std::filesystem::path features;  ///< weights of FD-LeNet
  OutputFormat format = OutputFormat::kText;
};

struct SampleOptions {
  RunChoice run;
  std::string seeds = "0-63";
  std::filesystem::path picture = "grid.png";
  std::optional<std::int64_t> label;
};

struct TrainFeaturesOptions {
  std::filesystem::path file;  ///< to be written; must not exist
};

struct ExportOptions {
  std::filesystem::path checkpoint;  ///< its folder
  std::filesystem::path file;        ///< to be written; must not exist
  std::string network = "generator";
  WeightVersion weights = WeightVersion::kAverage;
};

/// Prints FD-LeNet with floor and ceiling, precision, recall and classes, or the modes covered for
/// a toy mixture.
void evaluate(const EvaluateOptions& options);
/// Writes a grid of pictures (a scatter plot for points), one a seed.
void sample(const SampleOptions& options);
/// Trains the feature network of FD-LeNet and writes its weights.
void train_features(const TrainFeaturesOptions& options);

/// Writes a network as TorchScript. @throws CheckpointError, EnvironmentError of one line.
void export_script(const ExportOptions& options);

/// "0-63", "1,5,9-12" → the seeds in that order. @throws ConfigError for anything else and for more
/// than 65,536 seeds.
[[nodiscard]] std::vector<std::uint64_t> parse_seeds(std::string_view text);

}  // namespace gangway::launch
