// SPDX-License-Identifier: MIT
// Maps between the strips of rows that are computed one after another. Used by
// gan/tiles/tiled_network.cpp. Compute thread.
#pragma once

#include <cstdint>
#include <filesystem>

#include "base/file_descriptor.hpp"
#include "gan/torch.hpp"

namespace gangway::gan {

/// Rows [begin, end) of maps.
struct Rows {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  [[nodiscard]] std::int64_t count() const { return end - begin; }
};

/// Number and sides of pictures or maps.
struct MapSize {
  std::int64_t count = 1;
  std::int64_t height = 0;
  std::int64_t width = 0;
};

/// Maps [N, C, H, W], float32, stored as [N, H, W, C], so that rows of an example lie together.
class StoredMap {
 public:
  /// @param device  of the strips, and of the map if it is in memory
  /// @param folder  if not empty, the map lies in a file there that has no name: it vanishes with
  /// this object, and with the process. @throws EnvironmentError naming the folder
  StoredMap(const MapSize& size, std::int64_t channels, at::Device device,
            const std::filesystem::path& folder = {});

  /// Stores rows from `begin` on. @param strip  [N, C, rows, W] @throws EnvironmentError
  void put(const at::Tensor& strip, std::int64_t begin);
  /// Returns rows; of one example in memory a view. @throws EnvironmentError
  [[nodiscard]] at::Tensor get(Rows rows) const;

 private:
  /// Calls `move` (pread, pwrite) until it has moved each example's rows.
  /// @param rows  as stored, on the CPU
  template <typename Move>
  void move_rows(Move move, const at::Tensor& rows, std::int64_t begin, const char* done) const;

  MapSize size_;
  std::int64_t channels_;
  at::Device device_;
  std::filesystem::path folder_;
  FileDescriptor file_;  // null: in memory
  at::Tensor memory_;
};

}  // namespace gangway::gan
