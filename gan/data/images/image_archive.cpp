// SPDX-License-Identifier: MIT
#include "gan/data/images/image_archive.hpp"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>
#include <zip.h>

#include "base/errors.hpp"
#include "base/guarded.hpp"
#include "gan/data/contents/picture_names.hpp"
#include "gan/data/images/label_list.hpp"

namespace gangway::data {
namespace {

namespace fs = std::filesystem;

/// A bound on what is read, or unpacked, into memory at once.
constexpr std::uint64_t kLargestArchiveFile = std::uint64_t{1} << 30;

/// @throws ConfigError for a file that nobody means to be one image.
void require_bearable(std::string_view name, std::uint64_t bytes) {
  if (bytes > kLargestArchiveFile) {
    throw ConfigError(
        fmt::format("{}: {} bytes are more than a picture has (1 GiB); remove it", name, bytes));
  }
}

/// Sorts the entries and takes off the folders that all of them share: an archive made of one
/// folder has no labels.
/// @return what was taken off
std::string tidy(std::vector<ArchiveEntry>& entries) {
  std::sort(entries.begin(), entries.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  if (entries.empty()) {
    return {};
  }
  const std::string& first = entries.front().name;
  const std::string& last = entries.back().name;
  const auto differ = std::mismatch(first.begin(), first.end(), last.begin(), last.end()).first;
  const std::string shared(first.begin(), differ);
  const std::size_t slash = shared.rfind('/');
  const std::size_t taken = slash == std::string::npos ? 0 : slash + 1;
  const std::string prefix = first.substr(0, taken);
  for (ArchiveEntry& entry : entries) {
    entry.name.erase(0, taken);
  }
  return prefix;
}

/// The folder that holds `path`, with its slash; empty at the top.
std::string_view folder_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return path.substr(0, slash == std::string_view::npos ? 0 : slash + 1);
}

/// Remembers the label file that is nearest to the images, among those in a folder above all of
/// them.
class LabelFileChoice {
 public:
  [[nodiscard]] static bool is_one(std::string_view name) {
    return name.substr(folder_of(name).size()) == kLabelListName;
  }
  void add(ArchiveEntry file) { found_.push_back(std::move(file)); }

  struct Chosen {
    ArchiveEntry file;  ///< its whole name
    std::string below;
  };
  /// @param prefix  folders that all images share
  [[nodiscard]] std::optional<Chosen> nearest_to(const std::string& prefix) const {
    std::optional<Chosen> nearest;
    for (const ArchiveEntry& file : found_) {
      const std::string_view folder = folder_of(file.name);
      if (prefix.starts_with(folder) &&
          (!nearest || folder.size() > folder_of(nearest->file.name).size())) {
        nearest = {file, prefix.substr(folder.size())};
      }
    }
    return nearest;
  }

 private:
  std::vector<ArchiveEntry> found_;
};

[[noreturn]] void fail_changed(const std::string& name) {
  throw ConfigError(
      fmt::format("{}: has changed since it was listed at the start; give the old file back, or "
                  "start again to train on what is there now",
                  name));
}

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

struct CloseZip {
  void operator()(zip_t* archive) const noexcept { zip_discard(archive); }
};
using Zip = std::unique_ptr<zip_t, CloseZip>;

struct CloseZipFile {
  void operator()(zip_file_t* file) const noexcept { (void)zip_fclose(file); }
};

Zip open_zip(const fs::path& path) {
  int code = 0;
  Zip archive(zip_open(path.c_str(), ZIP_RDONLY, &code));
  if (!archive) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    const std::string reason = zip_error_strerror(&error);
    zip_error_fini(&error);
    throw ConfigError(fmt::format(
        "{}: neither a folder nor a readable ZIP ({}); check data.source or make the file again",
        path.string(), reason));
  }
  return archive;
}

class ZipArchive : public ImageArchive {
 public:
  explicit ZipArchive(fs::path path) : path_(std::move(path)) {
    Zip archive = open_zip(path_);
    NameFilter filter;
    LabelFileChoice label_files;
    const zip_int64_t count = zip_get_num_entries(archive.get(), 0);
    for (zip_int64_t i = 0; i < count; ++i) {
      zip_stat_t status;
      const auto index = static_cast<zip_uint64_t>(i);
      constexpr zip_uint64_t kNeeded = ZIP_STAT_SIZE | ZIP_STAT_CRC;
      if (zip_stat_index(archive.get(), index, 0, &status) != 0 ||
          (status.valid & kNeeded) != kNeeded) {
        throw ConfigError(fmt::format("{}: entry {} is damaged ({}); make the file again",
                                      path_.string(), i, zip_strerror(archive.get())));
      }
      const bool is_label_file = LabelFileChoice::is_one(status.name);
      if (!is_label_file && !filter.is_read(status.name)) {
        continue;
      }
      require_bearable(fmt::format("{}!{}", path_.string(), status.name), status.size);
      const ArchiveEntry file{.name = status.name,
                              .bytes = static_cast<std::int64_t>(status.size),
                              .position = index,
                              .crc = status.crc};
      is_label_file ? label_files.add(file) : entries_.push_back(file);
    }
    filter.require_all_read(path_);
    prefix_ = tidy(entries_);
    idle_.push_back(std::move(archive));
    if (const auto labels = label_files.nearest_to(prefix_)) {
      const std::string name = fmt::format("{}!{}", path_.string(), labels->file.name);
      const std::vector<std::uint8_t> bytes = unpack(labels->file, name);
      label_file_ = {
          .text = {bytes.begin(), bytes.end()}, .display_name = name, .below = labels->below};
    }
  }

