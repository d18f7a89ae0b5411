// SPDX-License-Identifier: MIT
// Reads a checkpoint's values and verifies each chunk of 4 MiB. Called by workers, which share the
// chunks, and by tools, which read single tensors. One thread per object. It holds at most ten
// chunks of memory, never a file or a tensor.
//
//   StoredState state(path);
//   const std::vector<StoredChunk> all = state.chunks();  // the same list on every worker
//   state.read_chunks(my_share_of(all), [&](const StoredChunk& chunk, auto bytes) {
//     for (const ChunkPart& part : chunk.parts) {
//       // bytes.subspan(part.offset, part.bytes): elements [part.begin, part.end) of
//       // state.tensors()[part.tensor] in its stored order
//     }
//   });
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "checkpoint/format/manifest.hpp"
#include "checkpoint/format/stored_chunk.hpp"
#include "checkpoint/format/stored_tensor.hpp"

namespace gangway::checkpoint {

class StoredState {
 public:
  /// Reads manifest and headers; checks them against each other and the file sizes. Values are
  /// verified when they are read. Format 1 has no chunk sums, so such a checkpoint is fully read
  /// and verified here. @throws CheckpointError naming the file, and the tensor where known.
  explicit StoredState(const std::filesystem::path& checkpoint);
  ~StoredState();
  StoredState(StoredState&&) noexcept;
  StoredState& operator=(StoredState&&) noexcept;
  StoredState(const StoredState&) = delete;
  StoredState& operator=(const StoredState&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const;
  [[nodiscard]] const Manifest& manifest() const;
  /// Sorted by name.
  [[nodiscard]] std::span<const StoredTensor> tensors() const;
  /// Returns null if no tensor has that name.
  [[nodiscard]] const StoredTensor* find(std::string_view name) const;
  /// Returns the tensor. @throws CheckpointError naming checkpoint and tensor if it is missing.
  [[nodiscard]] const StoredTensor& require(std::string_view name) const;

  /// Reads elements [begin, end) of `tensor`, in stored order, into `out` of exactly that size.
  /// Sequential calls read each chunk only once.
  /// @throws CheckpointError naming file, tensor and chunk.
  void read_elements(const StoredTensor& tensor, std::uint64_t begin, std::uint64_t end,
                     std::span<std::byte> out);
  /// Reads all of `tensor` into `out`, row-major. @throws as read_elements.
  void read_row_major(const StoredTensor& tensor, std::span<std::byte> out);

  /// Returns all chunks of all files, in file order. A load reads each once; workers take disjoint
  /// shares of this list.
  [[nodiscard]] std::vector<StoredChunk> chunks() const;
  /// Receives a chunk while the next is read. `bytes` is valid only during the call.
  using ChunkSink = std::function<void(const StoredChunk& chunk, std::span<const std::byte> bytes)>;
  /// @throws CheckpointError naming file, chunk and its tensors; any exception of `sink`.
  void read_chunks(std::span<const StoredChunk> share, const ChunkSink& sink);

 private:
  struct Opened;
  std::unique_ptr<Opened> opened_;
};

}  // namespace gangway::checkpoint
