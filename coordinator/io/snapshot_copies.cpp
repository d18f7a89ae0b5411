// SPDX-License-Identifier: MIT
#include "coordinator/io/snapshot_copies.hpp"

#include <exception>

namespace gangway::coordinator {

KeepResult carry_out(const checkpoint::KeepSnapshots& keep) {
  KeepResult result{.from_step = keep.from_step};
  try {
    result.copied = checkpoint::copy_snapshots(keep);
  } catch (const std::exception& error) {
    result.error = error.what();
  }
  return result;
}

}  // namespace gangway::coordinator
