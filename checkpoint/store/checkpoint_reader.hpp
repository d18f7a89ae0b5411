// SPDX-License-Identifier: MIT
// Whole tensors for small readers.
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

#include "checkpoint/format/manifest.hpp"
#include "checkpoint/format/safetensors.hpp"

namespace gangway::checkpoint {

/// Whole tensors of a checkpoint, row-major, for tools that want a few: each stays in memory once
/// it was read. Loads that care for memory or bandwidth use checkpoint/format/stored_state.hpp. Any
/// thread.
class CheckpointReader {
 public:
  /// As StoredState: structure now, values when they are asked for. @throws CheckpointError.
  explicit CheckpointReader(const std::filesystem::path& checkpoint);
  ~CheckpointReader();
  CheckpointReader(CheckpointReader&&) noexcept;
  CheckpointReader& operator=(CheckpointReader&&) noexcept;
  CheckpointReader(const CheckpointReader&) = delete;
  CheckpointReader& operator=(const CheckpointReader&) = delete;

  [[nodiscard]] const Manifest& manifest() const;
  /// Sorted by name, over all files: reads everything. @throws CheckpointError naming file, tensor
  /// and chunk, here and below.
  [[nodiscard]] std::vector<const TensorRecord*> tensors() const;
  /// Null when no file holds it.
  [[nodiscard]] const TensorRecord* find(std::string_view name) const;
  /// @throws CheckpointError naming checkpoint and tensor also when it is missing.
  [[nodiscard]] const TensorRecord& require(std::string_view name) const;

 private:
  struct Content;
  std::unique_ptr<Content> content_;
};

}  // namespace gangway::checkpoint
