// SPDX-License-Identifier: MIT
// What is told of the files of a data set, beside its fingerprint: enough to name those that
// differ. Made where they are opened, sent by workers, compared by the coordinator. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

namespace gangway {

/// A run of neighbours among the files of the data, so that two workers that see other ones can be
/// told about where.
struct DataMark {
  std::string first;       ///< name of its first file
  std::uint64_t hash = 0;  ///< of their names and contents
  static auto fields(auto& it) { return std::tie(it.first, it.hash); }
  bool operator==(const DataMark&) const = default;
};

/// A file of the data that has other contents than it once had on this worker's host.
struct ChangedFile {
  std::string name;
  std::string noticed;  ///< RFC 3339, UTC
  static auto fields(auto& it) { return std::tie(it.name, it.noticed); }
  bool operator==(const ChangedFile&) const = default;
};

/// The files of the data, as a worker sees them.
struct DataFiles {
  /// As it was made until December 2026, of names, sizes and some beginnings; checkpoints may have
  /// it. Equal to the other where that is made as ever.
  std::string earlier_fingerprint;
  std::vector<DataMark> marks;       ///< in the files' order; none for data that are no pictures
  std::vector<ChangedFile> changed;  ///< last noticed first; a few
  static auto fields(auto& it) { return std::tie(it.earlier_fingerprint, it.marks, it.changed); }
  bool operator==(const DataFiles&) const = default;
};

}  // namespace gangway
