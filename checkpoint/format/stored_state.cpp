// SPDX-License-Identifier: MIT
#include "checkpoint/format/stored_state.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <exception>
#include <semaphore>
#include <thread>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "base/system/thread_name.hpp"
#include "checkpoint/files/aligned_buffer.hpp"
#include "checkpoint/files/crc32c.hpp"
#include "checkpoint/files/durable_file.hpp"
#include "checkpoint/format/chunk_reader.hpp"
#include "checkpoint/format/state_index.hpp"
#include "checkpoint/format/tensor_list.hpp"

namespace gangway::checkpoint {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMostHeld = 8;

/// Reads one chunk on a thread while the caller uses the other.
class Prefetcher {
 public:
  Prefetcher(ChunkReader& reader, std::span<const StoredChunk> share)
      : reader_(reader), share_(share), thread_([this] { run(); }) {}
  ~Prefetcher() {
    stop_ = true;
    free_.release(kSlots);
  }
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  /// Returns the next chunk's bytes, valid until done(). Rethrows the reader's exception.
  std::span<const std::byte> next() {
    full_.acquire();
    const Slot& slot = slots_[taken_ % kSlots];
    if (slot.failure) {
      std::rethrow_exception(slot.failure);
    }
    return slot.bytes;
  }
  void done() {
    ++taken_;
    free_.release();
  }

 private:
  static constexpr int kSlots = 2;
  struct Slot {
    AlignedBuffer buffer{kChunkBytes};
    std::span<const std::byte> bytes;
    std::exception_ptr failure;
  };

  void run() {
    name_this_thread("state-reader");
    for (std::size_t i = 0; i < share_.size(); ++i) {
      free_.acquire();
      if (stop_) {
        return;
      }
      Slot& slot = slots_[i % kSlots];
      try {
        slot.bytes = reader_.read(share_[i], slot.buffer.bytes());
      } catch (...) {
        slot.failure = std::current_exception();
      }
      full_.release();
    }
  }

  ChunkReader& reader_;
  std::span<const StoredChunk> share_;
  std::array<Slot, kSlots> slots_;
  std::counting_semaphore<2 * kSlots + 1> free_{kSlots};
  std::counting_semaphore<2 * kSlots + 1> full_{0};
  std::atomic<bool> stop_ = false;
  std::size_t taken_ = 0;
  std::jthread thread_;  // last member, because it uses all others
};

void require_file_hashes(const fs::path& directory, const Manifest& manifest) {
  for (const ManifestFile& file : manifest.files) {
    const std::string hash = hash_file(directory / file.name);
    if (hash != file.xxh3_128) {
      throw CheckpointError(
          fmt::format("{}: its content hashes to {}, the manifest says {}: damaged",
                      (directory / file.name).string(), hash, file.xxh3_128));
    }
  }
}

}  // namespace

struct StoredState::Opened {
  explicit Opened(const fs::path& checkpoint)
      : path(checkpoint), manifest(read_manifest(checkpoint)) {
    require_files(path, manifest);
    index = index_state(path, manifest);
    if (manifest.format_version == 1) {
      require_file_hashes(path, manifest);
    }
  }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
  ~Opened() = default;

  [[noreturn]] void refuse(const StoredChunk& chunk, const std::string& damage) const {
    throw CheckpointError(
        fmt::format("{}: {}", describe(index, chunk, reader.path_of(chunk.file)), damage));
  }

  struct HeldChunk {
    StoredChunk chunk{.file = -1};
    AlignedBuffer buffer{kChunkBytes};
    std::span<const std::byte> bytes;
  };

  void fill(HeldChunk& place, int file, std::uint64_t chunk) {
    place.chunk.file = -1;
    StoredChunk wanted =
        chunk_of(index, file, chunk, manifest.files[static_cast<std::size_t>(file)].bytes);
    place.bytes = reader.read(wanted, place.buffer.bytes());
    verify(wanted, place.bytes);
    place.chunk = std::move(wanted);
  }

  void verify(const StoredChunk& chunk, std::span<const std::byte> bytes) const {
    if (const auto damage = damage_in(manifest, chunk, bytes)) {
      refuse(chunk, *damage);
    }
  }

  /// Returns a chunk's bytes and caches the chunk: neighbouring tensors have neighbouring pieces in
  /// several files.
  std::span<const std::byte> chunk_bytes(int file, std::uint64_t chunk) {
    auto found = std::find_if(held.begin(), held.end(), [&](const HeldChunk& one) {
      return one.chunk.file == file && one.chunk.index == chunk;
    });
    if (found == held.end()) {
      if (held.size() < kMostHeld) {
        held.emplace_back();
      }
      found = std::prev(held.end());
      fill(*found, file, chunk);
    }
    std::rotate(held.begin(), found, std::next(found));  // moves the chunk used last to the front
    return held.front().bytes;
  }

