// SPDX-License-Identifier: MIT
#include "gan/library/library_losses.hpp"

#include <algorithm>
#include <filesystem>

#include <torch/version.h>

#include "gan/library/library.hpp"
#include "job/library/family_library.hpp"
#include "job/library/shared_library.hpp"

namespace gangway::gan {

LossFunction loss_of(std::string_view name, const HashedFile& library) {
  const std::filesystem::path file = blocks_file(library.file);
  if (library.file.empty() || !std::filesystem::exists(file)) {
    return loss_named(name);
  }
  const SharedLibrary opened(file, TORCH_VERSION);
  auto* const list = opened.find_function<const LibraryBlocks&()>("gangway_library_blocks");
  if (list == nullptr) {
    return loss_named(name);
  }
  const LibraryBlocks& added = list();
  const auto found = std::ranges::find(added.losses, name, &LibraryLoss::name);
  return found == added.losses.end() ? loss_named(name) : found->function;
}

}  // namespace gangway::gan
