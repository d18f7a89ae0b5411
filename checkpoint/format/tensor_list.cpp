// SPDX-License-Identifier: MIT
#include "checkpoint/format/tensor_list.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "base/hash.hpp"
#include "checkpoint/files/crc32c.hpp"
#include "checkpoint/files/strict_json.hpp"
#include "checkpoint/format/names.hpp"
#include "checkpoint/format/safetensors.hpp"

namespace gangway::checkpoint {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr int kMaxListDepth = 5;  // record, tensors, tensor, pieces, piece
constexpr std::size_t kSumDigits = 8;
constexpr std::size_t kMaxPieces = std::size_t{1} << 20U;
constexpr std::size_t kMaxListedTensors = std::size_t{1} << 20U;

/// Whether the name ends in "@<digits>", which only pieces may have.
bool ends_like_a_piece(std::string_view name) {
  const std::size_t at = name.rfind('@');
  return at != std::string_view::npos && at + 1 < name.size() &&
         std::all_of(name.begin() + static_cast<std::ptrdiff_t>(at) + 1, name.end(),
                     [](char c) { return c >= '0' && c <= '9'; });
}

/// Returns the elements of a shape; nothing if their bytes exceed 63 bits.
std::optional<std::uint64_t> checked_elements(const StoredTensor& tensor) {
  std::uint64_t bytes = item_size(tensor.type);
  for (const std::int64_t extent : tensor.shape) {
    if (extent < 0 || __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(extent), &bytes) ||
        bytes > std::uint64_t{INT64_MAX}) {
      return std::nullopt;
    }
  }
  return bytes / item_size(tensor.type);
}

std::string wrong_with_piece(const StoredTensor& tensor, const TensorPiece& piece,
                             std::uint64_t elements) {
  if (piece.begin > piece.end || piece.end > elements ||
      (piece.begin == piece.end && elements != 0)) {
    return fmt::format("a piece has elements {} to {} of {}", piece.begin, piece.end, elements);
  }
  if (!is_hash(piece.xxh3_128)) {
    return "the hash of a piece is not 32 hexadecimal digits";
  }
  if (piece_name(tensor, piece).size() > kMaxNameBytes) {
    return fmt::format("the name is too long for a piece at {}", piece.begin);
  }
  return "";
}

StoredTensor read_tensor(const json& item, int num_files, const std::string& list_where) {
  JsonMembers members(item, list_where);
  StoredTensor tensor;
  tensor.name = members.text("name", kMaxNameBytes);
  const std::string where = fmt::format("{}: tensor '{}'", list_where, printable(tensor.name));
  const std::string dtype = members.text("dtype");
  const std::optional<ElementType> type = parse_type(dtype);
  const std::string order = members.text("order");
  if (!type || (order != order_name(StoredOrder::kRowMajor) &&
                order != order_name(StoredOrder::kChannelsLast))) {
    throw CheckpointError(fmt::format("{}: unknown dtype '{}' or order '{}': damaged", where,
                                      printable(dtype, 40), printable(order, 40)));
  }
  tensor.type = *type;
  tensor.order = order == order_name(StoredOrder::kRowMajor) ? StoredOrder::kRowMajor
                                                             : StoredOrder::kChannelsLast;
  for (const json& extent : members.list("shape", kMaxRank)) {
    if (!extent.is_number_unsigned() || extent.get<std::uint64_t>() > std::uint64_t{INT64_MAX}) {
      throw CheckpointError(fmt::format("{}: the shape is not one of counts: damaged", where));
    }
    tensor.shape.push_back(extent.get<std::int64_t>());
  }
  for (const json& listed : members.list("pieces", kMaxPieces)) {
    JsonMembers piece(listed, where);
    const std::int64_t file = piece.count("file");
    if (file >= num_files) {
      throw CheckpointError(
          fmt::format("{}: a piece is in file {} of {}: damaged", where, file, num_files));
    }
    tensor.pieces.push_back({.file = static_cast<int>(file),
                             .begin = static_cast<std::uint64_t>(piece.count("begin")),
                             .end = static_cast<std::uint64_t>(piece.count("end")),
                             .xxh3_128 = piece.text("xxh3_128")});
    piece.require_no_others();
  }
  members.require_no_others();
  if (const std::string wrong = wrong_with(tensor); !wrong.empty()) {
    throw CheckpointError(fmt::format("{}: {}: damaged", where, wrong));
  }
  return tensor;
}

