// SPDX-License-Identifier: MIT
#include "gan/data/image_archive.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <mutex>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <zip.h>

#include "job/errors.hpp"

namespace gangway::data {
namespace {

namespace fs = std::filesystem;

/// A bound on what one file of an archive may claim to unpack to.
constexpr std::uint64_t kLargestFile = std::uint64_t{1} << 30;

bool is_image_name(std::string_view name) {
  for (std::size_t at = 0; at < name.size();) {
    const std::size_t end = std::min(name.find('/', at), name.size());
    const std::string_view part = name.substr(at, end - at);
    if (part.starts_with('.') || part == "__MACOSX") {
      return false;
    }
    at = end + 1;
  }
  std::string ending(name.substr(std::min(name.rfind('.'), name.size())));
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return ending == ".png" || ending == ".jpg" || ending == ".jpeg";
}

/// Sorts the entries and takes off the folders that all of them share: an archive made of one folder has no labels.
/// @return what was taken off
std::string tidy(std::vector<ArchiveEntry>& entries) {
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
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

class FolderArchive : public ImageArchive {
 public:
  explicit FolderArchive(fs::path folder) : root_(std::move(folder)) {
    std::error_code failure;
    constexpr auto kFollow = fs::directory_options::follow_directory_symlink;
    for (fs::recursive_directory_iterator entry(root_, kFollow, failure), end; !failure && entry != end;
         entry.increment(failure)) {
      const std::string name = entry->path().lexically_relative(root_).generic_string();
      if (!is_image_name(name) || !entry->is_regular_file(failure)) {
        continue;
      }
      entries_.push_back({.name = name, .bytes = static_cast<std::int64_t>(entry->file_size(failure)), .position = 0});
    }
    if (failure) {
      throw ConfigError(fmt::format("{}: cannot be listed ({}); check the path and its permissions", root_.string(),
                                    failure.message()));
    }
    root_ /= tidy(entries_);
  }

  [[nodiscard]] const std::vector<ArchiveEntry>& entries() const override { return entries_; }

  [[nodiscard]] std::vector<std::uint8_t> read(std::size_t index) const override {
    const ArchiveEntry& entry = entries_.at(index);
    std::ifstream file(root_ / entry.name, std::ios::binary);
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(entry.bytes));
    file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    if (!file) {
      throw ConfigError(fmt::format("{}: cannot be read, or is shorter than when the job began; restore the file",
                                    display_name(index)));
    }
    return bytes;
  }

  [[nodiscard]] std::string display_name(std::size_t index) const override {
    return (root_ / entries_.at(index).name).string();
  }

 private:
  fs::path root_;
  std::vector<ArchiveEntry> entries_;
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
    throw ConfigError(fmt::format("{}: neither a folder nor a readable ZIP ({}); check data.source or make the file again",
                                  path.string(), reason));
  }
  return archive;
}

class ZipArchive : public ImageArchive {
 public:
  explicit ZipArchive(fs::path path) : path_(std::move(path)) {
    Zip archive = open_zip(path_);
    const zip_int64_t count = zip_get_num_entries(archive.get(), 0);
    for (zip_int64_t i = 0; i < count; ++i) {
      zip_stat_t status;
      const auto index = static_cast<zip_uint64_t>(i);
      if (zip_stat_index(archive.get(), index, 0, &status) != 0 || (status.valid & ZIP_STAT_SIZE) == 0) {
        throw ConfigError(fmt::format("{}: entry {} is damaged ({}); make the file again", path_.string(), i,
                                      zip_strerror(archive.get())));
      }
      if (!is_image_name(status.name)) {
        continue;
      }
      if (status.size > kLargestFile) {
        throw ConfigError(fmt::format("{}!{}: unpacks to more than 1 GiB; remove it", path_.string(), status.name));
      }
      entries_.push_back({.name = status.name, .bytes = static_cast<std::int64_t>(status.size), .position = index});
    }
    prefix_ = tidy(entries_);
    idle_.push_back(std::move(archive));
  }

  [[nodiscard]] const std::vector<ArchiveEntry>& entries() const override { return entries_; }

  [[nodiscard]] std::vector<std::uint8_t> read(std::size_t index) const override {
    Zip archive = borrow();
    const ArchiveEntry& entry = entries_.at(index);
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(entry.bytes));
    const std::unique_ptr<zip_file_t, CloseZipFile> file(zip_fopen_index(archive.get(), entry.position, 0));
    if (!file) {
      fail(index, zip_strerror(archive.get()));
    }
    const zip_int64_t held = zip_fread(file.get(), bytes.data(), bytes.size());
    if (held != static_cast<zip_int64_t>(bytes.size())) {
      fail(index, held < 0 ? zip_file_strerror(file.get()) : "truncated");
    }
    std::uint8_t beyond = 0;
    if (zip_fread(file.get(), &beyond, 1) < 0) {  // the end of the data is where libzip checks the CRC
      fail(index, zip_file_strerror(file.get()));
    }
    give_back(std::move(archive));
    return bytes;
  }

  [[nodiscard]] std::string display_name(std::size_t index) const override {
    return fmt::format("{}!{}{}", path_.string(), prefix_, entries_.at(index).name);
  }

 private:
  [[noreturn]] void fail(std::size_t index, std::string_view reason) const {
    throw ConfigError(fmt::format("{}: cannot be unpacked ({}); make the ZIP again", display_name(index), reason));
  }

  /// libzip's handles are not thread-safe: each reading thread borrows one of its own.
  Zip borrow() const {
    {
      const std::scoped_lock lock(mutex_);
      if (!idle_.empty()) {
        Zip archive = std::move(idle_.back());
        idle_.pop_back();
        return archive;
      }
    }
    return open_zip(path_);
  }

  void give_back(Zip archive) const {
    const std::scoped_lock lock(mutex_);
    idle_.push_back(std::move(archive));
  }

  fs::path path_;
  std::string prefix_;
  std::vector<ArchiveEntry> entries_;
  mutable std::mutex mutex_;  ///< guards idle_
  mutable std::vector<Zip> idle_;
};

}  // namespace

std::unique_ptr<ImageArchive> open_image_archive(const fs::path& location) {
  std::error_code ignored;
  if (!fs::exists(location, ignored)) {
    throw ConfigError(fmt::format("{}: does not exist; check the path in data.source", location.string()));
  }
  if (fs::is_directory(location, ignored)) {
    return std::make_unique<FolderArchive>(location);
  }
  return std::make_unique<ZipArchive>(location);
}

}  // namespace gangway::data
