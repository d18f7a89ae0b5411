// SPDX-License-Identifier: MIT
// Writes and reads one network's weights as a plain safetensors file: float32, row-major. Called by
// `gangway checkpoints export`, and for the job keys generator.weights and discriminator.weights.
// Names are the network's own: "generator/0/norm.weight" becomes "0.norm.weight".
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/format/safetensors.hpp"
#include "checkpoint/format/stored_state.hpp"

namespace gangway::checkpoint {

/// Returns "0.norm.weight" for "generator/0/norm.weight".
[[nodiscard]] std::string weights_name(std::string_view tensor);

/// Whether a tensor records the state of a training, not of a network, by its name in checkpoints
/// or weights files. Initial weights never include it.
[[nodiscard]] bool is_of_a_training(std::string_view name);

/// Which weights of a network are exported.
enum class WeightsKind {
  kAverage,  ///< their average over the training (EMA) if there is one, else the last
  kLast,
};

/// What export_weights() has written.
struct ExportedWeights {
  std::size_t tensors = 0;
  bool is_average = false;
};

/// Writes a network's weights and running statistics to a new `file`. @param network  "generator"
/// or "discriminator"
/// @throws CheckpointError if they are missing or damaged; EnvironmentError if the file exists or
/// cannot be written.
ExportedWeights export_weights(StoredState& state, const std::string& network, WeightsKind kind,
                               const std::filesystem::path& file);

/// A tensor that a network requires.
struct WantedTensor {
  std::string name;  ///< as in checkpoints: "generator/0/weight"
  std::vector<std::int64_t> shape;
};

/// Reads the initial weights of a training. Called by a worker before step 0 of a new run, and by
/// `gangway run`, which has no networks, for the checks that need none.
class InitialWeights {
 public:
  /// @param key  the job key, for messages. @throws ConfigError if the file is missing, damaged or
  /// not float32.
  InitialWeights(std::string key, const std::filesystem::path& file);

  /// Counts the elements of all tensors except running statistics.
  /// @param statistics  names of the network's statistics, "0/path_length"
  [[nodiscard]] std::int64_t num_parameters(std::span<const std::string> statistics = {}) const;
  /// @throws ConfigError unless num_parameters() is `expected`.
  void require_parameters(std::int64_t expected,
                          std::span<const std::string> statistics = {}) const;
  /// Reads all values. @throws ConfigError if a value is infinite or NaN
  void require_finite() const;
  /// @throws ConfigError naming the first tensor that is missing, superfluous or of another shape.
  void require(std::span<const WantedTensor> wanted) const;
  /// Returns the values: float32, row-major. @throws ConfigError if there is no such tensor.
  [[nodiscard]] std::span<const std::byte> bytes(const std::string& name) const;

 private:
  [[noreturn]] void refuse(const std::string& what) const;

  std::string key_;
  std::unique_ptr<SafetensorsFile> file_;
};

}  // namespace gangway::checkpoint
