// SPDX-License-Identifier: MIT
#include "launch/checkpoints/snapshot_list.hpp"

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/errors.hpp"
#include "base/this_host.hpp"
#include "base/units.hpp"
#include "checkpoint/snapshots/snapshot_slot.hpp"
#include "job/file/fingerprint.hpp"
#include "job/file/parse.hpp"
#include "report/table.hpp"
#include "run/run_files.hpp"
#include "run/run_start.hpp"

namespace gangway::launch {
namespace {

namespace fs = std::filesystem;

/// Parts of one snapshot on this host. A part may exist twice: the worker's, and a buddy's copy.
struct SnapshotParts {
  std::set<int> parts;  ///< by the rank whose part it is
  std::set<std::string> folders;
  std::size_t bytes = 0;
  bool is_in_use = false;
};

std::string state_text(const SnapshotId& id, const SnapshotParts& held) {
  const bool is_whole = static_cast<int>(held.parts.size()) == id.num_workers;
  return fmt::format("{}{}", is_whole ? "whole" : "not whole here",
                     held.is_in_use ? ", in use" : "");
}

}  // namespace

std::string snapshot_table(std::span<const checkpoint::SnapshotEntry> entries,
                           std::int64_t images_per_step) {
  std::map<SnapshotId, SnapshotParts, std::greater<>> snapshots;
  for (const checkpoint::SnapshotEntry& entry : entries) {
    SnapshotParts& held = snapshots[entry.id];
    held.parts.insert(entry.worker + 1);
    held.folders.insert(entry.file.parent_path().string());
    held.bytes += entry.bytes;
    held.is_in_use = held.is_in_use || entry.is_in_use;
  }
  report::Table table({{.title = "step", .align = Align::kRight},
                       {.title = "kimg", .align = Align::kRight},
                       {.title = "start", .align = Align::kRight},
                       {.title = "epoch", .align = Align::kRight},
                       {.title = "parts"},
                       {.title = "MiB", .align = Align::kRight},
                       {.title = "in"},
                       {.title = "state"}});
  for (const auto& [id, held] : snapshots) {
    const double kimg = static_cast<double>(id.step * images_per_step) / 1000.0;
    table.add_row({std::to_string(id.step), images_per_step > 0 ? fmt::format("{:.1f}", kimg) : "-",
                   std::to_string(id.incarnation), std::to_string(id.epoch),
                   fmt::format("{} of {}", fmt::join(held.parts, ","), id.num_workers),
                   fmt::format("{:.1f}", static_cast<double>(held.bytes) / kMebibyte),
                   fmt::format("{}", fmt::join(held.folders, ", ")), state_text(id, held)});
  }
  return table.text();
}

std::string snapshot_list(const fs::path& run_directory, const fs::path& shared_memory) {
  if (!fs::exists(run_directory / kJobFile)) {
    return fmt::format("{}: no snapshots: no job has begun to train there\n",
                       run_directory.string());
  }
  const auto job = job_in(run_directory / kJobFile);
  if (!job) {
    throw CheckpointError(
        fmt::format("{}: this version cannot read this job, so it cannot find the snapshots: use "
                    "the gangway version that trained there",
                    (run_directory / kJobFile).string()));
  }
  const auto folders = checkpoint::snapshot_folders(run_directory, shared_memory);
  std::string damaged;
  const auto entries = checkpoint::find_snapshots(
      folders,
      checkpoint::snapshot_key(run_directory, job_fingerprint(*job), run_id_of(run_directory)),
      [&damaged](const std::string& line) { damaged += "warn  " + line + "\n"; });
  if (entries.empty()) {
    return fmt::format(
        "{}{}: no snapshots on {}: the run has taken none, has ended well, or ran elsewhere\n",
        damaged, run_directory.string(), host_name());
  }
  return fmt::format("{}{} on {}; other hosts of the run have their own\n{}", damaged,
                     run_directory.string(), host_name(),
                     snapshot_table(entries, job->images_per_step()));
}

}  // namespace gangway::launch
