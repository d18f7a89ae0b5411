// SPDX-License-Identifier: MIT
#include "data/archives/zip_archive.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <zip.h>

#include "base/errors.hpp"
#include "base/guarded.hpp"
#include "data/archives/archive_names.hpp"
#include "data/contents/file_contents.hpp"
#include "data/contents/picture_names.hpp"

namespace gangway::data {
namespace {

namespace fs = std::filesystem;

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
    throw ConfigError(
        fmt::format("{}: neither a folder nor a readable ZIP or tar ({}); check data.source "
                    "or make the file "
                    "again",
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
    const zip_uint64_t held = fs::file_size(path_);
    for (zip_int64_t i = 0; i < count; ++i) {
      zip_stat_t status;
      const auto index = static_cast<zip_uint64_t>(i);
      constexpr zip_uint64_t kNeeded = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_CRC;
      if (zip_stat_index(archive.get(), index, 0, &status) != 0 ||
          (status.valid & kNeeded) != kNeeded) {
        throw ConfigError(fmt::format("{}: entry {} is damaged ({}); make the file again",
                                      path_.string(), i, zip_strerror(archive.get())));
      }
      const bool is_label_file = LabelFileChoice::is_one(status.name);
      if (!is_label_file && !filter.is_read(status.name)) {
        continue;
      }
      require_bearable(fmt::format("{}!{}", path_.string(), status.name), status.size,
                       std::min(status.comp_size, held));  // a forged directory may claim any size
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

  /// @param name  of the entry, for messages
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
    std::uint8_t beyond = 0;  // libzip checks the CRC at the end of the data
    if (zip_fread(file.get(), &beyond, 1) < 0) {
      fail(name, zip_file_strerror(file.get()));
    }
    // libzip checked the current archive's CRC; the archive may have been replaced.
    if (crc_of(bytes) != entry.crc) {
      fail_changed(name);
    }
    give_back(std::move(archive));
    return bytes;
  }

  /// libzip's handles are not thread-safe, so each reading thread borrows its own.
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
  mutable Mutex mutex_;
  mutable std::vector<Zip> idle_ GANGWAY_GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<ImageArchive> open_zip_archive(const fs::path& path) {
  return std::make_unique<ZipArchive>(path);
}

}  // namespace gangway::data
