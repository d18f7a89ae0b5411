// SPDX-License-Identifier: MIT
#include "checkpoint/snapshots/snapshot_slot.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <numeric>
#include <regex>
#include <tuple>
#include <type_traits>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <xxhash.h>

#include "base/errors.hpp"
#include "base/hash.hpp"
#include "base/secret.hpp"
#include "base/text/utf8.hpp"
#include "checkpoint/files/strict_json.hpp"
#include "checkpoint/format/safetensors.hpp"

namespace gangway::checkpoint {
namespace {

constexpr std::size_t kTagDigits = 16;
constexpr std::size_t kMaxPathBytes = 4096;  // PATH_MAX
constexpr auto kLastType = static_cast<std::uint8_t>(ElementType::kBool);
constexpr auto kLastOrder = static_cast<std::uint8_t>(StoredOrder::kChannelsLast);
constexpr int kMaxReplicas = 99;
constexpr std::size_t kMaxDataBytes = std::size_t{1} << 48U;  // the sum of two cannot overflow

std::size_t round_up(std::size_t bytes) { return (bytes + kSlotPage - 1) / kSlotPage * kSlotPage; }

/// Returns the error in a single piece; empty if there is none.
std::string complaint_of(const TensorStretch& piece) {
  if (piece.name.empty() || piece.name.size() > kMaxNameBytes || !has_no_controls(piece.name) ||
      find_invalid_utf8(piece.name)) {
    return "illegal name";
  }
  if (piece.shape.size() > kMaxRank) {
    return fmt::format("{} axes, at most {} are possible", piece.shape.size(), kMaxRank);
  }
  if (piece.order == StoredOrder::kChannelsLast && piece.shape.size() != 4) {
    return "only a tensor of four axes can be stored channels last";
  }
  std::uint64_t elements = 1;
  std::uint64_t bytes = 0;
  bool is_sound = true;
  for (const std::int64_t extent : piece.shape) {
    is_sound = is_sound && extent >= 0 &&
               !__builtin_mul_overflow(elements, static_cast<std::uint64_t>(extent), &elements);
  }
  if (!is_sound || __builtin_mul_overflow(elements, item_size(piece.type), &bytes) ||
      bytes > kMaxDataBytes || piece.begin > piece.end || piece.end > elements) {
    return fmt::format("elements {} to {} of shape [{}]", piece.begin, piece.end,
                       fmt::join(piece.shape, ", "));
  }
  return {};
}

/// Returns the piece indices in the order of the data.
std::vector<std::size_t> storage_order(std::span<const TensorStretch> pieces) {
  std::vector<std::size_t> order(pieces.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t left, std::size_t right) {
    const TensorStretch& a = pieces[left];
    const TensorStretch& b = pieces[right];
    return std::tuple(item_size(b.type), std::string_view(a.name), a.begin, left) <
           std::tuple(item_size(a.type), std::string_view(b.name), b.begin, right);
  });
  return order;
}

class TableWriter {
 public:
  template <typename Number>
  void put(Number number) {
    static_assert(std::is_trivially_copyable_v<Number>);
    const auto view = std::as_bytes(std::span(&number, 1));
    bytes_.insert(bytes_.end(), view.begin(), view.end());
  }
  void put_text(const std::string& text) {
    put(static_cast<std::uint32_t>(text.size()));
    const auto view = std::as_bytes(std::span(text.data(), text.size()));
    bytes_.insert(bytes_.end(), view.begin(), view.end());
  }
  [[nodiscard]] std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

/// Reads the bytes of TableWriter; rejects a read beyond the end.
class TableReader {
 public:
  TableReader(std::span<const std::byte> bytes, const std::string& where)
      : bytes_(bytes), where_(where) {}

  template <typename Number>
  [[nodiscard]] Number get() {
    Number number{};
    const auto from = take(sizeof number);
    std::memcpy(&number, from.data(), sizeof number);
    return number;
  }
  [[nodiscard]] std::string get_text(std::size_t max_bytes) {
    const auto length = get<std::uint32_t>();
    if (length > max_bytes) {
      refuse("a text is too long");
    }
    const auto from = take(length);
    return {reinterpret_cast<const char*>(from.data()), from.size()};
  }
  [[nodiscard]] bool is_at_end() const { return bytes_.empty(); }
  [[noreturn]] void refuse(const std::string& why) const {
    throw CheckpointError(fmt::format("{}: damaged snapshot: table of pieces: {}", where_, why));
  }

