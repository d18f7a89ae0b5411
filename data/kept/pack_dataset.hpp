// SPDX-License-Identifier: MIT
// Reads the pictures of a pack without decoding. Created by open_pack.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/file_descriptor.hpp"
#include "data/dataset.hpp"
#include "data/kept/pack_files.hpp"
#include "job/models/model_spec.hpp"

namespace gangway::data {

/// Reads the same values as the packed pictures, and checks each against its hash. Shards are not
/// mapped, so a truncated shard causes an error message and no signal.
class PackDataset : public Dataset {
 public:
  /// @throws ConfigError naming a file that is missing, changed, cut or of another resolution
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

}  // namespace gangway::data
