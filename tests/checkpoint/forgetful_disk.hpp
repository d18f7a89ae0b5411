// SPDX-License-Identifier: MIT
// A disk for tests: at a chosen call the call fails, or the power is cut; after a cut it holds what
// was synced, and of the rest what the test chooses (after leveldb's fault injection).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "checkpoint/files/file_system.hpp"

namespace gangway::checkpoint {

/// Thrown by the call at which the power is cut. All calls after it do nothing and fail.
struct PowerCut {};

/// What happens to the calls that a test makes.
struct Fault {
  enum class Kind {
    kNone,
    kCut,        ///< the power is cut before call `call`
    kFail,       ///< call `call` fails with `error`
    kInterrupt,  ///< every other call that a signal may interrupt fails with EINTR
    kDribble,    ///< as kInterrupt, and a write or read moves a third of what it is asked for
  };
  Kind kind = Kind::kNone;
  int call = 0;  ///< the first is 0
  int error = 0;
};

/// Which of the unsynced writes and names are on the disk after a cut.
class Survival {
 public:
  [[nodiscard]] static Survival of_nothing() { return Survival(Mode::kNothing, 0); }
  [[nodiscard]] static Survival of_everything() { return Survival(Mode::kEverything, 0); }
  /// Any subset of the names in any order; files torn at any place.
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

/// Carries calls out on real files below `root`, and keeps in memory what is durable of them. One
/// thread.
class ForgetfulDisk : public PosixFileSystem {
 public:
  /// What lies in `root` now is durable.
  explicit ForgetfulDisk(const std::filesystem::path& root, Fault fault = {});
  ~ForgetfulDisk() override;

  [[nodiscard]] int calls() const;
  /// Files that were synced or renamed after a sync of them had failed: their data are lost.
  [[nodiscard]] std::vector<std::string> synced_twice() const;
  /// Writes what the disk holds after a cut at this moment to the new folder `target`.
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
