// SPDX-License-Identifier: MIT
// A disk for tests: a chosen call fails, or the power is cut at it. After a cut the disk holds
// synced data, and a chosen part of the rest (after leveldb's fault injection).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "checkpoint/files/file_system.hpp"

namespace gangway::checkpoint {

/// Thrown by the call at which the power is cut. Later calls do nothing and fail.
struct PowerCut {};

/// The fault that a test injects into calls.
struct Fault {
  enum class Kind {
    kNone,
    kCut,        ///< the power is cut before call `call`
    kFail,       ///< call `call` fails with `error`
    kInterrupt,  ///< every other call that a signal may interrupt fails with EINTR
    kDribble,    ///< as kInterrupt, and a write or read moves a third of its bytes
  };
  Kind kind = Kind::kNone;
  int call = 0;  ///< counted from 0
  int error = 0;
};

/// Chooses the unsynced writes and names that survive a cut.
class Survival {
 public:
  [[nodiscard]] static Survival of_nothing() { return Survival(Mode::kNothing, 0); }
  [[nodiscard]] static Survival of_everything() { return Survival(Mode::kEverything, 0); }
  /// Any subset of the names in any order; files torn at random places.
  [[nodiscard]] static Survival by_chance(std::uint64_t seed) {
    return Survival(Mode::kChance, seed);
  }

  [[nodiscard]] bool name_survives();
  [[nodiscard]] std::string content(const std::string& synced, const std::string& written);

 private:
  enum class Mode { kNothing, kEverything, kChance };
  Survival(Mode mode, std::uint64_t seed) : mode_(mode), random_(seed) {}

  Mode mode_;
  std::mt19937_64 random_;
};

/// Executes calls on real files below `root`, and records in memory which data are durable. One
/// thread.
class ForgetfulDisk : public PosixFileSystem {
 public:
  /// The present content of `root` is durable.
  explicit ForgetfulDisk(const std::filesystem::path& root, Fault fault = {});
  ~ForgetfulDisk() override;

  [[nodiscard]] int calls() const;
  /// Returns files that were synced or renamed after their sync had failed: their data are lost.
  [[nodiscard]] std::vector<std::string> synced_twice() const;
  /// Writes the disk's content after a cut at this moment to the new folder `target`.
  void leave(const std::filesystem::path& target, Survival survival) const;

  FileDescriptor create(const std::filesystem::path& path, mode_t mode) const override;
  int reserve(const FileDescriptor& file, std::uint64_t bytes) const override;
  ssize_t write(const FileDescriptor& file, std::span<const std::byte> bytes) const override;
  int sync(const FileDescriptor& file) const override;
  int close(FileDescriptor file) const override;
  ssize_t read(const FileDescriptor& file, std::uint64_t offset,
               std::span<std::byte> out) const override;
  int rename(const std::filesystem::path& from, const std::filesystem::path& to) const override;
  int rename_to_new(const std::filesystem::path& from,
                    const std::filesystem::path& to) const override;
  int remove(const std::filesystem::path& file) const override;
  int make_folder(const std::filesystem::path& folder) const override;
  int remove_folder(const std::filesystem::path& folder) const override;
  int sync_folder(const std::filesystem::path& folder) const override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace gangway::checkpoint
