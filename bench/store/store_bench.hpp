// SPDX-License-Identifier: MIT
// Measures the store without a training: copies of a state in memory, saves and loads of it, each
// beside plain copies, writes and reads of this machine. It uses as many threads as workers have
// written the checkpoint that it begins with. Called by `gangway store-times`, main thread.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

#include "checkpoint/format/manifest.hpp"

namespace gangway::bench {

/// Seconds of one turn, no training beside it, of the slowest worker.
struct StoreTimes {
  double plain_copy = 0.0;   ///< memcpy of the state in memory
  double snapshot = 0.0;     ///< the same with the hashes, into a snapshot's slot
  double plain_write = 0.0;  ///< direct writes of 4 MiB, synced
  double save = 0.0;         ///< from the whole snapshot to the committed manifest
  double plain_read = 0.0;   ///< direct reads of 4 MiB
  double load = 0.0;         ///< chunk by chunk, every one verified
};

class StoreBench {
 public:
  /// Reads the whole checkpoint into memory, and reserves two snapshots beside it.
  /// @param folder  on the disk in question; what is written there is removed again
  /// @throws EnvironmentError where there is no room; CheckpointError
  StoreBench(const std::filesystem::path& checkpoint, std::filesystem::path folder);
  ~StoreBench();
  StoreBench(const StoreBench&) = delete;
  StoreBench& operator=(const StoreBench&) = delete;

  /// Plain copy and snapshot, plain writes and a save, plain reads and a load.
  /// @param plain_first  which comes first of each pair
  [[nodiscard]] StoreTimes turn(bool plain_first);

 private:
  struct Worker;
  /// Seconds of the slowest, all workers' threads starting at once. Rethrows what one throws.
  [[nodiscard]] double at_once(const std::function<void(std::size_t worker)>& work) const;
  /// @return the path of the new checkpoint
  [[nodiscard]] std::filesystem::path save();
  void load(const std::filesystem::path& checkpoint);

  std::filesystem::path folder_;
  checkpoint::Manifest manifest_;  ///< of the checkpoint that was given
  std::vector<std::unique_ptr<Worker>> workers_;
  std::int64_t step_;
};

}  // namespace gangway::bench
