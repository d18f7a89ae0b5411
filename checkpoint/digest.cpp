// SPDX-License-Identifier: MIT
#include "checkpoint/digest.hpp"

#include <cstdint>

#include "checkpoint/directory.hpp"
#include "checkpoint/hash.hpp"

namespace gangway::checkpoint {

namespace {

/// Rises when what enters the digest changes; the files' format version does not enter.
constexpr std::uint64_t kDigestVersion = 1;

/// The length goes first, so that no two lists of texts run into the same bytes.
void add_text(Hasher& hasher, std::string_view text) {
  hasher.update(static_cast<std::uint64_t>(text.size()));
  hasher.update(text);
}

}  // namespace

std::string digest(const std::filesystem::path& checkpoint) {
  const CheckpointReader reader(checkpoint);
  Hasher hasher;
  add_text(hasher, "gangway-digest");
  hasher.update(kDigestVersion);
  add_text(hasher, reader.manifest().numerics);
  hasher.update(static_cast<std::uint64_t>(reader.manifest().step));
  for (const TensorRecord* tensor : reader.tensors()) {
    add_text(hasher, tensor->name);
    add_text(hasher, type_name(tensor->type));
    hasher.update(static_cast<std::uint64_t>(tensor->shape.size()));
    for (const std::int64_t extent : tensor->shape) {
      hasher.update(static_cast<std::uint64_t>(extent));
    }
    hasher.update(tensor->bytes);
  }
  return hasher.hex();
}

}  // namespace gangway::checkpoint
