// SPDX-License-Identifier: MIT
#include "checkpoint/store/scores.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "base/atomic_file.hpp"
#include "base/errors.hpp"
#include "checkpoint/files/durable_file.hpp"
#include "checkpoint/files/strict_json.hpp"
#include "checkpoint/format/names.hpp"

namespace gangway::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSuffix = ".score.json";
constexpr std::size_t kMostBytes = 4096;
constexpr const char* kLower = "lower";
constexpr const char* kHigher = "higher";

fs::path score_path(const fs::path& checkpoints_dir, std::int64_t step) {
  return checkpoints_dir / (step_name(step) + kSuffix);
}

/// @throws CheckpointError
CheckpointScore parse_score(const std::string& text, const std::string& where) {
  const nlohmann::json json = parse_strict_json(text, /*max_depth=*/1, where);
  JsonMembers members(json, where);
  CheckpointScore score;
  score.checkpoint_id = members.text("checkpoint_id");
  score.metric = members.text("metric");
  const nlohmann::json& value = members.at("score");
  const std::string better = members.text("better");
  score.samples = members.count("samples");
  members.require_no_others();
  if (!value.is_number() || !std::isfinite(value.get<double>()) ||
      (better != kLower && better != kHigher)) {
    throw CheckpointError(where + ": holds no score");
  }
  score.value = value.get<double>();
  score.better = better == kLower ? Better::kLower : Better::kHigher;
  return score;
}

}  // namespace

void write_score(const fs::path& checkpoints_dir, std::int64_t step, const CheckpointScore& score) {
  const nlohmann::ordered_json json{{"checkpoint_id", score.checkpoint_id},
                                    {"metric", score.metric},
                                    {"score", score.value},
                                    {"better", score.better == Better::kLower ? kLower : kHigher},
                                    {"samples", score.samples}};
  write_file_atomically(score_path(checkpoints_dir, step), json.dump() + "\n");
}

std::map<std::int64_t, CheckpointScore> read_scores(const fs::path& checkpoints_dir,
                                                    std::span<const CheckpointEntry> entries) {
  std::map<std::int64_t, CheckpointScore> scores;
  for (const CheckpointEntry& entry : entries) {
    const fs::path path = score_path(checkpoints_dir, entry.step);
    std::error_code error;
    if (entry.status != CheckpointStatus::kComplete || !fs::exists(path, error)) {
      continue;
    }
    try {
      CheckpointScore score = parse_score(read_stored_file(path, kMostBytes), path.string());
      if (score.checkpoint_id == entry.manifest->checkpoint_id) {
        scores.emplace(entry.step, std::move(score));
      }
    } catch (const Error&) {
      continue;  // it is scored anew, or stays for being new
    }
  }
  return scores;
}

std::set<std::int64_t> best_steps(const std::map<std::int64_t, CheckpointScore>& scores,
                                  int count) {
  if (scores.empty()) {
    return {};
  }
  const CheckpointScore& newest = scores.rbegin()->second;
  std::vector<std::pair<double, std::int64_t>> ranked;  // the best first, of equals the newer
  for (const auto& [step, score] : scores) {
    if (score.metric == newest.metric && score.samples == newest.samples) {
      ranked.emplace_back(score.better == Better::kLower ? score.value : -score.value, -step);
    }
  }
  std::ranges::sort(ranked);
  std::set<std::int64_t> best;
  for (const auto& [value, negative_step] : ranked) {
    if (static_cast<int>(best.size()) < count) {
      best.insert(-negative_step);
    }
  }
  return best;
}

void remove_score(const fs::path& checkpoints_dir, std::int64_t step) {
  (void)::unlink(score_path(checkpoints_dir, step).c_str());
}

}  // namespace gangway::checkpoint