  [[nodiscard]] const std::optional<LabelFile>& label_file() const override { return label_file_; }

  [[nodiscard]] const std::vector<ArchiveEntry>& entries() const override { return entries_; }

  [[nodiscard]] const std::string& shared_folder() const override { return prefix_; }

  [[nodiscard]] std::vector<std::uint8_t> read(std::size_t index) const override {
    return unpack(entries_.at(index), display_name(index));
  }

  [[nodiscard]] std::string display_name(std::size_t index) const override {
    return fmt::format("{}!{}{}", path_.string(), prefix_, entries_.at(index).name);
  }

 private:
  [[noreturn]] static void fail(const std::string& name, std::string_view reason) {
    throw ConfigError(fmt::format("{}: cannot be unpacked ({}); make the ZIP again", name, reason));
  }

  /// @param name  what to call the entry in messages
  [[nodiscard]] std::vector<std::uint8_t> unpack(const ArchiveEntry& entry,
                                                 const std::string& name) const {
    Zip archive = borrow();
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(entry.bytes));
    const std::unique_ptr<zip_file_t, CloseZipFile> file(
        zip_fopen_index(archive.get(), entry.position, 0));
    if (!file) {
      fail(name, zip_strerror(archive.get()));
    }
    const zip_int64_t held = zip_fread(file.get(), bytes.data(), bytes.size());
    if (held != static_cast<zip_int64_t>(bytes.size())) {
      fail(name, held < 0 ? zip_file_strerror(file.get()) : "truncated");
    }
    std::uint8_t beyond = 0;  // the end of the data is where libzip checks the CRC
    if (zip_fread(file.get(), &beyond, 1) < 0) {
      fail(name, zip_file_strerror(file.get()));
    }
    // That was the CRC of the archive as it is now; another one may have taken its place.
    if (crc_of(bytes) != entry.crc) {
      fail_changed(name);
    }
    give_back(std::move(archive));
    return bytes;
  }

  /// libzip's handles are not thread-safe: each reading thread borrows one of its own.
  Zip borrow() const {
    {
      const MutexLock lock(mutex_);
      if (!idle_.empty()) {
        Zip archive = std::move(idle_.back());
        idle_.pop_back();
        return archive;
      }
    }
    return open_zip(path_);
  }

  void give_back(Zip archive) const {
    const MutexLock lock(mutex_);
    idle_.push_back(std::move(archive));
  }

  fs::path path_;
  std::string prefix_;
  std::vector<ArchiveEntry> entries_;
  std::optional<LabelFile> label_file_;
  mutable Mutex mutex_;
  mutable std::vector<Zip> idle_ GANGWAY_GUARDED_BY(mutex_);
};

}  // namespace

std::uint64_t ImageArchive::content_crc(std::size_t index) const {
  const std::optional<std::uint64_t>& known = entries().at(index).crc;
  return known ? *known : crc_of(read(index));
}

std::unique_ptr<ImageArchive> open_image_archive(const fs::path& location, ContentsCheck* check) {
  std::error_code ignored;
  if (!fs::exists(location, ignored)) {
    throw ConfigError(
        fmt::format("{}: does not exist; check the path in data.source", location.string()));
  }
  std::unique_ptr<ImageArchive> archive;
  if (fs::is_directory(location, ignored)) {
    archive = std::make_unique<FolderArchive>(location, check);
  } else {
    archive = std::make_unique<ZipArchive>(location);
  }
  if (check != nullptr) {
    const auto& entries = archive->entries();
    check->found.marks = marks_of(
        entries.size(), [&](std::size_t i) { return std::string_view(entries[i].name); },
        [&](std::size_t i) { return archive->content_crc(i); });
  }
  return archive;
}

}  // namespace gangway::data
