// SPDX-License-Identifier: MIT
#include "gan/data/archives/folder_archive.hpp"

#include <cerrno>
#include <cstdint>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include "base/errors.hpp"
#include "base/file_descriptor.hpp"
#include "gan/data/archives/archive_names.hpp"
#include "gan/data/archives/file_part.hpp"
#include "gan/data/contents/picture_names.hpp"

namespace gangway::data {
namespace {

namespace fs = std::filesystem;

class FolderArchive : public ImageArchive {
 public:
  FolderArchive(fs::path folder, ContentsCheck* check) : root_(std::move(folder)) {
    std::error_code failure;
    std::vector<FileStamp> stamps;
    NameFilter filter;
    LabelFileChoice label_files;
    constexpr auto kFollow = fs::directory_options::follow_directory_symlink;
    for (fs::recursive_directory_iterator entry(root_, kFollow, failure), end;
         !failure && entry != end; entry.increment(failure)) {
      const std::string name = entry->path().lexically_relative(root_).generic_string();
      const bool is_label_file = LabelFileChoice::is_one(name);
      if (entry->is_symlink() && !fs::exists(entry->path()) && filter.is_read(name)) {
        throw ConfigError(
            fmt::format("{}: a link to what is not there; mount its disk, or remove the link",
                        entry->path().string()));
      }
      if (!entry->is_regular_file(failure) || (!is_label_file && !filter.is_read(name))) {
        continue;
      }
      struct stat status {};
      if (::stat(entry->path().c_str(), &status) != 0) {
        failure = std::error_code(errno, std::generic_category());
        break;
      }
      require_bearable(entry->path().string(), static_cast<std::uint64_t>(status.st_size));
      const ArchiveEntry file{.name = name, .bytes = status.st_size, .position = stamps.size()};
      stamps.push_back(stamp_of(status));
      is_label_file ? label_files.add(file) : entries_.push_back(file);
    }
    if (failure) {
      throw ConfigError(fmt::format("{}: cannot be listed ({}); check the path and its permissions",
                                    root_.string(), failure.message()));
    }
    filter.require_all_read(root_);
    prefix_ = tidy(entries_);
    if (const auto labels = label_files.nearest_to(prefix_)) {
      const fs::path path = root_ / labels->file.name;
      const std::vector<std::uint8_t> bytes = contents(path, labels->file.bytes);
      label_file_ = {.text = {bytes.begin(), bytes.end()},
                     .display_name = path.string(),
                     .below = labels->below};
    }
    if (check != nullptr) {
      know_contents(stamps, *check);
    }
    root_ /= prefix_;
  }

  [[nodiscard]] const std::optional<LabelFile>& label_file() const override { return label_file_; }

  [[nodiscard]] const std::vector<ArchiveEntry>& entries() const override { return entries_; }

  [[nodiscard]] const std::string& shared_folder() const override { return prefix_; }

  [[nodiscard]] std::vector<std::uint8_t> read(std::size_t index) const override {
    const ArchiveEntry& entry = entries_.at(index);
    std::vector<std::uint8_t> bytes = contents(root_ / entry.name, entry.bytes);
    if (entry.hash && *entry.hash != hash_of(bytes)) {
      fail_changed(display_name(index));
    }
    return bytes;
  }

  void expect(std::size_t index) const override {
    const fs::path path = root_ / entries_.at(index).name;
    const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (file) {  // else its reading says what is wrong
      expect_part(file, {});
    }
  }

  [[nodiscard]] std::string display_name(std::size_t index) const override {
    return (root_ / entries_.at(index).name).string();
  }

 private:
  /// @param stamps  by an entry's position
  void know_contents(const std::vector<FileStamp>& stamps, ContentsCheck& check) {
    std::vector<ListedFile> files;
    for (const ArchiveEntry& entry : entries_) {
      files.push_back({prefix_ + entry.name, stamps[entry.position]});
    }
    const std::vector<IndexedFile> known = contents_of(root_, files, check);
    for (std::size_t i = 0; i < known.size(); ++i) {
      entries_[i].crc = known[i].crc;
      entries_[i].hash = known[i].hash;
    }
    check.found.changed = last_changed(known);
  }

  [[nodiscard]] static std::vector<std::uint8_t> contents(const fs::path& path, std::int64_t size) {
    std::ifstream file(path, std::ios::binary);
    if (std::error_code ignored; !file && !fs::exists(path, ignored)) {
      throw ConfigError(fmt::format(
          "{}: is gone since it was listed at the start; put it back, or start again without it",
          path.string()));
    }
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(size));
    file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    const bool is_shorter = file.eof();
    if (!file && !is_shorter) {
      throw ConfigError(
          fmt::format("{}: cannot be read; restore the file, or its permissions", path.string()));
    }
    if (is_shorter || file.peek() != std::ifstream::traits_type::eof()) {
      fail_changed(path.string());
    }
    return bytes;
  }

  fs::path root_;
  std::string prefix_;
  std::vector<ArchiveEntry> entries_;
  std::optional<LabelFile> label_file_;
};

}  // namespace

std::unique_ptr<ImageArchive> open_folder(const fs::path& folder, ContentsCheck* check) {
  return std::make_unique<FolderArchive>(folder, check);
}

}  // namespace gangway::data
