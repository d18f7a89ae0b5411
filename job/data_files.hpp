// SPDX-License-Identifier: MIT
// Facts about the files of a data set, beside its fingerprint, that name the files that differ.
// Made where files are opened, sent by workers, compared by the coordinator. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

namespace gangway {

/// A run of neighbouring data files. If two workers see different files, the marks show in which
/// run.
struct DataMark {
  std::string first;       ///< name of its first file
  std::uint64_t hash = 0;  ///< of the run's file names and contents
  static auto fields(auto& it) { return std::tie(it.first, it.hash); }
  bool operator==(const DataMark&) const = default;
};

/// A data file whose contents have changed on this worker's host.
struct ChangedFile {
  std::string name;
  std::string noticed;  ///< time, RFC 3339, UTC
  static auto fields(auto& it) { return std::tie(it.name, it.noticed); }
  bool operator==(const ChangedFile&) const = default;
};

/// The files of the data, as a worker sees them.
struct DataFiles {
  /// Fingerprint as made until December 2026, of names, sizes and some beginnings. Older
  /// checkpoints may have it. Equal to the present one for data whose rule has not changed.
  std::string earlier_fingerprint;
  std::vector<DataMark> marks;       ///< in file order; empty for data that are not pictures
  std::vector<ChangedFile> changed;  ///< newest first; a few only
  static auto fields(auto& it) { return std::tie(it.earlier_fingerprint, it.marks, it.changed); }
  bool operator==(const DataFiles&) const = default;
};

}  // namespace gangway
