// SPDX-License-Identifier: MIT
// Writes a new file in turns of a chunk, summing each; the next chunk is put together and summed
// while the disk takes the last one. Internal to the store; used by one thread.
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

/// Holds two chunks of memory, and copies all that it is given: into pages that the disk takes
/// faster than those of a snapshot (checkpoint/files/aligned_buffer.hpp).
class ChunkWriter {
 public:
  /// @param on_chunk  called as each chunk is on its way. @throws as NewFile.
  ChunkWriter(const FileSystem& files, const std::filesystem::path& path, std::uint64_t bytes,
              std::function<void()> on_chunk = {});
  ~ChunkWriter();
  ChunkWriter(const ChunkWriter&) = delete;
  ChunkWriter& operator=(const ChunkWriter&) = delete;

  /// @throws as NewFile::write, perhaps a call later.
  void append(std::span<const std::byte> bytes);
  /// Syncs and closes. @return CRC32C of every chunk. @throws as NewFile::write and finish.
  [[nodiscard]] std::vector<std::uint32_t> finish();

 private:
  static constexpr int kSlots = 2;
  struct Slot {
    AlignedBuffer buffer;
    std::span<const std::byte> chunk;  ///< empty: there is no more
  };

  /// Memory for the next chunk.
  std::span<std::byte> room();
  /// Sums a whole chunk and hands it over.
  void hand_over(std::span<const std::byte> chunk);
  /// Waits for everything that was handed over; throws nothing.
  void drain();
  void rethrow_failure() const;
  void write_all();

  NewFile file_;
  std::function<void()> on_chunk_;
  std::size_t chunk_bytes_;  ///< kChunkBytes, or the whole of a smaller file
  std::array<Slot, kSlots> slots_;
  std::size_t next_ = 0;    ///< slot that is being filled; ours until it is handed over
  std::size_t filled_ = 0;  ///< bytes in it
  std::vector<std::uint32_t> sums_;
  std::counting_semaphore<kSlots> free_{kSlots - 1};  ///< slots besides the one being filled
  std::counting_semaphore<kSlots> full_{0};
  std::exception_ptr failure_;  ///< set before free_ is released, read after it was acquired
  std::jthread thread_;         ///< none for small files; last: it uses all others
};

}  // namespace gangway::checkpoint
