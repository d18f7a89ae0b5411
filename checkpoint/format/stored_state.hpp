// SPDX-License-Identifier: MIT
// Reads a checkpoint's values wherever they are, and verifies each chunk of 4 MiB. Called by
// workers, which divide the chunks among themselves, and by tools, which want single tensors. One
// object belongs to one thread; it holds at most ten chunks of memory, never a file or a tensor.
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
  /// Reads manifest and headers and checks them against one another and against the files' sizes;
  /// values are verified as they are read. A checkpoint of format 1, which has no chunk sums, is
  /// read and verified in full here. @throws CheckpointError naming the file, and the tensor where
  /// known.
  explicit StoredState(const std::filesystem::path& checkpoint);
  ~StoredState();
  StoredState(StoredState&&) noexcept;
  StoredState& operator=(StoredState&&) noexcept;
  StoredState(const StoredState&) = delete;
  StoredState& operator=(const StoredState&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const;
  [[nodiscard]] const Manifest& manifest() const;
  /// By name.
  [[nodiscard]] std::span<const StoredTensor> tensors() const;
  /// Null when there is none of that name.
  [[nodiscard]] const StoredTensor* find(std::string_view name) const;
  /// @throws CheckpointError naming checkpoint and tensor.
  [[nodiscard]] const StoredTensor& require(std::string_view name) const;

  /// Reads elements [begin, end) of `tensor`, in stored order, into `out` of exactly that size.
  /// Reading on where the last call ended costs no chunk twice.
  /// @throws CheckpointError naming file, tensor and chunk.
  void read_elements(const StoredTensor& tensor, std::uint64_t begin, std::uint64_t end,
                     std::span<std::byte> out);
  /// Reads the whole of `tensor` into `out`, row-major. @throws as read_elements.
  void read_row_major(const StoredTensor& tensor, std::span<std::byte> out);

  /// All chunks of all files, in the order of files: what a load has to read, once. Readers take
  /// disjoint shares of this list.
  [[nodiscard]] std::vector<StoredChunk> chunks() const;
  /// Gets each chunk's bytes while the next is being read. `bytes` is valid during the call alone.
  using ChunkSink = std::function<void(const StoredChunk& chunk, std::span<const std::byte> bytes)>;
  /// @throws CheckpointError naming file, chunk and its tensors; what `sink` throws.
  void read_chunks(std::span<const StoredChunk> share, const ChunkSink& sink);

 private:
  struct Opened;
  std::unique_ptr<Opened> opened_;
};

}  // namespace gangway::checkpoint
