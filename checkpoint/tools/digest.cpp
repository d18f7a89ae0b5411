// SPDX-License-Identifier: MIT
#include "checkpoint/tools/digest.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/hash.hpp"
#include "checkpoint/files/crc32c.hpp"
#include "checkpoint/files/strict_json.hpp"
#include "checkpoint/format/stored_state.hpp"

namespace gangway::checkpoint {

namespace {

/// Increases when the digest's input changes; independent of the files' format version.
constexpr std::uint64_t kDigestVersion = 1;

/// Hashes the length first, so that different lists of texts never give the same bytes.
void add_text(Hasher& hasher, std::string_view text) {
  hasher.update(static_cast<std::uint64_t>(text.size()));
  hasher.update(text);
}

/// Hashes a tensor row-major: by chunk if it is stored row-major, else as a whole.
void add_values(Hasher& hasher, StoredState& state, const StoredTensor& tensor) {
  const std::size_t item = item_size(tensor.type);
  const std::uint64_t elements = tensor.num_elements();
  const std::uint64_t at_once =
      tensor.order == StoredOrder::kRowMajor ? kChunkBytes / item : elements;
  std::vector<std::byte> bytes;
  for (std::uint64_t begin = 0; begin < elements; begin += at_once) {
    const std::uint64_t end = std::min(begin + at_once, elements);
    bytes.resize(static_cast<std::size_t>(end - begin) * item);
    if (tensor.order == StoredOrder::kRowMajor) {
      state.read_elements(tensor, begin, end, bytes);
    } else {
      state.read_row_major(tensor, bytes);
    }
    hasher.update(std::span<const std::byte>(bytes));
  }
}

}  // namespace

std::string digest(const std::filesystem::path& checkpoint) {
  StoredState state(checkpoint);
  Hasher hasher;
  add_text(hasher, "gangway-digest");
  hasher.update(kDigestVersion);
  add_text(hasher, state.manifest().numerics);
  hasher.update(static_cast<std::uint64_t>(state.manifest().step));
  for (const StoredTensor& tensor : state.tensors()) {
    add_text(hasher, tensor.name);
    add_text(hasher, type_name(tensor.type));
    hasher.update(static_cast<std::uint64_t>(tensor.shape.size()));
    for (const std::int64_t extent : tensor.shape) {
      hasher.update(static_cast<std::uint64_t>(extent));
    }
    add_values(hasher, state, tensor);
  }
  return hasher.hex();
}

std::vector<std::string> digest_notes(const Manifest& manifest) {
  std::vector<std::string> notes;
  if (const auto place = manifest.numerics.find("inexact="); place != std::string::npos) {
    notes.push_back("declared inexact (" + printable(manifest.numerics.substr(place)) +
                    "): it may depend on which worker computed what");
  }
  const auto changes = manifest.software.find(std::string(kArithmeticChanges));
  if (changes != manifest.software.end()) {
    notes.push_back("the run continued with another arithmetic from step " +
                    printable(changes->second) +
                    " on: on machines of one kind it may have another digest");
  }
  return notes;
}

}  // namespace gangway::checkpoint
