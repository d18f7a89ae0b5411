// SPDX-License-Identifier: MIT
// Small checkpoints and malformed files for the store's tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/format/manifest.hpp"
#include "checkpoint/format/safetensors.hpp"
#include "checkpoint/format/stored_state.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::checkpoint {

using testing::ScratchFolder;

/// A tensor that owns its bytes.
struct OwnedTensor {
  std::string name;
  ElementType type = ElementType::kF32;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> bytes;
  [[nodiscard]] TensorRecord record() const {
    return {.name = name, .type = type, .shape = shape, .bytes = bytes};
  }
};

/// Makes values that depend only on `salt`.
[[nodiscard]] OwnedTensor make_tensor(const std::string& name, ElementType type,
                                      std::vector<std::int64_t> shape, std::uint64_t salt);
/// A state of eight tensors of several types, one scalar, one empty; depends only on `step`.
[[nodiscard]] std::vector<OwnedTensor> sample_state(std::int64_t step);
[[nodiscard]] std::vector<TensorRecord> records(const std::vector<OwnedTensor>& tensors);

/// A manifest without files.
[[nodiscard]] Manifest sample_manifest(std::int64_t step);

/// Returns the worker that writes tensor `index`.
using Sharding = std::function<int(std::size_t index)>;
/// Writes the files of `state` into a new temporary and lists them in `manifest`; returns the
/// temporary.
std::filesystem::path write_parts(const std::filesystem::path& checkpoints_dir,
                                  const std::vector<OwnedTensor>& state, int num_workers,
                                  const Sharding& sharding, Manifest& manifest);
/// Commits a checkpoint of sample_state(step) whose tensors go to the workers in turn.
std::filesystem::path commit_sample(const std::filesystem::path& checkpoints_dir, std::int64_t step,
                                    int num_workers = 2);

/// Commits the same tensors in pieces, one per worker, cut at `num_workers` - 1 arbitrary places.
/// Tensors of four axes have channels last.
std::filesystem::path commit_sample_in_pieces(const std::filesystem::path& checkpoints_dir,
                                              std::int64_t step, int num_workers = 3);
std::filesystem::path commit_in_pieces(const std::filesystem::path& checkpoints_dir,
                                       const std::vector<OwnedTensor>& state, Manifest manifest,
                                       int num_workers);
/// Returns the bytes of the row-major `tensor` in the order of channels last.
[[nodiscard]] std::vector<std::byte> channels_last(const OwnedTensor& tensor);

/// Returns the whole tensor, row-major.
[[nodiscard]] std::vector<std::byte> bytes_of(StoredState& state, const StoredTensor& tensor);
/// Returns the texts in a safetensors file's header.
[[nodiscard]] std::map<std::string, std::string> metadata_in(const std::filesystem::path& file);

void write_text(const std::filesystem::path& path, std::string_view text);
[[nodiscard]] std::string read_text(const std::filesystem::path& path);
/// Returns the message of the CheckpointError that `action` throws; empty if it throws none.
[[nodiscard]] std::string checkpoint_error_of(const std::function<void()>& action);

}  // namespace gangway::checkpoint
