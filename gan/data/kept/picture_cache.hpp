// SPDX-License-Identifier: MIT
// A file of resized pictures, which all processes of a host fill and read together while they train
// on one data set. Used by CachedDataset; any thread.
//
// On the disk and not in /dev/shm: the kernel keeps in memory what fits and gives it up when
// programs need it, and nothing of a killed run holds memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "base/file_descriptor.hpp"

namespace gangway::data {

/// An entry is never replaced. Each has a hash of its bytes, put there behind them: one that a
/// killed process, a power cut or a bad disk left half written is not there.
class PictureCache {
 public:
  struct Setup {
    std::filesystem::path folder;   ///< of all caches, private to this user
    std::string key;                ///< of what the pictures are made: another one, another file
    std::size_t picture_bytes = 0;  ///< of each
    std::int64_t num_pictures = 0;  ///< of the data set
    std::int64_t most_bytes = 0;    ///< of the file; DataSpec::kAutoCache: a quarter of the free
  };
  /// Opens the file, or makes it where there is none, and removes those that are unused for a week.
  /// @throws EnvironmentError: why there can be none, as what is to be done about it
  explicit PictureCache(const Setup& setup);
  ~PictureCache();
  PictureCache(const PictureCache&) = delete;
  PictureCache& operator=(const PictureCache&) = delete;

  /// Pictures that find room: the first of the data set.
  [[nodiscard]] std::int64_t places() const { return places_; }
  /// The bytes of a picture, for as long as this lives; empty where they are not there.
  [[nodiscard]] std::span<const std::uint8_t> find(std::int64_t index) const;
  /// Whether a picture seems to be there, and is then brought from the disk meanwhile.
  [[nodiscard]] bool expect(std::int64_t index) const;
  /// Puts a picture there; where it has no place, nothing. Several may put the same one.
  void put(std::int64_t index, std::span<const std::uint8_t> bytes);

 private:
  [[nodiscard]] bool is_whole(const Setup& setup);
  void make(const Setup& setup);
  [[nodiscard]] std::size_t file_bytes() const;
  [[nodiscard]] std::uint64_t* hash_of_place(std::int64_t index) const;
  [[nodiscard]] std::uint8_t* picture(std::int64_t index) const;

  std::size_t picture_bytes_;
  std::int64_t places_ = 0;
  FileDescriptor file_;  ///< locked, so that it is not removed
  std::byte* memory_ = nullptr;
};

}  // namespace gangway::data
