// SPDX-License-Identifier: MIT
// Writes and parses tensors and chunk sums in JSON, for the manifest and the workers' records.
// Internal to the store; any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "checkpoint/format/stored_tensor.hpp"

namespace gangway::checkpoint {

/// A worker's record: stored beside its file until the manifest includes it.
struct WorkerRecord {
  std::string file;  ///< worker_file_name
  std::uint64_t bytes = 0;
  std::vector<std::uint32_t> chunk_crc32c;
  std::vector<StoredTensor> tensors;  ///< with the pieces in this file only
};
[[nodiscard]] std::string to_json(const WorkerRecord& record);
/// @param worker  file index of the pieces. @throws CheckpointError naming `where`.
[[nodiscard]] WorkerRecord parse_record(std::string_view json, int worker,
                                        const std::string& where);

/// Returns one line of JSON. @throws InvariantError for a name that is not UTF-8.
[[nodiscard]] std::string tensor_json(const StoredTensor& tensor);
/// Checks each name, type, shape, order and range; require_covered() checks them together.
/// @throws CheckpointError naming `where` and the tensor.
[[nodiscard]] std::vector<StoredTensor> read_tensors(const nlohmann::json& list, int num_files,
                                                     const std::string& where);

/// Returns eight hexadecimal digits for each chunk, concatenated.
[[nodiscard]] std::string sums_text(const std::vector<std::uint32_t>& sums);
/// @throws CheckpointError if these are not the sums of a file of `bytes`.
[[nodiscard]] std::vector<std::uint32_t> parse_sums(std::string_view text, std::uint64_t bytes,
                                                    const std::string& where);

/// Returns the number of chunks in a file of `bytes`.
[[nodiscard]] std::uint64_t num_chunks(std::uint64_t bytes);

/// Returns the error in name, type, shape, order or piece ranges; empty if there is none.
[[nodiscard]] std::string wrong_with(const StoredTensor& tensor);

/// Joins the pieces of each tensor and sorts by name. @throws CheckpointError naming the tensor if
/// files disagree about it, or elements are missing or stored twice.
[[nodiscard]] std::vector<StoredTensor> join_records(const std::vector<WorkerRecord>& records,
                                                     const std::string& where);
/// Returns the name of a file by its index.
using FileNames = std::function<std::string(int)>;
/// @throws CheckpointError unless tensors are sorted, unique and exactly covered by their pieces.
void require_covered(std::span<const StoredTensor> tensors, const FileNames& file_name,
                     const std::string& where);

}  // namespace gangway::checkpoint
