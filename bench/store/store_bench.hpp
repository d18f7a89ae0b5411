// SPDX-License-Identifier: MIT
// Measures the store without a training: snapshots, saves and loads of a state, each beside plain
// copies, writes and reads. Uses a thread for each worker that wrote the checkpoint. Called by
// `gangway store-times`, main thread.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

#include "checkpoint/format/manifest.hpp"

namespace gangway::bench {

/// Seconds of the slowest worker in one turn, without a training.
struct StoreTimes {
  double plain_copy = 0.0;   ///< memcpy of the state in memory
  double snapshot = 0.0;     ///< the same with the hashes, into a snapshot slot
  double plain_write = 0.0;  ///< direct writes of 4 MiB, synced
  double save = 0.0;         ///< from the complete snapshot to the committed manifest
  double plain_read = 0.0;   ///< direct reads of 4 MiB
  double load = 0.0;         ///< chunk by chunk, each verified
};

class StoreBench {
 public:
  /// Reads the whole checkpoint into memory and reserves two snapshots.
  /// @param folder  on the measured disk; the destructor removes it
  /// @throws EnvironmentError if memory or disk is too small; CheckpointError
  StoreBench(const std::filesystem::path& checkpoint, std::filesystem::path folder);
  ~StoreBench();
  StoreBench(const StoreBench&) = delete;
  StoreBench& operator=(const StoreBench&) = delete;

  /// Measures plain copy and snapshot, plain writes and a save, plain reads and a load.
  /// @param plain_first  whether the plain one of each pair comes first
  [[nodiscard]] StoreTimes turn(bool plain_first);

 private:
  struct Worker;
  /// Runs `work` on all threads at once. Returns the slowest's seconds; rethrows an error.
  [[nodiscard]] double at_once(const std::function<void(std::size_t worker)>& work) const;
  /// @return the path of the new checkpoint
  [[nodiscard]] std::filesystem::path save();
  void load(const std::filesystem::path& checkpoint);

  std::filesystem::path folder_;
  checkpoint::Manifest manifest_;  ///< of the given checkpoint
  std::vector<std::unique_ptr<Worker>> workers_;
  std::int64_t step_;
};

}  // namespace gangway::bench
