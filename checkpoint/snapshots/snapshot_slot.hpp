// SPDX-License-Identifier: MIT
// The bytes of a snapshot's slot: a header page, a table of pieces, their hashes, their data.
// Written by checkpoint/snapshots/snapshot_memory.cpp, read by
// checkpoint/snapshots/snapshot_files.cpp. Internal to the store; any thread.
//
//   page 0         SlotHeader
//   4096           table, fixed when the slot is made: run directory, fingerprint, run id, pieces
//   hashes_offset  XXH3-128 of each piece, in the table's order
//   data_offset    the pieces by descending item size, name, begin, without gaps; page-aligned
//
// Little-endian, as the hosts are that share it. A slot's `state` is taken away before the first
// byte of a new snapshot and given back after the last, with a seal over everything but the data.
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
/// What `state` says of a whole slot: "complete", as no flipped bit makes it of zero.
inline constexpr std::uint64_t kSlotWhole = 0x6574656c706d6f63U;
inline constexpr std::size_t kMaxSlotTableBytes = std::size_t{64} << 20U;

/// From where a run directory is seen: a path means other things in other containers.
struct Viewpoint {
  std::uint64_t mounts = 0;         ///< the mount namespace
  std::uint64_t parent_device = 0;  ///< of the folder that the run lies in; 0: there is none
  std::uint64_t parent_inode = 0;
};
/// The caller's.
[[nodiscard]] Viewpoint viewpoint_on(const std::filesystem::path& run_directory);
/// Whether what the caller finds at the path of a run, or misses there, is what the maker of
/// `slots` would.
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
  PieceHash fixed_hash{};  ///< of all above, then the table
  // What follows is of one snapshot.
  std::int64_t step = 0;
  std::int64_t incarnation = 0;
  std::int64_t epoch = 0;
  Viewpoint viewpoint{};
  PieceHash seal{};  ///< of all above, then the pieces' hashes
  std::uint64_t state = 0;
};
static_assert(sizeof(SlotHeader) == 160 && sizeof(SlotHeader) < kSlotPage);

/// "gangway.snap-<key>-w0001-of-0004-r0-s1".
[[nodiscard]] std::string slot_name(const std::string& key, const SnapshotPlace& place, int slot);
/// Name of a new file in memory: `slot_name` with "-t" and sixteen random digits. Another user
/// could take a predictable name first, and in a sticky folder only that user could remove it.
[[nodiscard]] std::string tagged_name(const std::string& slot_name);
/// Of a copy on the disk, which must not take the place of another one, and of a slot that was set
/// aside.
[[nodiscard]] std::string kept_name(const std::string& slot_name, const SnapshotId& id);
/// Nothing: the name is a slot's.
[[nodiscard]] std::optional<std::int64_t> step_in_kept_name(std::string_view name);
/// The key in a name of any of these forms.
[[nodiscard]] std::optional<std::string> key_in_slot_name(std::string_view name);
/// Sixteen hexadecimal digits of the run directory's real path, the job's fingerprint and the run's
/// own name (run/run_start.hpp): what belongs to one run on a host.
[[nodiscard]] std::string snapshot_key(const std::filesystem::path& run_directory,
                                       const std::string& job_fingerprint,
                                       const std::string& run_id);

/// The same of a path that is already real.
[[nodiscard]] std::string key_of(const std::string& real_run_directory,
                                 const std::string& job_fingerprint, const std::string& run_id);

/// Where everything of a slot lies.
struct SlotLayout {
  std::size_t hashes_offset = 0;
  std::size_t data_offset = 0;
  std::size_t data_bytes = 0;
  std::size_t file_bytes = 0;
  std::vector<std::size_t> offsets;  ///< by piece, within the data
};
/// @throws InvariantError naming a piece that contradicts itself or overlaps another.
[[nodiscard]] SlotLayout lay_out_slot(std::span<const TensorStretch> pieces,
                                      std::size_t table_bytes);

/// Whether a file was never finished: its process died while it made it.
[[nodiscard]] bool is_unfinished_slot(std::span<const std::byte> file);

/// The table. `place.run_directory` is the real path.
[[nodiscard]] std::vector<std::byte> write_slot_table(const SnapshotPlace& place,
                                                      std::span<const TensorStretch> pieces);
/// A header without a snapshot.
[[nodiscard]] SlotHeader make_slot_header(const SnapshotPlace& place, int slot,
                                          std::span<const std::byte> table,
                                          const SlotLayout& layout, std::size_t num_pieces);
/// What `fixed_hash` has to be.
[[nodiscard]] PieceHash fixed_hash_of(const SlotHeader& header, std::span<const std::byte> table);
/// What `seal` has to be.
[[nodiscard]] PieceHash seal_of(const SlotHeader& header, std::span<const std::byte> hashes);

/// A slot as it was found, its fixed part checked in full.
struct ParsedSlot {
  SlotHeader header;
  std::string run_directory;
  std::string job_fingerprint;
  std::string run_id;
  std::vector<TensorStretch> pieces;
  SlotLayout layout;
};
/// @param file  all of it. @throws CheckpointError naming `where` and what is wrong.
[[nodiscard]] ParsedSlot parse_slot(std::span<const std::byte> file, const std::string& where);
/// What the header says, sealed or not.
[[nodiscard]] SnapshotId id_in(const SlotHeader& header);
/// The snapshot in a whole slot; nothing where there is none. @throws CheckpointError where it is
/// damaged.
[[nodiscard]] std::optional<SnapshotId> id_of(const ParsedSlot& slot,
                                              std::span<const std::byte> file,
                                              const std::string& where);

}  // namespace gangway::checkpoint
