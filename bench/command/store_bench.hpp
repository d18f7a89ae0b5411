// SPDX-License-Identifier: MIT
// The store alone, without a training: copies of a state in memory, saves and loads of it, each
// beside what the machine gives to whoever only copies, writes and reads. As many threads as
// workers have written the checkpoint that it begins with. Called by `gangway bench checkpoint`,
// main thread.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

#include "bench/command/checkpoint_figures.hpp"
#include "checkpoint/format/manifest.hpp"

namespace gangway::bench {

class StoreBench {
 public:
  /// Reads the whole checkpoint into memory, and reserves two snapshots beside it.
  /// @param folder  on the disk in question; what is written there is removed again
  /// @throws EnvironmentError where there is no room; CheckpointError
  StoreBench(const std::filesystem::path& checkpoint, std::filesystem::path folder);
  ~StoreBench();
  StoreBench(const StoreBench&) = delete;
  StoreBench& operator=(const StoreBench&) = delete;

  /// Bytes of all files.
  [[nodiscard]] double state_bytes() const;
  /// Plain copy and snapshot, one after the other; which comes first changes from call to call.
  [[nodiscard]] CopyTimes copy();
  /// Plain writes, a save, plain reads and a load. The order of plain and real changes likewise.
  /// @pre copy() has been called
  [[nodiscard]] StoreTimes write_and_read();

 private:
  struct Worker;
  /// Seconds of the slowest, all workers' threads starting at once. Rethrows what one throws.
  [[nodiscard]] double at_once(const std::function<void(std::size_t worker)>& work) const;
  void take_snapshots();
  /// @return the path of the new checkpoint
  [[nodiscard]] std::filesystem::path save();
  void load(const std::filesystem::path& checkpoint);

  std::filesystem::path folder_;
  checkpoint::Manifest manifest_;  ///< of the checkpoint that was given
  std::vector<std::unique_ptr<Worker>> workers_;
  std::int64_t step_;
  bool plain_first_ = false;
};

}  // namespace gangway::bench
