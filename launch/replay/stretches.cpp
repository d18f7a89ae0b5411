// SPDX-License-Identifier: MIT
#include "launch/replay/stretches.hpp"

#include <algorithm>
#include <random>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/errors.hpp"

namespace gangway::launch {
namespace {

void require_checkpoint(std::span<const std::int64_t> steps, const char* option,
                        std::int64_t step) {
  if (!std::ranges::binary_search(steps, step)) {
    throw ConfigError(fmt::format("{} {}: there is no sound checkpoint of that step; there are {}",
                                  option, step, fmt::join(steps, ", ")));
  }
}

}  // namespace

std::vector<Stretch> stretches_between(std::span<const std::int64_t> steps,
                                       std::optional<std::int64_t> from,
                                       std::optional<std::int64_t> to) {
  if (steps.empty()) {
    throw ConfigError(
        "the run has no sound checkpoint, and nothing to set a replay beside: train it with "
        "checkpoint.every_kimg, and a checkpoint.keep that leaves them");
  }
  if (steps.size() == 1 && !from) {
    throw ConfigError(fmt::format(
        "the run has one checkpoint alone, of step {}: --from 0 replays all of it; a larger "
        "checkpoint.keep leaves more",
        steps.front()));
  }
  const std::int64_t first = from.value_or(steps.front());
  const std::int64_t last = to.value_or(steps.back());
  if (first != 0) {
    require_checkpoint(steps, "--from", first);
  }
  require_checkpoint(steps, "--to", last);
  if (first >= last) {
    throw ConfigError(fmt::format(
        "--from {} --to {}: a replay goes forward; name the earlier step first", first, last));
  }
  std::vector<Stretch> stretches;
  std::int64_t begin = first;
  for (const std::int64_t step : steps) {
    if (step > first && step <= last) {
      stretches.push_back({.from = std::exchange(begin, step), .to = step});
    }
  }
  return stretches;
}

std::vector<Stretch> drawn_stretches(std::vector<Stretch> stretches, std::size_t count,
                                     std::uint64_t seed) {
  std::mt19937_64 random(seed);
  while (stretches.size() > count) {
    // Not uniform_int_distribution, which another library draws otherwise; the bias is nothing.
    const auto leaves = static_cast<std::ptrdiff_t>(random() % stretches.size());
    stretches.erase(stretches.begin() + leaves);
  }
  return stretches;
}

}  // namespace gangway::launch