/// Checks that the sorted pieces are contiguous. @throws CheckpointError on a gap or overlap.
void require_pieces_meet(const StoredTensor& tensor, const FileNames& file_name,
                         const std::string& where) {
  if (tensor.num_elements() == 0 && tensor.pieces.size() > 1) {
    throw CheckpointError(fmt::format("{}: tensor '{}': is in {} and in {}", where, tensor.name,
                                      file_name(tensor.pieces[0].file),
                                      file_name(tensor.pieces[1].file)));
  }
  std::uint64_t position = 0;
  const TensorPiece* before = nullptr;
  for (const TensorPiece& piece : tensor.pieces) {
    if (piece.begin < position) {
      throw CheckpointError(fmt::format("{}: tensor '{}': elements from {} on are in {} and in {}",
                                        where, tensor.name, piece.begin, file_name(before->file),
                                        file_name(piece.file)));
    }
    if (piece.begin > position) {
      break;
    }
    position = piece.end;
    before = &piece;
  }
  if (position != tensor.num_elements() || tensor.pieces.empty()) {
    throw CheckpointError(fmt::format("{}: tensor '{}': elements from {} on are in no file", where,
                                      tensor.name, position));
  }
}

}  // namespace

std::string wrong_with(const StoredTensor& tensor) {
  if (tensor.name.empty() || tensor.name.size() > kMaxNameBytes || tensor.name == "__metadata__" ||
      !has_no_controls(tensor.name) || ends_like_a_piece(tensor.name)) {
    return "illegal name";
  }
  const std::optional<std::uint64_t> elements = checked_elements(tensor);
  if (!elements || tensor.shape.size() > kMaxRank) {
    return "the shape has too many axes or elements";
  }
  if (tensor.order == StoredOrder::kChannelsLast && (tensor.shape.size() != 4 || *elements == 0)) {
    return "channels come last only in tensors of four axes with elements";
  }
  for (const TensorPiece& piece : tensor.pieces) {
    if (std::string wrong = wrong_with_piece(tensor, piece, *elements); !wrong.empty()) {
      return wrong;
    }
  }
  return "";
}

std::string tensor_json(const StoredTensor& tensor) {
  ordered_json pieces = ordered_json::array();
  for (const TensorPiece& piece : tensor.pieces) {
    pieces.push_back({{"file", piece.file},
                      {"begin", piece.begin},
                      {"end", piece.end},
                      {"xxh3_128", piece.xxh3_128}});
  }
  const ordered_json item = {{"name", tensor.name},
                             {"dtype", type_name(tensor.type)},
                             {"shape", tensor.shape},
                             {"order", order_name(tensor.order)},
                             {"pieces", pieces}};
  try {
    return item.dump();
  } catch (const json::exception& error) {
    throw InvariantError(fmt::format("a tensor's name is not UTF-8: {}", printable(error.what())));
  }
}

std::vector<StoredTensor> read_tensors(const json& list, int num_files, const std::string& where) {
  if (!list.is_array() || list.size() > kMaxListedTensors) {
    throw CheckpointError(fmt::format("{}: 'tensors' is not a list of at most {}: damaged", where,
                                      kMaxListedTensors));
  }
  std::vector<StoredTensor> tensors;
  tensors.reserve(list.size());
  for (const json& item : list) {
    tensors.push_back(read_tensor(item, num_files, where));
  }
  return tensors;
}

std::string sums_text(const std::vector<std::uint32_t>& sums) {
  std::string text;
  text.reserve(sums.size() * kSumDigits);
  for (const std::uint32_t sum : sums) {
    fmt::format_to(std::back_inserter(text), "{:08x}", sum);
  }
  return text;
}

