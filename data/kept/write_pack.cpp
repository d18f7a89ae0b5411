// SPDX-License-Identifier: MIT
#include "data/kept/write_pack.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/atomic_file.hpp"
#include "base/errors.hpp"
#include "data/contents/file_contents.hpp"
#include "data/image_labels.hpp"
#include "data/images/image_decoder.hpp"
#include "data/images/resample.hpp"

namespace gangway::data {
namespace {

namespace fs = std::filesystem;

/// Pictures decoded before they are written; bounds the memory.
constexpr std::size_t kDecodedAtOnce = 256;

/// @throws ConfigError if it holds a pack, or files that no packer left
void make_room(const fs::path& folder) {
  std::error_code failure;
  fs::create_directories(folder, failure);
  std::vector<fs::path> left;
  for (const auto& entry : fs::directory_iterator(folder, failure)) {
    const fs::path name = entry.path().filename();
    if (name == kPackManifest) {
      throw ConfigError(fmt::format("{}: holds a pack already; remove it, or name another folder",
                                    folder.string()));
    }
    const fs::path whole = name.extension() == ".tmp" ? name.stem() : name;
    if (whole.extension() != kShardEnding && whole != kPackIndex && whole != kPackManifest) {
      throw ConfigError(fmt::format("{}: is no part of a pack; name an empty or a new folder",
                                    entry.path().string()));
    }
    left.push_back(entry.path());
  }
  if (failure) {
    throw EnvironmentError(fmt::format("{}: cannot be made or listed ({}); name another folder",
                                       folder.string(), failure.message()));
  }
  for (const fs::path& file : left) {
    fs::remove(file, failure);
  }
}

/// Writes pictures of equal size one after another.
class ShardWriter {
 public:
  ShardWriter(const PackOptions& options, std::size_t picture_bytes)
      : folder_(options.folder),
        most_bytes_(std::max<std::size_t>(1, options.shard_bytes / picture_bytes) * picture_bytes) {
  }

  void write(std::span<const std::uint8_t> picture, Pack& pack) {
    bytes_.insert(bytes_.end(), picture.begin(), picture.end());
    if (bytes_.size() == most_bytes_) {
      end(pack);
    }
  }
  void end(Pack& pack) {
    if (bytes_.empty()) {
      return;
    }
    const std::string name = fmt::format("{:05}{}", pack.shards.size(), kShardEnding);
    write_file_atomically(folder_ / name,
                          {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()});
    pack.shards.push_back({name, bytes_.size(), hash_of(bytes_)});
    bytes_.clear();
  }

 private:
  fs::path folder_;
  std::size_t most_bytes_;
  std::vector<std::uint8_t> bytes_;
};

/// Decodes entries [first, first + count) as training does.
std::vector<Pixels> decode_some(const ImageArchive& archive, std::size_t first, std::size_t count,
                                const PackOptions& options) {
  std::vector<Pixels> pictures(count);
  std::vector<std::exception_ptr> failures(count);
  std::atomic<std::size_t> next = 0;
  const auto decode = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        pictures[i] =
            fit_square(decode_image(archive.read(first + i), archive.display_name(first + i),
                                    {.wanted_side = options.resolution}),
                       options.resolution);
      } catch (...) {
        failures[i] = std::current_exception();
      }
    }
  };
  {
    std::vector<std::jthread> others;
    for (int i = 1; i < options.threads; ++i) {
      others.emplace_back(decode);
    }
    decode();
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure) {
      std::rethrow_exception(failure);
    }
  }
  return pictures;
}

/// Returns nothing if a picture has more channels than the pack.
std::optional<Pack> pack_with(int channels, const ImageArchive& archive, const ImageLabels& labels,
                              const PackOptions& options) {
  Pack pack{.resolution = options.resolution,
            .channels = channels,
            .num_classes = labels.num_classes,
            .shards = {},
            .entries = {},
            .fingerprint = {}};
  ShardWriter writer(options, pack.picture_bytes());
  std::vector<std::uint8_t> spread;
  const std::size_t all = archive.entries().size();
  for (std::size_t first = 0; first < all; first += kDecodedAtOnce) {
    for (const Pixels& picture :
         decode_some(archive, first, std::min(kDecodedAtOnce, all - first), options)) {
      if (picture.channels > channels) {
        return std::nullopt;
      }
      std::span<const std::uint8_t> bytes = picture.values;
      if (picture.channels < channels) {  // three equal channels read as gray
        spread.clear();
        for (const std::uint8_t shade : picture.values) {
          spread.insert(spread.end(), static_cast<std::size_t>(channels), shade);
        }
        bytes = spread;
      }
      const std::size_t at = pack.entries.size();
      pack.entries.push_back(
          {.hash = hash_of(bytes), .label = labels.of_images.empty() ? 0 : labels.of_images[at]});
      writer.write(bytes, pack);
    }
  }
  writer.end(pack);
  return pack;
}

}  // namespace

Pack write_pack(const ImageArchive& archive, const std::string& location,
                const PackOptions& options) {
  if (archive.entries().empty()) {
    throw ConfigError(
        fmt::format("{}: holds no .png, .jpg, .jpeg or .webp file; check the path", location));
  }
  const ImageLabels labels = labels_of(archive, location);
  make_room(options.folder);
  std::optional<Pack> pack = pack_with(1, archive, labels, options);
  if (!pack) {
    make_room(options.folder);
    pack = pack_with(3, archive, labels, options);
  }
  write_manifest(options.folder, *pack);
  return *std::move(pack);
}

}  // namespace gangway::data
