// SPDX-License-Identifier: MIT
// Which keys of a job may be set while it is trained: those that say how often something is shown
// or saved, and what of it is kept. None changes a bit of what is trained. Pure.
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

/// In the order in which they are named to people.
[[nodiscard]] const std::vector<std::string_view>& settable_keys();

/// `job` with the key's new value. @throws ConfigError: one line with what may be set, or what is
/// wrong with the value; also where something that changes weights depends on the key.
[[nodiscard]] JobSpec with_key(const JobSpec& job, const std::string& key,
                               const std::string& value);

/// Its value, as a job file has it. @throws ConfigError where it may not be set
[[nodiscard]] std::string value_of(const JobSpec& job, const std::string& key);

/// What of a job may be set, as steps and times.
struct SteeredPlan {
  std::int64_t tick_steps = 0;
  std::int64_t picture_steps = 0;
  std::array<std::int64_t, 3> checkpoint_steps{};  ///< as JobSpec has them
  std::chrono::milliseconds save_interval{0};
  std::int64_t snapshot_steps = 0;
};
[[nodiscard]] SteeredPlan steered_plan(const JobSpec& job);

/// What stands of what people asked of earlier starts.
struct StandingOrders {
  JobSpec job;  ///< with what was set, where the job has not been given another value since
  bool is_paused = false;
  double paused_since = 0;  ///< unix seconds
  std::string paused_by;
};
[[nodiscard]] StandingOrders standing_orders(const JobSpec& job, const SteeringEvents& events);

}  // namespace gangway::coordinator
