// SPDX-License-Identifier: MIT
// The manifest: makes a folder of worker files a checkpoint. Written last, by the coordinator; read
// by every worker and tool. Only values and text; checkpoint/store/commit.hpp has the order of
// writes.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/format/names.hpp"
#include "checkpoint/format/stored_tensor.hpp"

namespace gangway::checkpoint {

inline constexpr int kFormatVersion = 2;

/// Member of `software`: steps at which a resumed run changed its arithmetic, "300, 1200".
inline constexpr std::string_view kArithmeticChanges = "arithmetic_changed_at_step";

/// A worker's file, as the worker reported it after its fsync.
struct ManifestFile {
  std::string name;  ///< worker_file_name(worker, files.size())
  int worker = 0;
  std::uint64_t bytes = 0;
  std::string xxh3_128;  ///< as the worker reported it (FileReport); not written since format 2
  std::vector<std::uint32_t> chunk_crc32c;  ///< per kChunkBytes; set by commit_checkpoint
};

/// A decision that changed the job and that a replay must repeat (none exist yet).
struct ManifestEvent {
  std::int64_t step = 0;
  std::string kind;
  std::string detail;
};

struct Manifest {
  int format_version = kFormatVersion;
  std::string checkpoint_id;    ///< 32 digits, of job, step and files; commit_checkpoint sets it
                                ///< if empty
  std::int64_t step = 0;        ///< steps done
  std::int64_t images = 0;      ///< real images shown
  std::int64_t epoch = 0;       ///< of the membership that wrote it
  std::string job_yaml;         ///< the resolved job, complete
  std::string job_fingerprint;  ///< of every key that can change a weight; no control characters
  std::string model_fingerprint;
  std::string numerics;  ///< canonical text of the job's numerics; part of the digest
  std::string data_fingerprint;
  std::int64_t data_cursor = 0;                 ///< samples consumed, over all data passes
  std::map<std::string, std::string> software;  ///< "gangway": "0.1.0", "torch": …
  std::string created;                          ///< RFC 3339, UTC: rfc3339()
  std::vector<ManifestFile> files;              ///< by worker: 0, 1, …
  std::vector<StoredTensor> tensors;  ///< by name; set by commit_checkpoint; format 1: empty
  std::vector<ManifestEvent> events;
  std::int64_t tensor_count = 0;      ///< over all files; since format 2: size of `tensors`
  std::string tensor_names_xxh3_128;  ///< format 1 only: of the sorted names, each followed by a
                                      ///< line feed
};

/// Returns "2026-11-21T10:36:00Z": whole seconds, UTC.
[[nodiscard]] std::string rfc3339(std::chrono::system_clock::time_point time);
/// @throws CheckpointError if `text` is not in the form of rfc3339().
[[nodiscard]] std::chrono::system_clock::time_point parse_rfc3339(const std::string& text);

/// Returns JSON of the newest format with fixed member order. The last member is a hash of all text
/// before it, so a flipped bit is always detected.
/// @throws InvariantError if the manifest contradicts itself.
[[nodiscard]] std::string to_json(const Manifest& manifest);

/// Parses strictly: throws for unknown, missing or doubled members, wrong types or ranges and a
/// broken seal. Accepts older formats; the message names a newer one.
/// @param where  path for messages. @throws CheckpointError naming `where` and the member.
[[nodiscard]] Manifest parse_manifest(std::string_view json, const std::string& where);

}  // namespace gangway::checkpoint
