// SPDX-License-Identifier: MIT
// Writes a new file in chunks and sums each. It prepares the next chunk while the disk writes the
// last one. Internal to the store; called by one thread.
#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <semaphore>
#include <span>
#include <thread>
#include <vector>

#include "checkpoint/files/aligned_buffer.hpp"
#include "checkpoint/files/crc32c.hpp"
#include "checkpoint/files/durable_file.hpp"

namespace gangway::checkpoint {

/// Copies all bytes through two chunks of memory, whose pages the disk takes faster than a
/// snapshot's pages (checkpoint/files/aligned_buffer.hpp).
class ChunkWriter {
 public:
  /// @param on_chunk  called for each chunk that goes to the disk. @throws as NewFile.
  ChunkWriter(const FileSystem& files, const std::filesystem::path& path, std::uint64_t bytes,
              std::function<void()> on_chunk = {});
  ~ChunkWriter();
  ChunkWriter(const ChunkWriter&) = delete;
  ChunkWriter& operator=(const ChunkWriter&) = delete;

  /// Appends. @throws as NewFile::write; the exception may come one call later.
  void append(std::span<const std::byte> bytes);
  /// Syncs and closes. @return CRC32C of every chunk. @throws as NewFile::write and finish.
  [[nodiscard]] std::vector<std::uint32_t> finish();

 private:
  static constexpr int kSlots = 2;
  struct Slot {
    AlignedBuffer buffer;
    std::span<const std::byte> chunk;  ///< empty: end of the file
  };

  /// Returns the free rest of the slot that is being filled.
  std::span<std::byte> room();
  /// Sums a complete chunk and passes it to the thread.
  void hand_over(std::span<const std::byte> chunk);
  /// Waits until all chunks are written; throws nothing.
  void drain();
  void rethrow_failure() const;
  void write_all();

  NewFile file_;
  std::function<void()> on_chunk_;
  std::size_t chunk_bytes_;  ///< kChunkBytes, or the size of a smaller file
  std::array<Slot, kSlots> slots_;
  std::size_t next_ = 0;    ///< slot being filled; used by the caller until it is handed over
  std::size_t filled_ = 0;  ///< bytes in it
  std::vector<std::uint32_t> sums_;
  std::counting_semaphore<kSlots> free_{kSlots - 1};  ///< slots except the one being filled
  std::counting_semaphore<kSlots> full_{0};
  std::exception_ptr failure_;  ///< set before free_ is released, read after it is acquired
  std::jthread thread_;         ///< none for small files; last member, because it uses all others
};

}  // namespace gangway::checkpoint
