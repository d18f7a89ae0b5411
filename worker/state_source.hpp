// SPDX-License-Identifier: MIT
// Where a state is loaded from: a checkpoint on disk, or the snapshots that a run left in memory.
// Everything read is verified. Compute thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/snapshot_files.hpp"
#include "checkpoint/stored_state.hpp"

namespace gangway::worker {

class StateSource {
 public:
  virtual ~StateSource() = default;
  /// What messages call it.
  [[nodiscard]] virtual std::string name() const = 0;
  /// Null where it holds no such tensor.
  [[nodiscard]] virtual const checkpoint::StoredTensor* find(const std::string& tensor) const = 0;
  /// Elements [begin, end) in stored order. @throws CheckpointError
  virtual void read(const checkpoint::StoredTensor& tensor, std::uint64_t begin, std::uint64_t end,
                    std::span<std::byte> out) = 0;
  /// The whole tensor, row-major. @throws CheckpointError
  virtual void read_row_major(const checkpoint::StoredTensor& tensor, std::span<std::byte> out) = 0;
};

class CheckpointSource final : public StateSource {
 public:
  explicit CheckpointSource(const std::filesystem::path& checkpoint) : state_(checkpoint) {}
  [[nodiscard]] std::string name() const override { return state_.path().string(); }
  [[nodiscard]] const checkpoint::StoredTensor* find(const std::string& tensor) const override {
    return state_.find(tensor);
  }
  void read(const checkpoint::StoredTensor& tensor, std::uint64_t begin, std::uint64_t end,
            std::span<std::byte> out) override {
    state_.read_elements(tensor, begin, end, out);
  }
  void read_row_major(const checkpoint::StoredTensor& tensor, std::span<std::byte> out) override {
    state_.read_row_major(tensor, out);
  }

 private:
  checkpoint::StoredState state_;
};

/// All workers' parts of one moment, on this host.
class SnapshotSource final : public StateSource {
 public:
  /// @throws CheckpointError where the parts do not make up whole tensors.
  explicit SnapshotSource(checkpoint::CompleteSnapshot snapshot);
  [[nodiscard]] std::string name() const override;
  [[nodiscard]] const checkpoint::StoredTensor* find(const std::string& tensor) const override;
  void read(const checkpoint::StoredTensor& tensor, std::uint64_t begin, std::uint64_t end,
            std::span<std::byte> out) override;
  void read_row_major(const checkpoint::StoredTensor& tensor, std::span<std::byte> out) override;

 private:
  /// Where the pieces of a tensor lie, as its StoredTensor lists them.
  struct Where {
    std::size_t part = 0;
    std::size_t piece = 0;
  };
  struct Entry {
    checkpoint::StoredTensor tensor;
    std::vector<Where> where;
  };
  checkpoint::CompleteSnapshot snapshot_;
  std::map<std::string, Entry, std::less<>> tensors_;
};

}  // namespace gangway::worker
