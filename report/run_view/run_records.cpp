// SPDX-License-Identifier: MIT
#include "report/run_view/run_records.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fstream>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include "base/atomic_file.hpp"
#include "base/errors.hpp"
#include "base/text/parse_number.hpp"
#include "base/this_host.hpp"
#include "checkpoint/store/retention.hpp"
#include "checkpoint/store/scan.hpp"
#include "checkpoint/store/scores.hpp"
#include "job/estimate/memory_ladder.hpp"
#include "job/file/parse.hpp"
#include "job/schema/yaml_tree.hpp"
#include "report/advice/step_facts.hpp"
#include "run/run_files.hpp"

namespace gangway::report {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::size_t kSmallFile = std::size_t{16} << 20U;  // bytes

/// Returns an empty text if the file is missing or unreadable.
std::string content_of(const fs::path& path) {
  try {
    return read_small_file(path, kSmallFile).value_or("");
  } catch (const Error&) {
    return {};
  }
}

json object_in(const fs::path& path) {
  json object = json::parse(content_of(path), nullptr, false);
  return object.is_object() ? object : json::object();
}

std::string value_text(const YamlNode& node) {
  if (node.kind == YamlNode::Kind::kSequence) {
    std::vector<std::string> items;
    for (const YamlNode& item : node.items) {
      items.push_back(value_text(item));
    }
    return fmt::format("[{}]", fmt::join(items, ", "));
  }
  return node.text;
}

void collect_keys(const YamlNode& node, const std::string& prefix,
                  std::map<std::string, std::string>& keys) {
  for (const YamlEntry& entry : node.entries) {
    const std::string name = prefix.empty() ? entry.key : fmt::format("{}.{}", prefix, entry.key);
    if (entry.value.kind == YamlNode::Kind::kMap) {
      collect_keys(entry.value, name, keys);
    } else {
      keys[name] = value_text(entry.value);
    }
  }
}

/// Whether a process of this host holds the run's lock. It does not take the lock, which could keep
/// a job from starting.
bool is_locked_here(const fs::path& run) {
  struct stat lock {};
  if (::stat((run / kLockFile).c_str(), &lock) != 0) {
    return false;
  }
  const std::string inode = fmt::format(":{} ", lock.st_ino);
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    if (line.find("FLOCK") != std::string::npos && line.find(inode) != std::string::npos) {
      return true;
    }
  }
  return false;
}

/// Returns the state of a run without a final status.
std::string_view state_without_status(const fs::path& run) {
  if (is_locked_here(run)) {
    return "running";
  }
  std::string holder = content_of(run / kLockFile);
  holder.erase(std::min(holder.find('\n'), holder.size()));
  return holder.ends_with(fmt::format(" on {}", host_name())) ? "interrupted" : "unknown";
}

std::string_view state_of_exit(int exit_code) {
  constexpr std::array kStops = {75, 130, 143};
  if (exit_code == 0) {
    return "finished";
  }
  return std::ranges::find(kStops, exit_code) != kStops.end() ? "stopped" : "failed";
}

struct PictureName {
  std::string kind;
  std::optional<double> kimg;  ///< empty: not tied to a moment of the run
};

/// Parses fakes_init.png, fakes000010.png, fakes000010.512.png, reals.png; else nothing.
std::optional<PictureName> parse_picture(const std::string& file) {
  constexpr std::string_view kFakes = "fakes";
  if (file == "reals.png") {
    return PictureName{.kind = "reals", .kimg = {}};
  }
  if (file == "fakes_init.png") {
    return PictureName{.kind = "fakes", .kimg = 0.0};
  }
  if (!file.starts_with(kFakes) || !file.ends_with(".png")) {
    return std::nullopt;
  }
  const std::string_view digits(file.data() + kFakes.size(), file.data() + file.size() - 4);
  const auto kimg = parse_number<double>(digits, std::chars_format::fixed);
  return kimg ? std::optional(PictureName{.kind = std::string(kFakes), .kimg = *kimg})
              : std::nullopt;
}

/// Reads width and height from the first bytes of a PNG (ISO/IEC 15948, 11.2.2).
std::optional<std::pair<std::uint32_t, std::uint32_t>> png_size(const fs::path& path) {
  constexpr std::size_t kWidthAt = 16;
  std::array<unsigned char, 24> head{};
  std::ifstream file(path, std::ios::binary);
  if (!file.read(reinterpret_cast<char*>(head.data()), head.size()) || head[1] != 'P') {
    return std::nullopt;
  }
  const auto number = [&head](std::size_t at) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      value = value << 8U | head[at + i];
    }
    return value;
  };
  return std::pair{number(kWidthAt), number(kWidthAt + 4)};
}

ordered_json checkpoint_json(const checkpoint::CheckpointEntry& entry) {
  const bool is_complete = entry.status == checkpoint::CheckpointStatus::kComplete;
  ordered_json one = {{"step", entry.step},
                      {"bytes", entry.bytes},
                      {"status", is_complete ? "complete" : "damaged"}};
  if (!is_complete) {
    one["damage"] = entry.damage;
  }
  if (entry.manifest) {
    one["kimg"] = static_cast<double>(entry.manifest->images) / 1000.0;
    one["files"] = entry.manifest->files.size();
    one["created"] = entry.manifest->created;
    one["id"] = entry.manifest->checkpoint_id;
  }
  return one;
}

}  // namespace

