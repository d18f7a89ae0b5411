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

/// Values that depend on `salt` alone.
[[nodiscard]] OwnedTensor make_tensor(const std::string& name, ElementType type,
                                      std::vector<std::int64_t> shape, std::uint64_t salt);
/// A state of eight tensors of several types that depends on `step` alone: one scalar, one empty.
[[nodiscard]] std::vector<OwnedTensor> sample_state(std::int64_t step);
[[nodiscard]] std::vector<TensorRecord> records(const std::vector<OwnedTensor>& tensors);

/// All but the files.
[[nodiscard]] Manifest sample_manifest(std::int64_t step);

/// Which worker writes tensor `index`.
using Sharding = std::function<int(std::size_t index)>;
/// Writes the files of `state` into a new temporary and lists them in `manifest`; returns the
/// temporary.
std::filesystem::path write_parts(const std::filesystem::path& checkpoints_dir,
                                  const std::vector<OwnedTensor>& state, int num_workers,
                                  const Sharding& sharding, Manifest& manifest);
/// A committed checkpoint of sample_state(step), dealt out to the workers in turn.
std::filesystem::path commit_sample(const std::filesystem::path& checkpoints_dir, std::int64_t step,
                                    int num_workers = 2);

/// The same tensors in pieces: cut at `num_workers` - 1 places that fall anywhere, a piece a
/// worker; those of four axes with channels last.
std::filesystem::path commit_sample_in_pieces(const std::filesystem::path& checkpoints_dir,
                                              std::int64_t step, int num_workers = 3);
std::filesystem::path commit_in_pieces(const std::filesystem::path& checkpoints_dir,
                                       const std::vector<OwnedTensor>& state, Manifest manifest,
                                       int num_workers);
/// The bytes of `tensor`, which is row-major, as they are stored with channels last.
[[nodiscard]] std::vector<std::byte> channels_last(const OwnedTensor& tensor);

/// The whole tensor, row-major.
[[nodiscard]] std::vector<std::byte> bytes_of(StoredState& state, const StoredTensor& tensor);
/// The texts in a safetensors file's header.
[[nodiscard]] std::map<std::string, std::string> metadata_in(const std::filesystem::path& file);

void write_text(const std::filesystem::path& path, std::string_view text);
[[nodiscard]] std::string read_text(const std::filesystem::path& path);
/// The message of the CheckpointError that `action` throws; empty when it throws none.
[[nodiscard]] std::string checkpoint_error_of(const std::function<void()>& action);

}  // namespace gangway::checkpoint
