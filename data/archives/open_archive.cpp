// SPDX-License-Identifier: MIT
#include "data/archives/open_archive.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "data/archives/file_part.hpp"
#include "data/archives/folder_archive.hpp"
#include "data/archives/tar_archive.hpp"
#include "data/archives/zip_archive.hpp"

namespace gangway::data {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLmdbFile = "data.mdb";

[[noreturn]] void refuse_lmdb(const fs::path& path) {
  throw ConfigError(
      fmt::format("{}: an LMDB is no source of pictures; read it by a class in Python, as "
                  "examples/python/lmdb_pictures.py does, or unpack it into a folder, ZIP or tar",
                  path.string()));
}

/// Opens a folder of pictures; without pictures, a folder of tars.
std::unique_ptr<ImageArchive> open_place(const fs::path& folder, ContentsCheck* check) {
  std::unique_ptr<ImageArchive> archive = open_folder(folder, check);
  if (!archive->entries().empty()) {
    return archive;
  }
  if (std::error_code ignored; fs::exists(folder / kLmdbFile, ignored)) {
    refuse_lmdb(folder / kLmdbFile);
  }
  const std::vector<fs::path> tars = tars_of(folder);
  return tars.empty() ? std::move(archive) : open_tars(tars, folder, check);
}

/// Opens a file; recognises its format by the first bytes.
std::unique_ptr<ImageArchive> open_file(const fs::path& path, ContentsCheck* check) {
  constexpr std::size_t kTarMagic = 257;
  constexpr std::string_view kTar = "ustar";
  std::array<std::uint8_t, 512> bytes{};
  const Container file = open_container(path);
  const std::string_view begin(reinterpret_cast<const char*>(bytes.data()),
                               read_at(file, 0, bytes));
  if (path.extension() == fs::path(kLmdbFile).extension()) {
    refuse_lmdb(path);
  }
  const bool is_tar = begin.size() > kTarMagic && begin.substr(kTarMagic).starts_with(kTar);
  return is_tar || is_named_as_tar(path) ? open_tars({path}, path, check) : open_zip_archive(path);
}

}  // namespace

std::unique_ptr<ImageArchive> open_image_archive(const fs::path& location, ContentsCheck* check) {
  std::error_code ignored;
  std::unique_ptr<ImageArchive> archive;
  if (fs::is_directory(location, ignored)) {
    archive = open_place(location, check);
  } else if (const auto tars = tars_of(location); tars != std::vector{location}) {
    archive = open_tars(tars, location, check);
  } else {
    archive = open_file(location, check);
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
