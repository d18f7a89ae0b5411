// SPDX-License-Identifier: MIT
// Keeps the TroubleWatch's memory at possible start steps in a small file of the run directory.
// With it a killed and resumed job finds trouble in the same step. Filled by RunCore; the
// event loop writes it after all other writes, because a missing memory only starts anew. Pure.
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

class WatchHistory {
 public:
  /// Number of newest steps that are kept.
  static constexpr std::size_t kMostSteps = 16;

  /// Parses the output of text(); returns an empty memory if a line cannot be read.
  [[nodiscard]] static WatchHistory parse(std::string_view text);

  void keep(std::int64_t step, const std::vector<SeenFigures>& seen);
  /// Drops the memory of steps after `step`, from which training resumes.
  void begin_at(std::int64_t step);
  [[nodiscard]] std::optional<std::vector<SeenFigures>> at(std::int64_t step) const;
  /// Returns a line for each step and network.
  [[nodiscard]] std::string text() const;

 private:
  std::map<std::int64_t, std::vector<SeenFigures>> by_step_;
};

}  // namespace gangway::coordinator
