// SPDX-License-Identifier: MIT
// The keys of a job that may be set while it trains: how often it shows or saves, and what it
// keeps. No key changes a trained bit. Pure.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "job/spec.hpp"
#include "run/control/steering_file.hpp"

namespace gangway::coordinator {

/// Returns the keys in the order shown to users.
[[nodiscard]] const std::vector<std::string_view>& settable_keys();

/// Returns `job` with the key's new value. @throws ConfigError, one line, if the key may not be
/// set, the value is wrong, or something that changes weights uses it
[[nodiscard]] JobSpec with_key(const JobSpec& job, const std::string& key,
                               const std::string& value);

/// Returns the key's value as in a job file. @throws ConfigError if it may not be set
[[nodiscard]] std::string value_of(const JobSpec& job, const std::string& key);

/// The settable part of a job, as steps and times.
struct SteeredPlan {
  std::int64_t tick_steps = 0;
  std::int64_t picture_steps = 0;
  std::array<std::int64_t, 3> checkpoint_steps{};  ///< as in JobSpec
  std::chrono::milliseconds save_interval{0};
  std::int64_t snapshot_steps = 0;
};
[[nodiscard]] SteeredPlan steered_plan(const JobSpec& job);

/// Commands of earlier starts that are still in force.
struct ActiveCommands {
  JobSpec job;  ///< with the keys set, unless the job file changed them since
  bool is_paused = false;
  double paused_since = 0;  ///< unix seconds
  std::string paused_by;
};
[[nodiscard]] ActiveCommands active_commands(const JobSpec& job, const SteeringEvents& events);

}  // namespace gangway::coordinator
