// SPDX-License-Identifier: MIT
// Reads a snapshot's slot: the input has its header, and the bytes after the header's page. Zeroes
// fill the page and the rest of the file. Corrects the hashes first, as an attacker would, because
// nearly no input would pass them. Reads accepted snapshots to their last byte.
#include <algorithm>
#include <cstring>
#include <vector>

#include "base/errors.hpp"
#include "checkpoint/snapshots/snapshot_slot.hpp"
#include "tests/fuzz/target.hpp"

namespace {

using namespace gangway::checkpoint;

constexpr std::size_t kMostBytes = std::size_t{20} << 10U;

std::vector<std::byte> expanded(std::span<const std::byte> input) {
  SlotHeader header;
  std::memcpy(&header, input.data(), std::min(input.size(), sizeof header));
  const auto body = input.subspan(std::min(input.size(), sizeof header));
  std::vector<std::byte> file(kSlotPage);
  std::memcpy(file.data(), &header, sizeof header);
  file.insert(file.end(), body.begin(), body.end());
  file.resize(
      std::clamp<std::uint64_t>(header.file_bytes, file.size(), std::max(file.size(), kMostBytes)));
  return file;
}

/// Corrects the hashes of header and table, and the seal if the hashes lie inside; keeps the size.
void put_right(std::vector<std::byte>& file) {
  if (file.size() < kSlotPage) {
    return;
  }
  SlotHeader header;
  std::memcpy(&header, file.data(), sizeof header);
  header.magic = kSlotMagic;
  header.file_bytes = file.size();
  const std::span<const std::byte> bytes(file);
  const std::size_t room = file.size() - kSlotPage;
  header.table_bytes = std::min<std::uint64_t>(header.table_bytes, room);
  header.fixed_hash =
      fixed_hash_of(header, bytes.subspan(kSlotPage, static_cast<std::size_t>(header.table_bytes)));
  const std::size_t hashes = static_cast<std::size_t>(header.num_pieces) * sizeof(PieceHash);
  if (header.num_pieces <= kSlotPage && header.hashes_offset <= file.size() &&
      hashes <= file.size() - header.hashes_offset) {
    header.seal =
        seal_of(header, bytes.subspan(static_cast<std::size_t>(header.hashes_offset), hashes));
  }
  std::memcpy(file.data(), &header, sizeof header);
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const gangway::fuzz::TimeLimit limit;
  const auto input = std::as_bytes(std::span(data, size));
  std::vector<std::byte> file = expanded(input);
  put_right(file);
  try {
    const ParsedSlot slot = parse_slot(file, "fuzzed");
    (void)id_of(slot, file, "fuzzed");
    unsigned sum = 0;
    for (std::size_t piece = 0; piece < slot.pieces.size(); ++piece) {
      const auto bytes = std::span<const std::byte>(file).subspan(
          slot.layout.data_offset + slot.layout.offsets[piece], slot.pieces[piece].bytes());
      for (const std::byte byte : bytes) {
        sum += std::to_integer<unsigned>(byte);
      }
    }
    volatile unsigned read = sum;  // prevents the optimiser from removing the sum
    (void)read;
  } catch (const gangway::CheckpointError&) {
    // A refusal in one line is the expected result.
  }
  return 0;
}
