// SPDX-License-Identifier: MIT
#include "checkpoint/store/scores.hpp"

#include <algorithm>
#include <cmath>
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
constexpr std::size_t kMostBeside = 16;
constexpr const char* kLower = "lower";
constexpr const char* kHigher = "higher";

fs::path score_path(const fs::path& checkpoints_dir, std::int64_t step) {
  return checkpoints_dir / (step_name(step) + kSuffix);
}

/// Parses metric and value. @throws CheckpointError
NamedScore named_score(JsonMembers& members, const std::string& where) {
  NamedScore score{.metric = members.text("metric")};
  const nlohmann::json& value = members.at("score");
  const std::string better = members.text("better");
  if (!value.is_number() || !std::isfinite(value.get<double>()) ||
      (better != kLower && better != kHigher)) {
    throw CheckpointError(where + ": holds no score");
  }
  score.value = value.get<double>();
  score.better = better == kLower ? Better::kLower : Better::kHigher;
  return score;
}

/// Parses a score file. @throws CheckpointError
CheckpointScore parse_score(const std::string& text, const std::string& where) {
  const nlohmann::json json = parse_strict_json(text, /*max_depth=*/3, where);
  JsonMembers members(json, where);
  const NamedScore decides = named_score(members, where);
  CheckpointScore score{.checkpoint_id = members.text("checkpoint_id"),
                        .metric = decides.metric,
                        .value = decides.value,
                        .better = decides.better,
                        .samples = members.count("samples")};
  if (members.has("network")) {
    score.network = members.text("network");
  }
  if (members.has("beside")) {
    for (const nlohmann::json& one : members.list("beside", kMostBeside)) {
      JsonMembers named(one, where);
      score.beside.push_back(named_score(named, where));
      named.require_no_others();
    }
  }
  members.require_no_others();
  return score;
}

nlohmann::ordered_json json_of(const NamedScore& score) {
  return {{"metric", score.metric},
          {"score", score.value},
          {"better", score.better == Better::kLower ? kLower : kHigher}};
}

}  // namespace

void write_score(const fs::path& checkpoints_dir, std::int64_t step, const CheckpointScore& score) {
  nlohmann::ordered_json json =
      json_of({.metric = score.metric, .value = score.value, .better = score.better});
  json.update({{"checkpoint_id", score.checkpoint_id}, {"samples", score.samples}});
  if (!score.network.empty()) {
    json["network"] = score.network;
  }
  for (const NamedScore& one : score.beside) {
    json["beside"].push_back(json_of(one));
  }
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
      continue;  // without a score: it is scored again, or stays because it is new
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
  std::vector<std::pair<double, std::int64_t>> ranked;  // best first; the newer wins a tie
  for (const auto& [step, score] : scores) {
    if (score.metric == newest.metric && score.samples == newest.samples &&
        score.network == newest.network) {
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
