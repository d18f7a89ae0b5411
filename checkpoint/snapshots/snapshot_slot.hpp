// SPDX-License-Identifier: MIT
// Layout of a snapshot's slot in bytes: header page, table of pieces, hashes, data. Written by
// checkpoint/snapshots/snapshot_memory.cpp, read by checkpoint/snapshots/snapshot_files.cpp.
// Internal to the snapshots; any thread.
//
//   page 0         SlotHeader
//   4096           table, fixed when the slot is made: run directory, fingerprint, run id, pieces
//   hashes_offset  XXH3-128 of each piece, in the table's order
//   data_offset    the pieces by descending item size, name, begin, without gaps; page-aligned
//
// Little-endian, as are all hosts. `state` is cleared before the first byte of a new snapshot and
// set after the last. A seal then covers everything except the data.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/format/stored_tensor.hpp"
#include "checkpoint/snapshots/snapshot.hpp"
#include "run/snapshot_id.hpp"

namespace gangway::checkpoint {

inline constexpr std::size_t kSlotPage = 4096;
inline constexpr std::array<char, 8> kSlotMagic{'G', 'W', 'S', 'N', 'A', 'P', '0', '2'};
/// Value of SlotHeader::state for a complete slot: "complete". No single bit flip makes it of zero.
inline constexpr std::uint64_t kSlotWhole = 0x6574656c706d6f63U;
inline constexpr std::size_t kMaxSlotTableBytes = std::size_t{64} << 20U;

/// Identifies the file system view of a process, because containers map paths differently.
struct Viewpoint {
  std::uint64_t mounts = 0;         ///< the mount namespace
  std::uint64_t parent_device = 0;  ///< of the run directory's parent folder; 0: missing
  std::uint64_t parent_inode = 0;
};
/// Returns the caller's view of `run_directory`.
[[nodiscard]] Viewpoint viewpoint_on(const std::filesystem::path& run_directory);
/// Whether the caller sees the same file at the run's path as the maker of `slots` did.
[[nodiscard]] bool is_same_place(const Viewpoint& callers, const Viewpoint& slots);

struct SlotHeader {
  std::array<char, 8> magic{};
  std::uint64_t file_bytes = 0;
  std::uint64_t table_bytes = 0;
  std::uint64_t hashes_offset = 0;
  std::uint64_t data_offset = 0;
  std::uint64_t data_bytes = 0;
  std::uint64_t num_pieces = 0;
  std::uint32_t worker = 0;
  std::uint32_t num_workers = 0;
  std::uint32_t replica = 0;
  std::uint32_t slot = 0;
  PieceHash fixed_hash{};  ///< of all fields above, then the table
  // The fields below change with each snapshot.
  std::int64_t step = 0;
  std::int64_t incarnation = 0;
  std::int64_t epoch = 0;
  Viewpoint viewpoint{};
  PieceHash seal{};  ///< of all fields above, then the pieces' hashes
  std::uint64_t state = 0;
};
static_assert(sizeof(SlotHeader) == 160 && sizeof(SlotHeader) < kSlotPage);

/// Returns "gangway.snap-<key>-w0001-of-0004-r0-s1".
[[nodiscard]] std::string slot_name(const std::string& key, const SnapshotPlace& place, int slot);
/// Returns the name of a new file in memory: `slot_name`, "-t", sixteen random digits. Another user
/// could take a predictable name first, and a sticky folder would not let this user remove it.
[[nodiscard]] std::string tagged_name(const std::string& slot_name);
/// Returns the name of a disk copy or of a slot that was set aside: unique by snapshot.
[[nodiscard]] std::string kept_name(const std::string& slot_name, const SnapshotId& id);
/// Returns the step in a kept_name(); nothing if `name` is a slot's name.
[[nodiscard]] std::optional<std::int64_t> step_in_kept_name(std::string_view name);
/// Returns the key in a name of any of these forms.
[[nodiscard]] std::optional<std::string> key_in_slot_name(std::string_view name);
/// Returns 16 hexadecimal digits that identify a run on a host: a hash of the run directory's real
/// path, the job's fingerprint and the run's own name (run/run_start.hpp).
[[nodiscard]] std::string snapshot_key(const std::filesystem::path& run_directory,
                                       const std::string& job_fingerprint,
                                       const std::string& run_id);

/// Returns the same key for a path that is already real.
[[nodiscard]] std::string key_of(const std::string& real_run_directory,
                                 const std::string& job_fingerprint, const std::string& run_id);

/// Offsets of the parts of a slot, in bytes.
struct SlotLayout {
  std::size_t hashes_offset = 0;
  std::size_t data_offset = 0;
  std::size_t data_bytes = 0;
  std::size_t file_bytes = 0;
  std::vector<std::size_t> offsets;  ///< indexed by piece, from the start of the data
};
/// Computes the layout. @throws InvariantError naming a contradictory or overlapping piece.
[[nodiscard]] SlotLayout lay_out_slot(std::span<const TensorStretch> pieces,
                                      std::size_t table_bytes);

/// Whether the file is unfinished, because its process died while it made the file.
[[nodiscard]] bool is_unfinished_slot(std::span<const std::byte> file);

/// Returns the table's bytes. `place.run_directory` is the real path.
[[nodiscard]] std::vector<std::byte> write_slot_table(const SnapshotPlace& place,
                                                      std::span<const TensorStretch> pieces);
/// Returns a header that holds no snapshot.
[[nodiscard]] SlotHeader make_slot_header(const SnapshotPlace& place, int slot,
                                          std::span<const std::byte> table,
                                          const SlotLayout& layout, std::size_t num_pieces);
/// Returns the correct value of `fixed_hash`.
[[nodiscard]] PieceHash fixed_hash_of(const SlotHeader& header, std::span<const std::byte> table);
/// Returns the correct value of `seal`.
[[nodiscard]] PieceHash seal_of(const SlotHeader& header, std::span<const std::byte> hashes);

/// A slot read from a file; its fixed part is fully checked.
struct ParsedSlot {
  SlotHeader header;
  std::string run_directory;
  std::string job_fingerprint;
  std::string run_id;
  std::vector<TensorStretch> pieces;
  SlotLayout layout;
};
/// @param file  the whole file. @throws CheckpointError naming `where` and the damage.
[[nodiscard]] ParsedSlot parse_slot(std::span<const std::byte> file, const std::string& where);
/// Returns the snapshot's id in the header, even if the slot is not sealed.
[[nodiscard]] SnapshotId id_in(const SlotHeader& header);
/// Returns the snapshot in a complete slot; nothing if there is none. @throws CheckpointError if
/// the slot is damaged.
[[nodiscard]] std::optional<SnapshotId> id_of(const ParsedSlot& slot,
                                              std::span<const std::byte> file,
                                              const std::string& where);

}  // namespace gangway::checkpoint
