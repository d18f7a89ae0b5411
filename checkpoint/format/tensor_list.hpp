// SPDX-License-Identifier: MIT
// Tensors and chunk sums as the manifest and the workers' records spell them. Internal to the
// store; any thread.
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

/// What a worker reports beside its file: kept next to it until the manifest takes it up.
struct WorkerRecord {
  std::string file;  ///< worker_file_name
  std::uint64_t bytes = 0;
  std::vector<std::uint32_t> chunk_crc32c;
  std::vector<StoredTensor> tensors;  ///< with this file's pieces alone
};
[[nodiscard]] std::string to_json(const WorkerRecord& record);
/// @param worker  file index that the pieces get. @throws CheckpointError naming `where`.
[[nodiscard]] WorkerRecord parse_record(std::string_view json, int worker,
                                        const std::string& where);

/// One line of JSON. @throws InvariantError for a name that is not UTF-8.
[[nodiscard]] std::string tensor_json(const StoredTensor& tensor);
/// Names, types, shapes, orders and ranges are checked alone; require_covered checks them together.
/// @throws CheckpointError naming `where` and the tensor.
[[nodiscard]] std::vector<StoredTensor> read_tensors(const nlohmann::json& list, int num_files,
                                                     const std::string& where);

/// Eight hexadecimal digits a chunk, one after the other.
[[nodiscard]] std::string sums_text(const std::vector<std::uint32_t>& sums);
/// @throws CheckpointError when these are not the sums of a file of `bytes`.
[[nodiscard]] std::vector<std::uint32_t> parse_sums(std::string_view text, std::uint64_t bytes,
                                                    const std::string& where);

/// Chunks of a file of `bytes`.
[[nodiscard]] std::uint64_t num_chunks(std::uint64_t bytes);

/// What is wrong with names, type, shape, order or the ranges of pieces, if anything.
[[nodiscard]] std::string wrong_with(const StoredTensor& tensor);

/// Puts the pieces of each tensor together and sorts by name. @throws CheckpointError naming the
/// tensor when files disagree about it, when elements are missing, or in two files.
[[nodiscard]] std::vector<StoredTensor> join_records(const std::vector<WorkerRecord>& records,
                                                     const std::string& where);
/// Of a file by its index.
using FileNames = std::function<std::string(int)>;
/// @throws CheckpointError when tensors are not by name, each once, or their pieces do not cover
/// them exactly once.
void require_covered(std::span<const StoredTensor> tensors, const FileNames& file_name,
                     const std::string& where);

}  // namespace gangway::checkpoint
