// SPDX-License-Identifier: MIT
#include <algorithm>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/errors.hpp"
#include "base/file_descriptor.hpp"
#include "data/archives/file_part.hpp"
#include "data/contents/file_contents.hpp"
#include "data/images/pixels.hpp"
#include "data/kept/pack_files.hpp"
#include "data/kept_datasets.hpp"

namespace gangway::data {
namespace {

/// Reads the pictures of a pack without decoding: the same values as the packed pictures, each
/// checked against its hash. Shards are not mapped, so a truncated shard causes an error message
/// and no signal.
class PackDataset : public Dataset {
 public:
  PackDataset(std::filesystem::path folder, const ModelSpec& model);

  [[nodiscard]] std::int64_t size() const override {
    return static_cast<std::int64_t>(pack_.entries.size());
  }
  [[nodiscard]] ExampleShape shape() const override { return shape_; }
  [[nodiscard]] int num_classes() const override { return pack_.num_classes; }
  [[nodiscard]] int read(std::int64_t index, std::span<float> out) const override;
  void expect(std::int64_t index) const override;
  [[nodiscard]] int label(std::int64_t index) const override {
    return static_cast<int>(pack_.entries[static_cast<std::size_t>(index)].label);
  }
  [[nodiscard]] std::string fingerprint() const override { return pack_.fingerprint; }

 private:
  std::filesystem::path folder_;
  Pack pack_;
  ExampleShape shape_;
  std::size_t pictures_a_shard_ = 1;
  std::vector<FileDescriptor> shards_;
};

PackDataset::PackDataset(std::filesystem::path folder, const ModelSpec& model)
    : folder_(std::move(folder)),
      pack_(read_pack(folder_)),
      shape_{.channels = model.channels, .height = model.resolution, .width = model.resolution} {
  if (pack_.resolution != model.resolution) {
    throw ConfigError(fmt::format(
        "data.source: pack:{} has pictures of {} x {}, but model.resolution is {}; set it to {}, "
        "or make a pack with --resolution {}",
        folder_.string(), pack_.resolution, pack_.resolution, model.resolution, pack_.resolution,
        model.resolution));
  }
  if (pack_.entries.empty()) {
    throw ConfigError(
        fmt::format("data.source: pack:{} is empty; pack some pictures", folder_.string()));
  }
  pictures_a_shard_ = static_cast<std::size_t>(pack_.shards.front().bytes) / pack_.picture_bytes();
  for (const PackShard& shard : pack_.shards) {
    const std::filesystem::path path = folder_ / shard.file;
    shards_.emplace_back(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!shards_.back()) {
      throw ConfigError(fmt::format("{}: cannot be read; check its permissions", path.string()));
    }
  }
}

int PackDataset::read(std::int64_t index, std::span<float> out) const {
  const auto at = static_cast<std::size_t>(index);
  const std::size_t shard = at / pictures_a_shard_;
  Pixels picture{.height = pack_.resolution,
                 .width = pack_.resolution,
                 .channels = pack_.channels,
                 .values = std::vector<std::uint8_t>(pack_.picture_bytes())};
  const std::size_t place = at % pictures_a_shard_;
  const ssize_t count =
      shard < shards_.size()
          ? ::pread(shards_[shard].get(), picture.values.data(), picture.values.size(),
                    static_cast<off_t>(place * picture.values.size()))
          : -1;
  if (count != static_cast<ssize_t>(picture.values.size()) ||
      hash_of(picture.values) != pack_.entries[at].hash) {
    throw ConfigError(fmt::format(
        "{}: picture {} of it (counted from 0) is not what was packed; make the pack again with "
        "'gangway data pack', or copy it again",
        (folder_ / pack_.shards[std::min(shard, shards_.size() - 1)].file).string(), place));
  }
  to_floats(picture, shape_.channels, out);
  return label(index);
}

void PackDataset::expect(std::int64_t index) const {
  const auto at = static_cast<std::size_t>(index);
  const std::size_t bytes = pack_.picture_bytes();
  if (const std::size_t shard = at / pictures_a_shard_; shard < shards_.size()) {
    expect_part(shards_[shard], {.offset = at % pictures_a_shard_ * bytes, .bytes = bytes});
  }
}

}  // namespace

std::unique_ptr<Dataset> open_pack(const std::filesystem::path& folder, const ModelSpec& model) {
  return std::make_unique<PackDataset>(folder, model);
}

}  // namespace gangway::data
