// SPDX-License-Identifier: MIT
// What the TroubleWatch remembered at steps whose state a start may begin with, as a small file of
// the run directory: with it trouble is found in the same step whether the job was killed before or
// not. The Conductor fills it; the event loop writes it behind everything else, for what is missing
// only begins anew. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/trouble/trouble_watch.hpp"

namespace gangway::coordinator {

inline constexpr std::string_view kWatchFile = "watch.txt";

class WatchMemory {
 public:
  /// Steps that are remembered: the newest.
  static constexpr std::size_t kMostSteps = 16;

  /// What text() has written; nothing of what cannot be read.
  [[nodiscard]] static WatchMemory parse(std::string_view text);

  void keep(std::int64_t step, const std::vector<SeenFigures>& seen);
  /// Training goes on from `step`: what was behind it is of no use.
  void begin_at(std::int64_t step);
  [[nodiscard]] std::optional<std::vector<SeenFigures>> at(std::int64_t step) const;
  /// A line a step and network.
  [[nodiscard]] std::string text() const;

 private:
  std::map<std::int64_t, std::vector<SeenFigures>> by_step_;
};

}  // namespace gangway::coordinator
