// SPDX-License-Identifier: MIT
#include "checkpoint/tools/report.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "base/text/aligned_text.hpp"
#include "checkpoint/files/strict_json.hpp"
#include "checkpoint/format/manifest.hpp"
#include "checkpoint/format/stored_state.hpp"
#include "checkpoint/format/stored_tensor.hpp"
#include "checkpoint/store/retention.hpp"
#include "checkpoint/store/scan.hpp"
#include "checkpoint/store/scores.hpp"
#include "checkpoint/store/verify.hpp"

namespace gangway::checkpoint {

namespace fs = std::filesystem;

namespace {

using Row = std::vector<std::string>;

std::string size_text(std::uint64_t bytes) {
  constexpr double kStep = 1000.0;
  constexpr std::array kUnits{"B", "kB", "MB", "GB", "TB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= kStep && unit + 1 < kUnits.size()) {
    value /= kStep;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string age_text(const std::string& created, std::chrono::system_clock::time_point now) {
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(now - parse_rfc3339(created)).count();
  if (seconds < 0) {
    return "in the future";
  }
  if (seconds < 120) {
    return fmt::format("{} s", seconds);
  }
  if (seconds < 7200) {
    return fmt::format("{} min", seconds / 60);
  }
  if (seconds < 172'800) {
    return fmt::format("{} h", seconds / 3600);
  }
  return fmt::format("{} d", seconds / 86'400);
}

std::string kimg_text(std::int64_t images) {
  return fmt::format("{:.1f}", static_cast<double>(images) / 1000.0);
}

/// @throws CheckpointError if the run does not exist.
fs::path folder_of(const fs::path& run_directory) {
  std::error_code error;
  if (!fs::is_directory(run_directory, error)) {
    throw CheckpointError(fmt::format("{}: no such run directory", run_directory.string()));
  }
  return checkpoints_folder(run_directory);
}

std::string no_checkpoints(const fs::path& run_directory) {
  return fmt::format("{}: no checkpoints\n", run_directory.string());
}

/// Indents a text of several lines below a heading.
std::string indented(const std::string& text) {
  std::string out;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    out += "  " + printable(std::string_view(text).substr(begin, end - begin), 400) + "\n";
    begin = end + 1;
  }
  return out;
}

std::string manifest_text(const Manifest& manifest, const fs::path& path) {
  std::uint64_t bytes = 0;
  for (const ManifestFile& file : manifest.files) {
    bytes += file.bytes;
  }
  std::vector<Row> rows = {
      {"checkpoint", path.string()},
      {"id", manifest.checkpoint_id},
      {"format", fmt::format("{}", manifest.format_version)},
      {"step", fmt::format("{}", manifest.step)},
      {"kimg", kimg_text(manifest.images)},
      {"epoch", fmt::format("{}", manifest.epoch)},
      {"created", manifest.created},
      {"size", fmt::format("{} in {} files", size_text(bytes), manifest.files.size())},
      {"tensors", fmt::format("{}", manifest.tensor_count)},
      {"job", printable(manifest.job_fingerprint)},
      {"model", printable(manifest.model_fingerprint)},
      {"data",
       fmt::format("{}, cursor {}", printable(manifest.data_fingerprint), manifest.data_cursor)},
      {"numerics", printable(manifest.numerics, 400)}};
  for (const auto& [name, version] : manifest.software) {
    rows.push_back({printable(name), printable(version)});
  }
  return aligned_text(rows, {});
}

std::string tensor_table(const StoredState& state) {
  std::vector<Row> rows = {{"bytes", "type", "shape", "pieces", "tensor"}};
  for (const StoredTensor& tensor : state.tensors()) {
    rows.push_back({fmt::format("{}", tensor.num_bytes()), std::string(type_name(tensor.type)),
                    fmt::format("[{}]", fmt::join(tensor.shape, ", ")),
                    fmt::format("{}", tensor.pieces.size()), tensor.name});
  }
  return aligned_text(rows, {Align::kRight});
}

}  // namespace

fs::path checkpoints_folder(const fs::path& run_directory) { return run_directory / "checkpoints"; }

std::string list_text(const fs::path& run_directory, std::chrono::system_clock::time_point now) {
  const fs::path folder = folder_of(run_directory);
  const std::vector<CheckpointEntry> entries = list_checkpoints(folder);
  if (entries.empty()) {
    return no_checkpoints(run_directory);
  }
  const std::set<std::int64_t> pinned = pinned_steps(folder);
  const auto scores = read_scores(folder, entries);
  const std::set<std::int64_t> best = best_steps(scores, 1);
  std::vector<Row> rows = {{"step", "kimg", "age", "size", "files", "status"}};
  for (const CheckpointEntry& entry : entries) {
    Row row = {fmt::format("{}", entry.step), "-", "-", "-", "-", "complete"};
    if (entry.manifest) {
      row[1] = kimg_text(entry.manifest->images);
      row[2] = age_text(entry.manifest->created, now);
      row[3] = size_text(entry.bytes);
      row[4] = fmt::format("{}", entry.manifest->files.size());
    }
    if (entry.status == CheckpointStatus::kDamaged) {
      row[5] = "damaged: " + entry.damage;
    }
    if (pinned.contains(entry.step)) {
      row[5] = "pinned, " + row[5];
    }
    if (const auto score = scores.find(entry.step); score != scores.end()) {
      row[5] += fmt::format(", {} {:.4f}{}", printable(score->second.metric), score->second.value,
                            best.contains(entry.step) ? ", best" : "");
    }
    rows.push_back(std::move(row));
  }
  return aligned_text(rows, std::vector<Align>(5, Align::kRight));
}

VerifyText verify_text(const fs::path& run_directory, std::optional<std::int64_t> step) {
  const fs::path folder = folder_of(run_directory);
  const auto entries = step ? std::vector{find_checkpoint(folder, step)} : list_checkpoints(folder);
  if (entries.empty()) {
    return {.text = no_checkpoints(run_directory), .all_valid = false};
  }
  VerifyText result;
  for (const CheckpointEntry& entry : entries) {
    const std::string name = entry.path.filename().string();
    try {
      const Manifest manifest = verify_checkpoint(entry.path);
      result.text +=
          fmt::format("{}  ok  {} tensors in {} files, {}\n", name, manifest.tensor_count,
                      manifest.files.size(), size_text(entry.bytes));
    } catch (const CheckpointError& error) {
      if (!step && is_removed(entry.path)) {
        continue;
      }
      result.all_valid = false;
      result.text += fmt::format("{}  DAMAGED  {}\n", name, error.what());
    }
  }
  // All listed checkpoints were removed meanwhile: newer ones exist.
  return result.text.empty() ? verify_text(run_directory) : result;
}

std::string show_text(const fs::path& run_directory, std::optional<std::int64_t> step) {
  const fs::path folder = folder_of(run_directory);
  return read_chosen([&] { return find_checkpoint(folder, step).path; },
                     [](const fs::path& checkpoint) {
                       const StoredState state(checkpoint);
                       return fmt::format("{}\njob file\n{}\n{}",
                                          manifest_text(state.manifest(), checkpoint),
                                          indented(state.manifest().job_yaml), tensor_table(state));
                     });
}

}  // namespace gangway::checkpoint