  /// Passes runs of elements [begin, end), in order, to `use(first element, bytes)`.
  template <typename Use>
  void for_elements(const StoredTensor& tensor, std::uint64_t begin, std::uint64_t end, Use use) {
    const std::size_t item = item_size(tensor.type);
    for (const TensorPiece& piece : tensor.pieces) {
      const std::uint64_t first = std::max(begin, piece.begin);
      const std::uint64_t last = std::min(end, piece.end);
      for (std::uint64_t at = first; at < last;) {
        const std::uint64_t position = piece.position + (at - piece.begin) * item;
        const std::uint64_t chunk = position / kChunkBytes;
        const auto offset = static_cast<std::size_t>(position % kChunkBytes);
        const std::span<const std::byte> bytes = chunk_bytes(piece.file, chunk);
        const auto part = static_cast<std::size_t>(
            std::min<std::uint64_t>((last - at) * item, bytes.size() - offset));
        use(at, bytes.subspan(offset, part));
        at += part / item;
      }
    }
  }

  fs::path path;
  Manifest manifest;
  StateIndex index;
  ChunkReader reader{path, manifest, Caching::kPages};
  std::vector<HeldChunk> held;
};

StoredState::StoredState(const fs::path& checkpoint)
    : opened_(std::make_unique<Opened>(checkpoint)) {}
StoredState::~StoredState() = default;
StoredState::StoredState(StoredState&&) noexcept = default;
StoredState& StoredState::operator=(StoredState&&) noexcept = default;

const fs::path& StoredState::path() const { return opened_->path; }

const Manifest& StoredState::manifest() const { return opened_->manifest; }

std::span<const StoredTensor> StoredState::tensors() const { return opened_->index.tensors; }

const StoredTensor* StoredState::find(std::string_view name) const {
  const std::vector<StoredTensor>& all = opened_->index.tensors;
  const auto found = std::ranges::lower_bound(all, name, {}, &StoredTensor::name);
  return found != all.end() && found->name == name ? &*found : nullptr;
}

const StoredTensor& StoredState::require(std::string_view name) const {
  const StoredTensor* tensor = find(name);
  if (tensor == nullptr) {
    throw CheckpointError(fmt::format("{}: tensor '{}' is missing: a checkpoint of another model?",
                                      opened_->path.string(), name));
  }
  return *tensor;
}

void StoredState::read_elements(const StoredTensor& tensor, std::uint64_t begin, std::uint64_t end,
                                std::span<std::byte> out) {
  const std::size_t item = item_size(tensor.type);
  if (begin > end || end > tensor.num_elements() || out.size() != (end - begin) * item) {
    throw InvariantError(fmt::format("tensor '{}': elements {} to {} asked for {} bytes",
                                     tensor.name, begin, end, out.size()));
  }
  opened_->for_elements(tensor, begin, end,
                        [&](std::uint64_t at, std::span<const std::byte> bytes) {
                          std::memcpy(out.data() + (at - begin) * item, bytes.data(), bytes.size());
                        });
}

void StoredState::read_row_major(const StoredTensor& tensor, std::span<std::byte> out) {
  if (out.size() != tensor.num_bytes()) {
    throw InvariantError(fmt::format("tensor '{}' has {} bytes, room is for {}", tensor.name,
                                     tensor.num_bytes(), out.size()));
  }
  opened_->for_elements(tensor, 0, tensor.num_elements(),
                        [&](std::uint64_t at, std::span<const std::byte> bytes) {
                          place_row_major(tensor, at, bytes, out);
                        });
}

std::vector<StoredChunk> StoredState::chunks() const {
  std::vector<StoredChunk> all;
  const std::vector<ManifestFile>& files = opened_->manifest.files;
  for (std::size_t file = 0; file < files.size(); ++file) {
    for (std::uint64_t chunk = 0; chunk < num_chunks(files[file].bytes); ++chunk) {
      all.push_back(chunk_of(opened_->index, static_cast<int>(file), chunk, files[file].bytes));
    }
  }
  return all;
}

void StoredState::read_chunks(std::span<const StoredChunk> share, const ChunkSink& sink) {
  ChunkReader reader(opened_->path, opened_->manifest, Caching::kDirect);
  Prefetcher ahead(reader, share);
  for (const StoredChunk& chunk : share) {
    const std::span<const std::byte> bytes = ahead.next();
    opened_->verify(chunk, bytes);
    sink(chunk, bytes);
    ahead.done();
  }
}

}  // namespace gangway::checkpoint
