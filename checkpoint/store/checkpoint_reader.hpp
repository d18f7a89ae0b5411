// SPDX-License-Identifier: MIT
// Reads complete tensors of a checkpoint. Called by tools. Any thread.
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

#include "checkpoint/format/manifest.hpp"
#include "checkpoint/format/safetensors.hpp"

namespace gangway::checkpoint {

/// Reads complete tensors, row-major; each stays in memory. For tools that need few tensors. Loads
/// that must save memory or bandwidth use checkpoint/format/stored_state.hpp. Any thread.
class CheckpointReader {
 public:
  /// Checks the structure now and values on access, as StoredState. @throws CheckpointError.
  explicit CheckpointReader(const std::filesystem::path& checkpoint);
  ~CheckpointReader();
  CheckpointReader(CheckpointReader&&) noexcept;
  CheckpointReader& operator=(CheckpointReader&&) noexcept;
  CheckpointReader(const CheckpointReader&) = delete;
  CheckpointReader& operator=(const CheckpointReader&) = delete;

  [[nodiscard]] const Manifest& manifest() const;
  /// Reads all tensors of all files; sorted by name. @throws CheckpointError naming file, tensor
  /// and chunk, as find() and require().
  [[nodiscard]] std::vector<const TensorRecord*> tensors() const;
  /// Returns null if no file holds the tensor.
  [[nodiscard]] const TensorRecord* find(std::string_view name) const;
  /// Returns the tensor. @throws CheckpointError naming checkpoint and tensor if it is missing.
  [[nodiscard]] const TensorRecord& require(std::string_view name) const;

 private:
  struct Content;
  std::unique_ptr<Content> content_;
};

}  // namespace gangway::checkpoint