 private:
  std::span<const std::byte> take(std::size_t count) {
    if (count > bytes_.size()) {
      refuse("ends early");
    }
    const auto taken = bytes_.first(count);
    bytes_ = bytes_.subspan(count);
    return taken;
  }

  std::span<const std::byte> bytes_;
  const std::string& where_;
};

TensorStretch read_piece(TableReader& table) {
  TensorStretch piece;
  piece.name = table.get_text(kMaxNameBytes);
  const auto type = table.get<std::uint8_t>();
  const auto order = table.get<std::uint8_t>();
  const auto rank = table.get<std::uint8_t>();
  if (type > kLastType || order > kLastOrder || rank > kMaxRank) {
    table.refuse(fmt::format("'{}': unknown type, order or number of axes ({}, {}, {})",
                             printable(piece.name), type, order, rank));
  }
  piece.type = static_cast<ElementType>(type);
  piece.order = static_cast<StoredOrder>(order);
  for (unsigned axis = 0; axis < rank; ++axis) {
    piece.shape.push_back(table.get<std::int64_t>());
  }
  piece.begin = table.get<std::uint64_t>();
  piece.end = table.get<std::uint64_t>();
  if (const std::string complaint = complaint_of(piece); !complaint.empty()) {
    table.refuse(fmt::format("'{}': {}", printable(piece.name), complaint));
  }
  return piece;
}

[[noreturn]] void refuse(const std::string& where, const std::string& why) {
  throw CheckpointError(fmt::format("{}: damaged snapshot: {}", where, why));
}

/// Checks that header and table are intact and inside the file.
std::span<const std::byte> require_table(const SlotHeader& header, std::span<const std::byte> file,
                                         const std::string& where) {
  if (header.magic != kSlotMagic) {
    refuse(where, "not a snapshot, or one of another version of gangway");
  }
  if (header.file_bytes != file.size()) {
    refuse(where, fmt::format("{} bytes long, not {}", file.size(), header.file_bytes));
  }
  if (header.table_bytes > kMaxSlotTableBytes ||
      header.table_bytes > file.size() - std::min(file.size(), kSlotPage)) {
    refuse(where, "its table of pieces does not fit into it");
  }
  const auto table = file.subspan(kSlotPage, static_cast<std::size_t>(header.table_bytes));
  if (fixed_hash_of(header, table) != header.fixed_hash) {
    refuse(where, "header and table of pieces do not match their hash");
  }
  return table;
}

}  // namespace

std::string key_of(const std::string& real_run_directory, const std::string& job_fingerprint,
                   const std::string& run_id) {
  const std::string text = real_run_directory + '\n' + job_fingerprint + '\n' + run_id;
  return fmt::format("{:016x}", XXH3_64bits(text.data(), text.size()));
}

std::string snapshot_key(const std::filesystem::path& run_directory,
                         const std::string& job_fingerprint, const std::string& run_id) {
  return key_of(std::filesystem::weakly_canonical(run_directory).string(), job_fingerprint, run_id);
}

Viewpoint viewpoint_on(const std::filesystem::path& run_directory) {
  Viewpoint viewpoint;
  struct stat status {};
  if (::stat("/proc/self/ns/mnt", &status) == 0) {
    viewpoint.mounts = status.st_ino;
  }
  if (::stat(run_directory.parent_path().c_str(), &status) == 0) {
    viewpoint.parent_device = status.st_dev;
    viewpoint.parent_inode = status.st_ino;
  }
  return viewpoint;
}

bool is_same_place(const Viewpoint& callers, const Viewpoint& slots) {
  const bool has_parent = callers.parent_inode != 0;  // an unmounted folder does not count as gone
  const bool has_same_parent =
      callers.parent_device == slots.parent_device && callers.parent_inode == slots.parent_inode;
  return has_parent && (callers.mounts == slots.mounts || has_same_parent);
}

std::string slot_name(const std::string& key, const SnapshotPlace& place, int slot) {
  return fmt::format("{}{}-w{:04d}-of-{:04d}-r{}-s{}", kSnapshotPrefix, key, place.worker,
                     place.num_workers, place.replica, slot);
}

std::string tagged_name(const std::string& slot_name) {
  return fmt::format("{}-t{}", slot_name, new_secret().substr(0, kTagDigits));
}

std::string kept_name(const std::string& slot_name, const SnapshotId& id) {
  return fmt::format("{}-i{}-{:09d}", slot_name.substr(0, slot_name.find("-t")), id.incarnation,
                     id.step);
}

std::optional<std::int64_t> step_in_kept_name(std::string_view name) {
  const std::size_t mark = name.rfind("-i");
  const std::size_t dash = mark == std::string_view::npos ? mark : name.find('-', mark + 1);
  std::int64_t step = 0;
  if (dash == std::string_view::npos ||
      std::from_chars(name.data() + dash + 1, name.data() + name.size(), step).ec != std::errc()) {
    return std::nullopt;
  }
  return step;
}

std::optional<std::string> key_in_slot_name(std::string_view name) {
  static const std::regex form(
      R"(gangway\.snap-([0-9a-f]{16})-w[0-9]{4,9}-of-[0-9]{4,9}-r[0-9]{1,2}-s[0-9](-t[0-9a-f]{16}|-i[0-9]+-[0-9]+)?)");
  std::cmatch match;
  if (!std::regex_match(name.data(), name.data() + name.size(), match, form)) {
    return std::nullopt;
  }
  return match[1].str();
}

SlotLayout lay_out_slot(std::span<const TensorStretch> pieces, std::size_t table_bytes) {
  if (pieces.size() > kMaxTensors) {
    throw InvariantError(fmt::format("{} pieces in a snapshot, at most {} are possible",
                                     pieces.size(), kMaxTensors));
  }
  SlotLayout layout;
  layout.offsets.resize(pieces.size());
  const TensorStretch* before = nullptr;
  for (const std::size_t index : storage_order(pieces)) {
    const TensorStretch& piece = pieces[index];
    std::string complaint = complaint_of(piece);
    if (complaint.empty() && before != nullptr && before->name == piece.name &&
        (before->type != piece.type || before->order != piece.order ||
         before->shape != piece.shape || before->end > piece.begin)) {
      complaint = "two pieces of it contradict each other or overlap";
    }
    if (!complaint.empty()) {
      throw InvariantError(
          fmt::format("snapshot piece '{}': {}", printable(piece.name), complaint));
    }
    layout.offsets[index] = layout.data_bytes;
    layout.data_bytes += piece.bytes();
    if (layout.data_bytes > kMaxDataBytes) {
      throw InvariantError(fmt::format("snapshot piece '{}': more than {} bytes in all",
                                       printable(piece.name), kMaxDataBytes));
    }
    before = &piece;
  }
  layout.hashes_offset = round_up(kSlotPage + table_bytes);
  layout.data_offset = round_up(layout.hashes_offset + pieces.size() * sizeof(PieceHash));
  layout.file_bytes = layout.data_offset + round_up(layout.data_bytes);
  return layout;
}

std::vector<std::byte> write_slot_table(const SnapshotPlace& place,
                                        std::span<const TensorStretch> pieces) {
  TableWriter table;
  table.put_text(place.run_directory.string());
  table.put_text(place.job_fingerprint);
  table.put_text(place.run_id);
  for (const TensorStretch& piece : pieces) {
    table.put_text(piece.name);
    table.put(static_cast<std::uint8_t>(piece.type));
    table.put(static_cast<std::uint8_t>(piece.order));
    table.put(static_cast<std::uint8_t>(piece.shape.size()));
    for (const std::int64_t extent : piece.shape) {
      table.put(extent);
    }
    table.put(piece.begin);
    table.put(piece.end);
  }
  return table.take();
}

SlotHeader make_slot_header(const SnapshotPlace& place, int slot, std::span<const std::byte> table,
                            const SlotLayout& layout, std::size_t num_pieces) {
  SlotHeader header{.magic = kSlotMagic,
                    .file_bytes = layout.file_bytes,
                    .table_bytes = table.size(),
                    .hashes_offset = layout.hashes_offset,
                    .data_offset = layout.data_offset,
                    .data_bytes = layout.data_bytes,
                    .num_pieces = num_pieces,
                    .worker = static_cast<std::uint32_t>(place.worker),
                    .num_workers = static_cast<std::uint32_t>(place.num_workers),
                    .replica = static_cast<std::uint32_t>(place.replica),
                    .slot = static_cast<std::uint32_t>(slot),
                    .viewpoint = viewpoint_on(place.run_directory)};
  header.fixed_hash = fixed_hash_of(header, table);
  return header;
}

PieceHash fixed_hash_of(const SlotHeader& header, std::span<const std::byte> table) {
  Hasher hasher;
  hasher.update(std::as_bytes(std::span(&header, 1)).first(offsetof(SlotHeader, fixed_hash)));
  hasher.update(table);
  return hasher.hash();
}

PieceHash seal_of(const SlotHeader& header, std::span<const std::byte> hashes) {
  // On the stack, because the caller must not allocate between two updates.
  std::array<std::byte, offsetof(SlotHeader, seal) + sizeof(PieceHash)> text{};
  std::memcpy(text.data(), &header, offsetof(SlotHeader, seal));
  const PieceHash of_hashes = hash_bytes(hashes);
  std::memcpy(text.data() + offsetof(SlotHeader, seal), &of_hashes, sizeof of_hashes);
  return hash_bytes(text);
}

SnapshotId id_in(const SlotHeader& header) {
  return {.step = header.step,
          .incarnation = header.incarnation,
          .epoch = header.epoch,
          .num_workers = static_cast<int>(header.num_workers)};
}

bool is_unfinished_slot(std::span<const std::byte> file) {
  const auto magic = file.first(std::min(file.size(), kSlotMagic.size()));
  return std::all_of(magic.begin(), magic.end(), [](std::byte b) { return b == std::byte{0}; });
}

ParsedSlot parse_slot(std::span<const std::byte> file, const std::string& where) {
  ParsedSlot slot;
  if (file.size() < kSlotPage) {
    refuse(where, fmt::format("{} bytes long, shorter than its header", file.size()));
  }
  std::memcpy(&slot.header, file.data(), sizeof slot.header);
  const SlotHeader& header = slot.header;
  const auto text = require_table(header, file, where);
  if (header.num_workers == 0 || header.worker >= header.num_workers ||
      header.num_workers > 1'000'000 || header.replica > kMaxReplicas ||
      header.num_pieces > kMaxTensors) {
    refuse(where, fmt::format("rank {} of {}, replica {}, with {} pieces", header.worker + 1,
                              header.num_workers, header.replica, header.num_pieces));
  }
  TableReader table(text, where);
  slot.run_directory = table.get_text(kMaxPathBytes);
  slot.job_fingerprint = table.get_text(kMaxNameBytes);
  slot.run_id = table.get_text(kMaxNameBytes);
  for (std::uint64_t i = 0; i < header.num_pieces; ++i) {
    slot.pieces.push_back(read_piece(table));
  }
  if (!table.is_at_end()) {
    table.refuse("more than its pieces");
  }
  try {
    slot.layout = lay_out_slot(slot.pieces, text.size());
  } catch (const InvariantError& error) {
    refuse(where, error.what());
  }
  const SlotLayout& layout = slot.layout;
  if (header.hashes_offset != layout.hashes_offset || header.data_offset != layout.data_offset ||
      header.data_bytes != layout.data_bytes || header.file_bytes != layout.file_bytes) {
    refuse(where, "its pieces do not lie where they have to");
  }
  return slot;
}

std::optional<SnapshotId> id_of(const ParsedSlot& slot, std::span<const std::byte> file,
                                const std::string& where) {
  if (slot.header.state == 0) {
    return std::nullopt;
  }
  const auto hashes =
      file.subspan(slot.layout.hashes_offset, slot.pieces.size() * sizeof(PieceHash));
  if (slot.header.state != kSlotWhole || seal_of(slot.header, hashes) != slot.header.seal) {
    refuse(where, "step and hashes do not match their seal");
  }
  return id_in(slot.header);
}

}  // namespace gangway::checkpoint
