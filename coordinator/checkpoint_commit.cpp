// SPDX-License-Identifier: MIT
#include "coordinator/checkpoint_commit.hpp"

#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "checkpoint/directory.hpp"

namespace gangway::coordinator {

CommitResult carry_out(CommitWork work) {
  CommitResult result;
  const auto start = std::chrono::steady_clock::now();
  try {
    result.path =
        checkpoint::commit_checkpoint(work.temporary, std::move(work.manifest),
                                      [&](std::string line) { result.warnings.push_back(std::move(line)); });
  } catch (const std::exception& error) {
    result.error = error.what();
    return result;
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  try {
    result.removed = checkpoint::remove_old(result.path.parent_path(), work.retention);
  } catch (const std::exception& error) {
    // The new one is good: whoever fails here has only used more of the disk.
    result.warnings.push_back(fmt::format("old checkpoint stays: {}", error.what()));
  }
  return result;
}

}  // namespace gangway::coordinator
