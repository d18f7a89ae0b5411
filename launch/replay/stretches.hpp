// SPDX-License-Identifier: MIT
// Which stretches of a run `gangway replay` trains again: each goes from one checkpoint to the
// next, so that all of them together prove all steps between the first and the last. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace gangway::launch {

/// Steps done at its two checkpoints; from 0 on: from the job's own beginning.
struct Stretch {
  std::int64_t from = 0;
  std::int64_t to = 0;
  bool operator==(const Stretch&) const = default;
};

/// @param steps  of the run's checkpoints, ascending
/// @param from  nothing: the oldest one's; 0 needs none
/// @param to  nothing: the newest one's
/// @throws ConfigError where there is nothing to replay
[[nodiscard]] std::vector<Stretch> stretches_between(std::span<const std::int64_t> steps,
                                                     std::optional<std::int64_t> from,
                                                     std::optional<std::int64_t> to);

/// `count` of them, or all, by chance; in their order. The same of one seed.
[[nodiscard]] std::vector<Stretch> drawn_stretches(std::vector<Stretch> stretches,
                                                   std::size_t count, std::uint64_t seed);

}  // namespace gangway::launch
