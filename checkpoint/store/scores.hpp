// SPDX-License-Identifier: MIT
// How good the generator of a checkpoint is: a file `step-<9 digits>.score.json` beside its folder,
// which is never changed itself. Written by `gangway evaluate --record`, read where the best ones
// are kept. Any process; one thread each.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/store/scan.hpp"

namespace gangway::checkpoint {

enum class Better { kLower, kHigher };

struct NamedScore {
  std::string metric;  ///< "FD-LeNet", "precision"
  double value = 0.0;
  Better better = Better::kLower;
};

/// Compared with those of the same metric, as many samples and the same network only.
struct CheckpointScore {
  std::string checkpoint_id;  ///< of the manifest: a step may be trained, and saved, again
  std::string metric;         ///< as NamedScore has it: what decides
  double value = 0.0;
  Better better = Better::kLower;
  std::int64_t samples = 0;
  std::string network{};             ///< SHA-256 of a feature network of the user's
  std::vector<NamedScore> beside{};  ///< told as well
};

/// From now on it is the score of the checkpoint of `step`. @throws EnvironmentError
void write_score(const std::filesystem::path& checkpoints_dir, std::int64_t step,
                 const CheckpointScore& score);

/// Those of complete checkpoints, by step. A file that is damaged, or of another checkpoint of that
/// step, counts as none.
[[nodiscard]] std::map<std::int64_t, CheckpointScore> read_scores(
    const std::filesystem::path& checkpoints_dir, std::span<const CheckpointEntry> entries);

/// Steps of the `count` best, of equals the newer; by the metric of the newest score. Pure.
[[nodiscard]] std::set<std::int64_t> best_steps(
    const std::map<std::int64_t, CheckpointScore>& scores, int count);

/// The score goes, if there is one. Never throws.
void remove_score(const std::filesystem::path& checkpoints_dir, std::int64_t step);

}  // namespace gangway::checkpoint
