// SPDX-License-Identifier: MIT
#include "run/messages/packed.hpp"

#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "base/errors.hpp"

namespace gangway::messages {
namespace {

/// Limit above that of any job, so that damaged bytes cannot demand memory.
constexpr int kMostInRuns = 1 << 20;

/// @param step  difference between neighbours in a run: 1 or 0
std::vector<Run> runs_of(const std::vector<int>& numbers, int step) {
  std::vector<Run> runs;
  for (const int number : numbers) {
    if (!runs.empty() &&
        number == std::int64_t{runs.back().first} + std::int64_t{step} * runs.back().count) {
      ++runs.back().count;
    } else {
      runs.push_back({number, 1});
    }
  }
  return runs;
}

/// Expands runs to numbers. Throws InvariantError if they are impossible.
std::vector<int> numbers_of(const std::vector<Run>& runs, int step) {
  std::vector<int> numbers;
  for (const Run& run : runs) {
    const std::int64_t last = run.first + std::int64_t{step} * run.count;
    if (run.count > kMostInRuns - static_cast<int>(numbers.size()) || last - step > INT_MAX) {
      throw InvariantError(fmt::format("{} numbers from {} on", run.count, run.first));
    }
    for (int i = 0; i < run.count; ++i) {
      numbers.push_back(run.first + step * i);
    }
  }
  return numbers;
}

}  // namespace

PackedGroup packed(const NetworkGroup& group) {
  std::vector<int> sizes;
  for (const MicrobatchRange& range : group.ranges) {
    sizes.push_back(range.size());
  }
  return {.workers = runs_of(group.workers, 1), .sizes = runs_of(sizes, 0), .chunks = group.chunks};
}

NetworkGroup unpacked(PackedGroup packed) {
  NetworkGroup group{.workers = numbers_of(packed.workers, 1), .chunks = std::move(packed.chunks)};
  const std::size_t copies = std::max<std::size_t>(
      1, group.workers.size() / std::max<std::size_t>(1, group.chunks.size()));
  for (const int size : numbers_of(packed.sizes, 0)) {
    const int begin = group.ranges.size() % copies == 0 ? 0 : group.ranges.back().end;
    if (size > INT_MAX - begin) {
      throw InvariantError(fmt::format("{} micro-batches after {}", size, begin));
    }
    group.ranges.push_back({begin, begin + size});
  }
  return group;
}

PackedSnapshot packed(const WholeSnapshot& snapshot) {
  PackedSnapshot result{.id = snapshot.id};
  const std::vector<WorkerIndex>* before = nullptr;
  for (const std::vector<WorkerIndex>& workers : snapshot.holders) {
    if (before == nullptr || *before != workers) {
      std::vector<int> numbers(workers.size());
      std::ranges::transform(workers, numbers.begin(), &WorkerIndex::value);
      result.holders.push_back({.parts = 0, .workers = runs_of(numbers, 1)});
    }
    ++result.holders.back().parts;
    before = &workers;
  }
  return result;
}

WholeSnapshot unpacked(const PackedSnapshot& packed) {
  WholeSnapshot snapshot{.id = packed.id};
  std::size_t numbers = 0;
  for (const PackedHolders& some : packed.holders) {
    const std::vector<int> held = numbers_of(some.workers, 1);
    const std::vector<WorkerIndex> workers(held.begin(), held.end());
    numbers += static_cast<std::size_t>(some.parts) * (workers.size() + 1);
    if (numbers > 64 * std::size_t{kMostInRuns}) {
      throw InvariantError(fmt::format("{} parts", some.parts));
    }
    snapshot.holders.insert(snapshot.holders.end(), static_cast<std::size_t>(some.parts),
                            {workers.begin(), workers.end()});
  }
  return snapshot;
}

}  // namespace gangway::messages
