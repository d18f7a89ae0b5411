// SPDX-License-Identifier: MIT
// Interface of image files in a folder, a ZIP or tars: listed once, read file by file. Used by the
// data sets of pictures.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gangway::data {

/// One picture file.
struct ArchiveEntry {
  std::string name;            ///< relative path with '/', without shared_folder()
  std::int64_t bytes = 0;      ///< uncompressed
  std::uint64_t position = 0;  ///< for the archive's own use
  /// CRC-32 and XXH3 of its contents; empty if opened without a check. A ZIP always has the CRC and
  /// never the hash.
  std::optional<std::uint64_t> crc = {};
  std::optional<std::uint64_t> hash = {};
  std::optional<int> label = {};  ///< if a tar has one for each picture
};

/// The list of labels among the images (data/images/label_list.hpp).
struct LabelFile {
  std::string text;
  std::string display_name;
  /// Path from its folder to the entries: the list names an entry as `below` + its name.
  std::string below;
};

class ImageArchive {
 public:
  virtual ~ImageArchive() = default;
  /// Returns the files .png, .jpg, .jpeg, .jpe, .jfif and .webp (any case), sorted by bytes of
  /// names. Excludes hidden files, `__MACOSX` and files that are no pictures.
  [[nodiscard]] const std::vector<ArchiveEntry>& entries() const { return entries_; }
  /// Returns the folders that hold all images, with a final slash; entry names omit them. May be
  /// empty.
  [[nodiscard]] const std::string& shared_folder() const { return prefix_; }
  /// Reads entries()[index] and compares the bytes with the known hashes. Thread-safe.
  /// @throws ConfigError naming the file, if unreadable or changed since it was listed
  [[nodiscard]] virtual std::vector<std::uint8_t> read(std::size_t index) const = 0;
  /// Announces a read of entries()[index], as Dataset::expect. Thread-safe.
  virtual void expect(std::size_t /*index*/) const {}
  /// Returns the nearest label file in a folder above all images; read at construction.
  [[nodiscard]] const std::optional<LabelFile>& label_file() const { return label_file_; }
  /// Returns the name of entries()[index] for messages.
  [[nodiscard]] virtual std::string display_name(std::size_t index) const = 0;
  /// Returns the CRC-32 of entries()[index], equal for a folder and a ZIP or tar of it. Reads the
  /// file if the CRC is unknown.
  [[nodiscard]] std::uint64_t content_crc(std::size_t index) const;

 protected:
  // The constructor of a subclass sets these members.
  std::string prefix_;
  std::vector<ArchiveEntry> entries_;
  std::optional<LabelFile> label_file_;
};

}  // namespace gangway::data