std::map<std::string, std::string> job_keys(const fs::path& run) {
  std::map<std::string, std::string> keys;
  collect_keys(read_yaml(content_of(run / kJobFile)).root, "", keys);
  return keys;
}

std::map<std::string, std::string> advice_keys(const fs::path& run) {
  std::map<std::string, std::string> keys = job_keys(run);
  const ordered_json ranks = worker_list(run);
  const auto workers = static_cast<int>(
      std::ranges::count_if(ranks, [](const auto& rank) { return rank["rank"] != 0; }));
  try {
    const JobSpec job = parse_job(content_of(run / kJobFile), std::string(kJobFile), run);
    const Layout layout = resolve_layout(job, std::max(1, workers));
    keys[kMemoryRung] = next_exact_rung(job, layout);
    keys[kIsCut] = layout.is_cut() ? "true" : "false";
  } catch (const Error&) {  // of another version, or damaged: no advice keys from it
  }
  return keys;
}

ordered_json run_state(const fs::path& run) {
  ordered_json state = ordered_json::object();
  if (const auto status = read_status(run)) {
    state["state"] = state_of_exit(status->exit_code);
    state["exit_code"] = status->exit_code;
    state["reason"] = status->reason;
  } else {
    state["state"] = state_without_status(run);
  }
  if (const json error = object_in(run / kErrorFile); !error.empty()) {
    state["error"] = error;
  }
  return state;
}

ordered_json worker_list(const fs::path& run) {
  auto list = ordered_json::array();
  const json placement = object_in(run / kPlacementFile);
  if (placement.contains("ranks") && placement["ranks"].is_array()) {
    for (const json& rank : placement["ranks"]) {
      if (rank.is_object() && rank.contains("rank")) {
        list.emplace_back(rank);
      }
    }
  }
  return list;
}

ordered_json checkpoint_list(const fs::path& run) {
  const fs::path folder = run / kCheckpointsFolder;
  auto list = ordered_json::array();
  try {
    const std::vector<checkpoint::CheckpointEntry> entries = checkpoint::list_checkpoints(folder);
    const auto scores = checkpoint::read_scores(folder, entries);
    const std::set<std::int64_t> best = checkpoint::best_steps(scores, 1);
    const std::set<std::int64_t> pinned = checkpoint::pinned_steps(folder);
    for (const checkpoint::CheckpointEntry& entry : entries) {
      ordered_json one = checkpoint_json(entry);
      one["is_pinned"] = pinned.contains(entry.step);
      if (const auto score = scores.find(entry.step); score != scores.end()) {
        one["metric"] = score->second.metric;
        one["score"] = score->second.value;
        one["better"] = score->second.better == checkpoint::Better::kLower ? "lower" : "higher";
        one["is_best"] = best.contains(entry.step);
      }
      list.push_back(std::move(one));
    }
  } catch (const Error&) {
    // A checkpoint was removed meanwhile: the next call lists the others.
  } catch (const fs::filesystem_error&) {
  }
  return list;
}

ordered_json picture_list(const fs::path& run, const std::map<std::string, std::int64_t>& steps,
                          double images_per_step) {
  std::vector<std::tuple<double, std::string, ordered_json>> pictures;
  std::error_code failure;
  for (const fs::directory_entry& entry : fs::directory_iterator(run, failure)) {
    const std::string file = entry.path().filename().string();
    const auto name = parse_picture(file);
    const auto size = name ? png_size(entry.path()) : std::nullopt;
    if (!size) {
      continue;
    }
    ordered_json one = {{"file", file}, {"kind", name->kind}};
    if (name->kimg) {
      one["kimg"] = *name->kimg;
      if (const auto step = steps.find(file); step != steps.end()) {
        one["step"] = step->second;
      } else if (images_per_step > 0.0) {
        one["step"] = std::llround(*name->kimg * 1000.0 / images_per_step);
      }
    }
    one["bytes"] = entry.file_size(failure);
    const fs::path sounds = fs::path(entry.path()).replace_extension(".wav");
    if (const auto bytes = fs::file_size(sounds, failure); !failure) {
      one["sound"] = sounds.filename().string();
      one["sound_bytes"] = bytes;
    }
    one["width"] = size->first;
    one["height"] = size->second;
    pictures.emplace_back(name->kimg.value_or(-1.0), file, std::move(one));
  }
  std::ranges::sort(pictures, [](const auto& one, const auto& other) {
    return std::tie(std::get<0>(one), std::get<1>(one)) <
           std::tie(std::get<0>(other), std::get<1>(other));
  });
  auto list = ordered_json::array();
  for (auto& picture : pictures) {
    list.push_back(std::move(std::get<2>(picture)));
  }
  return list;
}

}  // namespace gangway::report
