// SPDX-License-Identifier: MIT
// Stores the score of a checkpoint's generator in `step-<9 digits>.score.json` beside its folder,
// which never changes. Written by `gangway evaluate --record`, read by retention, which keeps the
// best. Any process; one thread each.
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

/// A score. Comparable only with scores of the same metric, sample count and feature network.
struct CheckpointScore {
  std::string checkpoint_id;  ///< of the manifest: a step may be trained and saved again
  std::string metric;         ///< NamedScore::metric of the score that ranks
  double value = 0.0;
  Better better = Better::kLower;
  std::int64_t samples = 0;
  std::string network{};             ///< SHA-256 of the user's feature network
  std::vector<NamedScore> beside{};  ///< further scores; they do not rank
};

/// Replaces the score of the checkpoint of `step`. @throws EnvironmentError
void write_score(const std::filesystem::path& checkpoints_dir, std::int64_t step,
                 const CheckpointScore& score);

/// Returns the scores of complete checkpoints, by step. Skips a file that is damaged or belongs to
/// another checkpoint of that step.
[[nodiscard]] std::map<std::int64_t, CheckpointScore> read_scores(
    const std::filesystem::path& checkpoints_dir, std::span<const CheckpointEntry> entries);

/// Returns the `count` best steps, by the newest score's metric; the newer wins a tie. Pure.
[[nodiscard]] std::set<std::int64_t> best_steps(
    const std::map<std::int64_t, CheckpointScore>& scores, int count);

/// Removes the score if there is one. Never throws.
void remove_score(const std::filesystem::path& checkpoints_dir, std::int64_t step);

}  // namespace gangway::checkpoint
