// SPDX-License-Identifier: MIT
#include "launch/going_on/restart_policy.hpp"

#include <fmt/format.h>

#include "job/layout_choice.hpp"

namespace gangway::launch {
namespace {

// Doubles with each start without progress: a full memory or a network fault may pass.
constexpr std::chrono::milliseconds kFirstWait{1000};

}  // namespace

std::optional<std::chrono::milliseconds> RestartPolicy::lost(std::optional<std::int64_t> begun) {
  // Compares with the last start only: after a fallback, each start that gets further counts.
  num_in_vain_ = begun > last_begun_ ? 0 : num_in_vain_ + 1;  // nullopt is less than any step
  last_begun_ = begun ? begun : last_begun_;
  const bool may_be_more = most_ == LayoutChoice::kAutoRestarts || num_starts_ < most_;
  if (!may_be_more || num_in_vain_ >= kMostInVain) {
    return std::nullopt;
  }
  ++num_starts_;
  return num_in_vain_ == 0 ? std::chrono::milliseconds(0) : kFirstWait * (1 << (num_in_vain_ - 1));
}

bool RestartPolicy::goes_on() const {
  return (most_ == LayoutChoice::kAutoRestarts || num_starts_ < most_) &&
         num_in_vain_ + 1 < kMostInVain;
}

std::string RestartPolicy::why_not() const {
  if (num_in_vain_ >= kMostInVain) {
    return last_begun_ ? fmt::format("{} starts in a row have not got further than step {}",
                                     kMostInVain, *last_begun_)
                       : fmt::format("{} starts in a row have not begun to train", kMostInVain);
  }
  return fmt::format("layout.restarts={}", most_);
}

}  // namespace gangway::launch
