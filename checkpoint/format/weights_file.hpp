// SPDX-License-Identifier: MIT
// One network's weights as a plain safetensors file: what `gangway checkpoints export` writes, and
// what the job keys generator.weights and discriminator.weights name. Names are the network's own,
// with dots: "generator/0/norm.weight" is "0.norm.weight". Values are float32, row-major.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/format/safetensors.hpp"
#include "checkpoint/format/stored_state.hpp"

namespace gangway::checkpoint {

/// "generator/0/norm.weight" → "0.norm.weight".
[[nodiscard]] std::string weights_name(std::string_view tensor);

/// Whether a tensor, as checkpoints or as weights name it, says how a training went and not what a
/// network is: it is never taken up.
[[nodiscard]] bool is_of_a_training(std::string_view name);

/// Which of a network's weights.
enum class WeightsKind {
  kAverage,  ///< their average over the training (EMA) where there is one, else the last
  kLast,
};

/// What export_weights wrote.
struct ExportedWeights {
  std::size_t tensors = 0;
  bool is_average = false;
};

/// Writes a network's weights and running statistics to a new `file`. @param network  "generator",
/// "discriminator"
/// @throws CheckpointError where they are missing or damaged; EnvironmentError where the file
/// exists or cannot be written.
ExportedWeights export_weights(StoredState& state, const std::string& network, WeightsKind kind,
                               const std::filesystem::path& file);

/// A tensor that a network wants.
struct WantedTensor {
  std::string name;  ///< as in checkpoints: "generator/0/weight"
  std::vector<std::int64_t> shape;
};

/// Weights to begin a training from. Called by a worker that starts afresh, before its first step,
/// and by `gangway run`, which has no networks, for what can be said without.
class InitialWeights {
 public:
  /// @param key  the job key, for messages. @throws ConfigError: the file is missing or damaged, or
  /// not float32.
  InitialWeights(std::string key, const std::filesystem::path& file);

  /// Elements of all tensors but running statistics: what parameter counts count.
  /// @param statistics  of the network, "0/path_length"
  [[nodiscard]] std::int64_t num_parameters(std::span<const std::string> statistics = {}) const;
  /// @throws ConfigError unless num_parameters() is `expected`.
  void require_parameters(std::int64_t expected,
                          std::span<const std::string> statistics = {}) const;
  /// Reads all values. @throws ConfigError where one is infinite or no number
  void require_finite() const;
  /// @throws ConfigError naming the first tensor that is missing, of another shape, or not wanted.
  void require(std::span<const WantedTensor> wanted) const;
  /// float32, row-major. @throws ConfigError where there is no such tensor.
  [[nodiscard]] std::span<const std::byte> bytes(const std::string& name) const;

 private:
  [[noreturn]] void refuse(const std::string& what) const;

  std::string key_;
  std::unique_ptr<SafetensorsFile> file_;
};

}  // namespace gangway::checkpoint
