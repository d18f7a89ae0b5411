// SPDX-License-Identifier: MIT
#include "data/archives/folder_archive.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/errors.hpp"
#include "base/file_descriptor.hpp"
#include "data/archives/archive_names.hpp"
#include "data/archives/file_part.hpp"
#include "data/contents/picture_names.hpp"

namespace gangway::data {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kLongestWait{8};

/// Returns whether an error of a network file system or disk may be temporary.
bool may_pass(int error) { return error == EIO || error == ESTALE || error == ETIMEDOUT; }

/// Implements FolderReads for the disk.
int read_from(const fs::path& path, std::span<std::uint8_t> bytes, std::size_t& held) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  for (held = 0; file && held < bytes.size();) {
    const ssize_t got = ::read(file.get(), bytes.data() + held, bytes.size() - held);
    if (got == 0) {
      return 0;
    }
    if (got < 0 && errno != EINTR) {
      return errno;
    }
    held += static_cast<std::size_t>(std::max<ssize_t>(got, 0));
  }
  return file ? 0 : errno;
}

class FolderArchive : public ImageArchive {
 public:
  FolderArchive(fs::path folder, ContentsCheck* check, FolderReads reads)
      : root_(std::move(folder)), reads_(std::move(reads)) {
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
      const auto bytes = static_cast<std::uint64_t>(status.st_size);
      require_bearable(entry->path().string(), bytes, bytes);
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
    if (file) {  // on failure, read() reports the error
      expect_part(file, {});
    }
  }

  [[nodiscard]] std::string display_name(std::size_t index) const override {
    return (root_ / entries_.at(index).name).string();
  }

 private:
  /// @param stamps  indexed by an entry's position
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

  [[nodiscard]] std::vector<std::uint8_t> contents(const fs::path& path, std::int64_t size) const {
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(size) + 1);
    std::size_t held = 0;
    std::chrono::seconds wait{1};
    int error = reads_.read(path, bytes, held);
    for (; may_pass(error) && wait <= kLongestWait; wait *= 2) {
      reads_.wait(wait);
      error = reads_.read(path, bytes, held);
    }
    if (error == ENOENT) {
      throw ConfigError(fmt::format(
          "{}: is gone since it was listed at the start; put it back, or start again without it",
          path.string()));
    }
    if (may_pass(error)) {  // may concern this host only
      throw Error(ExitCode::kWorkerLost,
                  fmt::format("{}: cannot be read ({}); look at its file system", path.string(),
                              std::generic_category().message(error)));
    }
    if (error != 0) {
      throw ConfigError(fmt::format("{}: cannot be read ({}); restore the file, or its permissions",
                                    path.string(), std::generic_category().message(error)));
    }
    if (held + 1 != bytes.size()) {
      fail_changed(path.string());
    }
    bytes.pop_back();
    return bytes;
  }

  fs::path root_;
  FolderReads reads_;
};

}  // namespace

FolderReads reads_of_disk() {
  return {.read = read_from,
          .wait = [](std::chrono::seconds time) { std::this_thread::sleep_for(time); }};
}

std::unique_ptr<ImageArchive> open_folder(const fs::path& folder, ContentsCheck* check,
                                          FolderReads reads) {
  return std::make_unique<FolderArchive>(folder, check, std::move(reads));
}

}  // namespace gangway::data
