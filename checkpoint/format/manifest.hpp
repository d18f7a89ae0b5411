// SPDX-License-Identifier: MIT
// The manifest: what makes a folder of worker files a checkpoint. Written last by the coordinator;
// read by everybody. Pure values and text here; the order of writes is
// checkpoint/store/commit.hpp's.
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

/// Member of `software`: steps at which the run went on with another arithmetic, "300, 1200".
inline constexpr std::string_view kArithmeticChanges = "arithmetic_changed_at_step";

/// A worker's file, as the worker reported it after its fsync.
struct ManifestFile {
  std::string name;  ///< worker_file_name(worker, files.size())
  int worker = 0;
  std::uint64_t bytes = 0;
  std::string xxh3_128;  ///< as the worker reported it (FileReport); not written since format 2
  std::vector<std::uint32_t> chunk_crc32c;  ///< of every kChunkBytes; commit_checkpoint fills it in
};

/// A decision that changed the job and that a replay has to repeat (none exist yet).
struct ManifestEvent {
  std::int64_t step = 0;
  std::string kind;
  std::string detail;
};

struct Manifest {
  int format_version = kFormatVersion;
  std::string checkpoint_id;  ///< 32 digits, of job, step and files; commit_checkpoint fills it in
                              ///< when empty
  std::int64_t step = 0;      ///< steps done
  std::int64_t images = 0;    ///< real images shown
  std::int64_t epoch = 0;     ///< of the membership that wrote it
  std::string job_yaml;       ///< the resolved job, whole
  std::string
      job_fingerprint;  ///< of what can change a weight; any text without control characters
  std::string model_fingerprint;
  std::string numerics;  ///< canonical text of the job's numerics; part of the digest
  std::string data_fingerprint;
  std::int64_t data_cursor = 0;                 ///< samples consumed, over all data passes
  std::map<std::string, std::string> software;  ///< "gangway": "0.1.0", "torch": …
  std::string created;                          ///< RFC 3339, UTC: rfc3339()
  std::vector<ManifestFile> files;              ///< by worker: 0, 1, …
  std::vector<StoredTensor> tensors;  ///< by name; commit_checkpoint fills it in; format 1: empty
  std::vector<ManifestEvent> events;
  std::int64_t tensor_count = 0;      ///< over all files; since format 2: of `tensors`
  std::string tensor_names_xxh3_128;  ///< format 1 alone: of the sorted names, each followed by a
                                      ///< line feed
};

/// "2026-11-21T10:36:00Z", whole seconds, UTC.
[[nodiscard]] std::string rfc3339(std::chrono::system_clock::time_point time);
/// @throws CheckpointError when `text` is not what rfc3339 writes.
[[nodiscard]] std::chrono::system_clock::time_point parse_rfc3339(const std::string& text);

/// JSON of the newest format with fixed member order, sealed: its last member is the hash of
/// everything before, so that no flipped bit is ever read as another value.
/// @throws InvariantError when the manifest contradicts itself.
[[nodiscard]] std::string to_json(const Manifest& manifest);

/// Strict: unknown, missing, doubled members, wrong types, ranges and a broken seal are refused.
/// Older formats load, newer ones are refused by name.
/// @param where path for messages. @throws CheckpointError naming `where` and the member.
[[nodiscard]] Manifest parse_manifest(std::string_view json, const std::string& where);

}  // namespace gangway::checkpoint
