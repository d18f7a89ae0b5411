// SPDX-License-Identifier: MIT
// Cache file of resized pictures, shared by all processes of a host that train on one data set.
// Used by CachedDataset. Any thread.
//
// It is on the disk, not in /dev/shm, because the kernel can evict its pages, and a killed run
// holds no memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "base/file_descriptor.hpp"

namespace gangway::data {

struct PictureCacheSetup {
  std::filesystem::path folder;   ///< of all caches of this user
  std::string key;                ///< identity of the source; another key is another file
  std::size_t picture_bytes = 0;  ///< of each
  std::int64_t num_pictures = 0;  ///< of the data set
  std::int64_t most_bytes = 0;    ///< of the file; DataSpec::kAutoCache: 1/4 of free space
};

/// Entries are never replaced. Each entry's hash is stored after its bytes. An entry that was left
/// incomplete by a kill, power cut or bad disk fails its hash and counts as missing.
class PictureCache {
 public:
  /// Opens or creates the file, and removes files unused for a week.
  /// @throws EnvironmentError with the cause, if there can be no cache
  explicit PictureCache(const PictureCacheSetup& setup);
  ~PictureCache();
  PictureCache(const PictureCache&) = delete;
  PictureCache& operator=(const PictureCache&) = delete;

  /// Returns the number of pictures that fit: the first of the data set.
  [[nodiscard]] std::int64_t places() const { return places_; }
  /// Returns a picture's bytes, valid while this lives; empty if they are missing.
  [[nodiscard]] std::span<const std::uint8_t> find(std::int64_t index) const;
  /// Returns whether a picture seems to be cached, and starts its read-ahead.
  [[nodiscard]] bool expect(std::int64_t index) const;
  /// Stores a picture if it has a place. Several threads may store the same picture.
  void put(std::int64_t index, std::span<const std::uint8_t> bytes);

 private:
  [[nodiscard]] bool is_whole(const PictureCacheSetup& setup);
  void make(const PictureCacheSetup& setup);
  [[nodiscard]] std::size_t file_bytes() const;
  [[nodiscard]] std::uint64_t* hash_of_place(std::int64_t index) const;
  [[nodiscard]] std::uint8_t* picture(std::int64_t index) const;

  std::size_t picture_bytes_;
  std::int64_t places_ = 0;
  FileDescriptor file_;  ///< locked against removal
  std::byte* memory_ = nullptr;
};

}  // namespace gangway::data
