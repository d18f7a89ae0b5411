// SPDX-License-Identifier: MIT
// Takes snapshots as fast as it can until it is killed: tests/faults/snapshot_kill_campaign.py.
//
//   snapshot_writer write FOLDER WORKER WORKERS   goes on from what it finds; a line a snapshot
//   snapshot_writer obey FOLDER WORKER WORKERS    reads "take STEP" and "protect STEP", one a line
//   snapshot_writer check FOLDER                  prints the newest step that all have, or "none"
//
// The bytes of a piece tell its step, so a mixed one is seen whatever its hashes say.
#include <cstring>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "checkpoint/snapshots/snapshot_files.hpp"
#include "checkpoint/snapshots/snapshot_memory.hpp"
#include "checkpoint/snapshots/snapshot_slot.hpp"
#include "tests/checkpoint/snapshots/newest_complete.hpp"

namespace {

using namespace gangway::checkpoint;
namespace fs = std::filesystem;

constexpr std::uint64_t kLargeElements = 200'000;

std::vector<TensorStretch> pieces_of(int worker, int num_workers) {
  const auto workers = static_cast<std::uint64_t>(num_workers);
  const auto index = static_cast<std::uint64_t>(worker);
  std::vector<TensorStretch> pieces;
  for (const std::string name : {"first", "second", "third"}) {
    pieces.push_back({.name = name,
                      .type = ElementType::kI64,
                      .shape = {static_cast<std::int64_t>(kLargeElements)},
                      .begin = kLargeElements * index / workers,
                      .end = kLargeElements * (index + 1) / workers});
  }
  return pieces;
}

SnapshotPlace place_of(const fs::path& folder, int worker, int num_workers) {
  return {.folder = folder,
          .run_directory = folder,
          .job_fingerprint = "job",
          .worker = worker,
          .num_workers = num_workers};
}

bool take(SnapshotMemory& memory, std::int64_t step) {
  const std::vector<std::int64_t> values(kLargeElements, step);
  if (!memory.begin({.step = step})) {
    return false;
  }
  for (std::size_t piece = 0; piece < memory.pieces().size(); ++piece) {
    memory.copy(piece, std::as_bytes(std::span(values)).first(memory.pieces()[piece].bytes()));
  }
  memory.complete();
  return true;
}

int write(const fs::path& folder, int worker, int num_workers) {
  SnapshotMemory memory(place_of(folder, worker, num_workers), pieces_of(worker, num_workers));
  const auto found = memory.ids();
  std::int64_t step = found.empty() ? 0 : found.front().step;
  while (take(memory, ++step)) {
    std::cout << step << std::endl;
  }
  return 1;
}

int obey(const fs::path& folder, int worker, int num_workers) {
  SnapshotMemory memory(place_of(folder, worker, num_workers), pieces_of(worker, num_workers));
  std::cout << "ready" << std::endl;
  std::string word;
  std::int64_t step = 0;
  while (std::cin >> word >> step) {
    if (word == "protect") {
      memory.protect(step);
    } else if (!take(memory, step)) {
      return 1;
    } else {
      std::cout << step << std::endl;
    }
  }
  return 0;
}

int check(const fs::path& folder) {
  const auto newest =
      newest_complete(std::span(&folder, 1), snapshot_key(folder, "job", {}),
                      [](const std::string& line) { std::cerr << line << std::endl; });
  if (!newest) {
    std::cout << "none" << std::endl;
    return 0;
  }
  for (const SnapshotFile& part : newest->parts) {
    for (std::size_t piece = 0; piece < part.pieces().size(); ++piece) {
      const auto bytes = part.bytes(piece);
      for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::int64_t)) {
        std::int64_t value = 0;
        std::memcpy(&value, bytes.data() + at, sizeof value);
        if (value != newest->id.step) {
          std::cout << "mixed: " << value << " in step " << newest->id.step << std::endl;
          return 1;
        }
      }
    }
  }
  std::cout << newest->id.step << std::endl;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 4 && words[0] == "write") {
    return write(words[1], std::stoi(words[2]), std::stoi(words[3]));
  }
  if (words.size() == 4 && words[0] == "obey") {
    return obey(words[1], std::stoi(words[2]), std::stoi(words[3]));
  }
  if (words.size() == 2 && words[0] == "check") {
    return check(words[1]);
  }
  std::cerr << "usage: snapshot_writer write|obey FOLDER WORKER WORKERS | check FOLDER"
            << std::endl;
  return 2;
}
