// SPDX-License-Identifier: MIT
// Image files in a folder, a ZIP or tars, listed once and read file by file. Used by the
// data sets of pictures.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gangway::data {

/// One file of a picture.
struct ArchiveEntry {
  std::string name;            ///< relative path with '/', without the folders that all files share
  std::int64_t bytes = 0;      ///< uncompressed
  std::uint64_t position = 0;  ///< of the archive's own use
  /// CRC-32 and XXH3 of its contents; nothing where it was opened without a check, but a ZIP has
  /// the one always, and the other never.
  std::optional<std::uint64_t> crc = {};
  std::optional<std::uint64_t> hash = {};
  std::optional<int> label = {};  ///< where one goes with each picture of a tar
};

/// The list of labels that lies among the images (gan/data/images/label_list.hpp).
struct LabelFile {
  std::string text;
  std::string display_name;
  /// The way from its folder to the names of the entries: an entry is listed as `below` + its name.
  std::string below;
};

class ImageArchive {
 public:
  virtual ~ImageArchive() = default;
  /// Sorted by the bytes of the names; .png, .jpg, .jpeg, .jpe, .jfif and .webp, in letters of any
  /// size. Hidden files, `__MACOSX` and files that are no pictures are left out.
  [[nodiscard]] virtual const std::vector<ArchiveEntry>& entries() const = 0;
  /// The folders that hold all images, with a slash, which the names of the entries leave out;
  /// empty: there is none.
  [[nodiscard]] virtual const std::string& shared_folder() const = 0;
  /// The bytes of entries()[index], compared with what is known of them. Thread-safe. @throws
  /// ConfigError naming the file, where it cannot be read or has changed since it was listed.
  [[nodiscard]] virtual std::vector<std::uint8_t> read(std::size_t index) const = 0;
  /// Tells that entries()[index] is about to be read, as Dataset::expect. Thread-safe.
  virtual void expect(std::size_t /*index*/) const {}
  /// Where one lies in a folder that holds all images, the nearest such; read when this was made.
  [[nodiscard]] virtual const std::optional<LabelFile>& label_file() const = 0;
  /// How to call entries()[index] in a message.
  [[nodiscard]] virtual std::string display_name(std::size_t index) const = 0;
  /// CRC-32 of entries()[index], the same in a folder and a ZIP or tar of it. Where nothing is
  /// known the file is read.
  [[nodiscard]] std::uint64_t content_crc(std::size_t index) const;
};

/// @param check  null: files are not compared with their earlier contents
}  // namespace gangway::data