std::vector<std::uint32_t> parse_sums(std::string_view text, std::uint64_t bytes,
                                      const std::string& where) {
  const bool is_hex = std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
  });
  if (!is_hex || text.size() % kSumDigits != 0 || text.size() / kSumDigits != num_chunks(bytes)) {
    throw CheckpointError(fmt::format("{}: 'chunk_crc32c' is not {} sums of 8 digits: damaged",
                                      where, num_chunks(bytes)));
  }
  std::vector<std::uint32_t> sums;
  for (std::size_t at = 0; at < text.size(); at += kSumDigits) {
    sums.push_back(static_cast<std::uint32_t>(
        std::stoul(std::string(text.substr(at, kSumDigits)), nullptr, 16)));
  }
  return sums;
}

std::uint64_t num_chunks(std::uint64_t bytes) {
  return bytes / kChunkBytes + (bytes % kChunkBytes != 0 ? 1 : 0);
}

std::string to_json(const WorkerRecord& record) {
  std::vector<std::string> lines;
  for (const StoredTensor& tensor : record.tensors) {
    lines.push_back(tensor_json(tensor));
  }
  return fmt::format(
      "{{\"file\": \"{}\", \"bytes\": {}, \"chunk_crc32c\": \"{}\", \"tensors\": [\n{}]}}\n",
      record.file, record.bytes, sums_text(record.chunk_crc32c), fmt::join(lines, ",\n"));
}

WorkerRecord parse_record(std::string_view text, int worker, const std::string& where) {
  const json document = parse_strict_json(text, kMaxListDepth, where);
  JsonMembers members(document, where);
  WorkerRecord record;
  record.file = members.text("file");
  record.bytes = static_cast<std::uint64_t>(members.count("bytes"));
  record.chunk_crc32c =
      parse_sums(members.text("chunk_crc32c", kMaxManifestBytes), record.bytes, where);
  record.tensors = read_tensors(members.at("tensors"), 1, where);
  members.require_no_others();
  for (StoredTensor& tensor : record.tensors) {
    for (TensorPiece& piece : tensor.pieces) {
      piece.file = worker;
    }
  }
  return record;
}

std::vector<StoredTensor> join_records(const std::vector<WorkerRecord>& records,
                                       const std::string& where) {
  std::map<std::string_view, StoredTensor> joined;
  for (const WorkerRecord& record : records) {
    for (const StoredTensor& tensor : record.tensors) {
      const auto [place, is_new] = joined.emplace(tensor.name, tensor);
      if (is_new) {
        continue;
      }
      StoredTensor& known = place->second;
      if (known.type != tensor.type || known.shape != tensor.shape || known.order != tensor.order) {
        throw CheckpointError(fmt::format(
            "{}: tensor '{}': {} says {} [{}] {}, another file {} [{}] {}", where, tensor.name,
            record.file, type_name(tensor.type), fmt::join(tensor.shape, ", "),
            order_name(tensor.order), type_name(known.type), fmt::join(known.shape, ", "),
            order_name(known.order)));
      }
      known.pieces.insert(known.pieces.end(), tensor.pieces.begin(), tensor.pieces.end());
    }
  }
  std::vector<StoredTensor> tensors;
  tensors.reserve(joined.size());
  for (auto& [name, tensor] : joined) {
    std::ranges::sort(tensor.pieces, {}, &TensorPiece::begin);
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

void require_covered(std::span<const StoredTensor> tensors, const FileNames& file_name,
                     const std::string& where) {
  const StoredTensor* before = nullptr;
  for (const StoredTensor& tensor : tensors) {
    if (before != nullptr && before->name >= tensor.name) {
      throw CheckpointError(fmt::format("{}: tensor '{}' is listed after '{}': damaged", where,
                                        tensor.name, before->name));
    }
    require_pieces_meet(tensor, file_name, where);
    before = &tensor;
  }
}

}  // namespace gangway::checkpoint
