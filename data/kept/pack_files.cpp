// SPDX-License-Identifier: MIT
#include "data/kept/pack_files.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <span>
#include <stdexcept>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/atomic_file.hpp"
#include "base/errors.hpp"
#include "data/contents/file_contents.hpp"
#include "data/contents/fingerprint.hpp"

namespace gangway::data {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPackFormat = "gangway pack 1";
constexpr std::uintmax_t kMostManifestBytes = std::uintmax_t{1} << 26U;
constexpr std::uintmax_t kMostIndexBytes = std::uintmax_t{1} << 36U;
constexpr int kLargestPackedSide = 4096;
static_assert(std::endian::native == std::endian::little);  // format of index.bin

std::span<const std::uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

[[noreturn]] void fail_pack(const fs::path& file, std::string_view what) {
  throw ConfigError(
      fmt::format("{}: {}; make the pack again with 'gangway data pack', or copy it again",
                  file.string(), what));
}

/// Reads the file; uses no more memory than its size, for any bound.
std::string read_whole(const fs::path& file, std::uintmax_t most) {
  std::error_code failure;
  const std::uintmax_t size = fs::file_size(file, failure);
  if (!failure && size > most) {
    fail_pack(file, "is larger than any");
  }
  try {
    if (auto text = failure ? std::nullopt : read_small_file(file, size)) {
      return *std::move(text);
    }
  } catch (const EnvironmentError& error) {
    fail_pack(file, error.what());
  }
  fail_pack(file, "is not there");
}

std::string hex(std::uint64_t hash) { return fmt::format("{:016x}", hash); }

std::uint64_t hash_in(const nlohmann::json& text) {
  return std::stoull(text.get<std::string>(), nullptr, 16);
}

std::vector<PackEntry> read_entries(const fs::path& file, std::size_t count, std::uint64_t hash) {
  const std::string bytes = read_whole(file, kMostIndexBytes);
  if (bytes.size() % sizeof(PackEntry) != 0 || bytes.size() / sizeof(PackEntry) != count ||
      hash_of(bytes_of(bytes)) != hash) {
    fail_pack(file, "is cut or changed");
  }
  std::vector<PackEntry> entries(count);
  std::memcpy(entries.data(), bytes.data(), bytes.size());
  return entries;
}

void require_shards(const fs::path& folder, const Pack& pack) {
  bool is_sound = true;
  std::uint64_t bytes = 0;
  for (const PackShard& shard : pack.shards) {
    std::error_code failure;
    const std::uintmax_t there = fs::file_size(folder / shard.file, failure);
    if (failure) {
      fail_pack(folder / shard.file, "is not there");
    }
    if (there != shard.bytes) {
      fail_pack(folder / shard.file,
                fmt::format("has {} bytes where {} were packed", there, shard.bytes));
    }
    is_sound = is_sound && shard.bytes > 0 && shard.bytes % pack.picture_bytes() == 0;
    bytes += shard.bytes;
  }
  if (!is_sound || bytes != pack.entries.size() * pack.picture_bytes()) {
    fail_pack(folder / kPackManifest, "does not go together with its shards");
  }
}

}  // namespace

Pack read_pack(const fs::path& folder) {
  const fs::path manifest = folder / kPackManifest;
  const std::string text = read_whole(manifest, kMostManifestBytes);
  Pack pack;
  try {
    const auto document = nlohmann::json::parse(text);
    if (document.at("format") != kPackFormat) {
      fail_pack(manifest, "is of another version");
    }
    pack.resolution = document.at("resolution");
    pack.channels = document.at("channels");
    pack.num_classes = document.at("labels");
    if (pack.resolution < 1 || pack.resolution > kLargestPackedSide ||
        (pack.channels != 1 && pack.channels != 3) || pack.num_classes < 0) {
      fail_pack(manifest, "is damaged");
    }
    for (const auto& shard : document.at("shards")) {
      if (const fs::path name = shard.at("file").get<std::string>();
          name.empty() || name != name.filename() || name == "..") {
        fail_pack(manifest, "names a shard outside its folder");
      }
      pack.shards.push_back({shard.at("file"), shard.at("bytes"), hash_in(shard.at("xxh3"))});
    }
    const std::uint64_t hash = hash_in(document.at("index_xxh3"));
    pack.entries = read_entries(folder / kPackIndex, document.at("pictures"), hash);
    const auto has_label = [&pack](const PackEntry& entry) {
      return entry.label >= 0 && entry.label < std::max(pack.num_classes, 1);
    };
    if (!std::ranges::all_of(pack.entries, has_label)) {
      fail_pack(folder / kPackIndex, "has labels that pack.json does not know");
    }
  } catch (const nlohmann::json::exception&) {
    fail_pack(manifest, "is damaged");
  } catch (const std::logic_error&) {  // an invalid hash
    fail_pack(manifest, "is damaged");
  }
  require_shards(folder, pack);
  pack.fingerprint = fingerprint_of(text);
  return pack;
}

void write_manifest(const fs::path& folder, const Pack& pack) {
  const std::string_view index(reinterpret_cast<const char*>(pack.entries.data()),
                               pack.entries.size() * sizeof(PackEntry));
  write_file_atomically(folder / kPackIndex, index);
  nlohmann::ordered_json document{{"format", kPackFormat},
                                  {"resolution", pack.resolution},
                                  {"channels", pack.channels},
                                  {"pictures", pack.entries.size()},
                                  {"labels", pack.num_classes},
                                  {"index_xxh3", hex(hash_of(bytes_of(index)))},
                                  {"shards", nlohmann::ordered_json::array()}};
  for (const PackShard& shard : pack.shards) {
    document["shards"].push_back(
        {{"file", shard.file}, {"bytes", shard.bytes}, {"xxh3", hex(shard.hash)}});
  }
  write_file_atomically(folder / kPackManifest, document.dump(1) + "\n");
}

}  // namespace gangway::data
