// SPDX-License-Identifier: MIT
// Figures of one tick, as input of the advice rules. Called by AdviceTracker and the rules; pure.
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/index.hpp"

namespace gangway::report {

/// Number that AdviceTracker adds to a tick: GiB per hour, from MemoryGrowth.
inline constexpr const char* kMemoryGrowth = "memory_growth_gib_per_hour";
/// Extra job key: the next step that saves memory with exact results, next_exact_rung().
inline constexpr const char* kMemoryRung = "memory rung";
/// Extra job key: "true" if the run's layout cuts networks into pipeline stages, else "false".
inline constexpr const char* kIsCut = "is cut";

/// Gives one tick's figures as shares of a step of the slowest worker, for which the others wait.
/// Uses its GPU's times if the tick has them.
class StepFacts {
 public:
  /// @param tick  a line of stats.jsonl. @param keys  job keys; outlive this
  StepFacts(const nlohmann::json& tick, const std::map<std::string, std::string>& keys);

  [[nodiscard]] double step_seconds() const { return step_seconds_; }
  [[nodiscard]] double share(std::string_view part) const;
  [[nodiscard]] double share(std::initializer_list<std::string_view> parts) const;
  /// Returns the sum over all networks of parts with this suffix: "_penalty".
  [[nodiscard]] double share_ending(std::string_view end) const;
  /// Returns the share of forwards, backwards and penalties of all networks, and graph replays.
  [[nodiscard]] double computing() const;
  /// Returns the same for the host's thread, which only launches kernels if there is a GPU.
  [[nodiscard]] double host_computing() const { return host_computing_; }
  /// Returns another number of the tick; 0 if it has none.
  [[nodiscard]] double number(const std::string& name) const;
  /// Returns another text of the tick; empty if it has none.
  [[nodiscard]] std::string text(const std::string& name) const;
  /// Returns the loader threads' seconds per step for "read", "no_room", ...
  [[nodiscard]] double loader(std::string_view figure) const;
  /// Returns the loader threads' work in seconds per step, without waits for room.
  [[nodiscard]] double loader_work() const;
  /// Returns the value in job.yaml; `otherwise` if the key is missing.
  [[nodiscard]] std::string key(const std::string& name, const std::string& otherwise = "") const;
  /// Returns the interval in kimg of a periodic action, which key `name` gives in kimg, steps or
  /// seconds; infinity if it never happens.
  [[nodiscard]] double interval_kimg(const std::string& name) const;
  /// Returns each worker's waits for other workers, as a share of its own step.
  [[nodiscard]] const std::vector<double>& waits_for_others() const { return waits_; }
  /// Returns the mean over workers of waits for tensors of other pipeline stages or networks: the
  /// saving of a layout without them. If ticks have one worker's parts only, uses that worker.
  [[nodiscard]] double mean_tensor_wait() const;
  [[nodiscard]] Rank slowest_rank() const { return slowest_rank_; }
  /// Returns the exposed share of phases whose updates wait for the gradient's norm.
  [[nodiscard]] double norm_wait() const { return norm_wait_; }

 private:
  const std::map<std::string, std::string>& keys_;
  std::map<std::string, double, std::less<>> parts_;    // seconds per step
  std::map<std::string, double, std::less<>> loader_;   // seconds per step
  std::map<std::string, double, std::less<>> numbers_;  // of the tick
  std::map<std::string, std::string> texts_;            // of the tick
  std::vector<double> waits_;
  std::vector<double> tensor_waits_;
  double step_seconds_ = 0.0;
  double host_computing_ = 0.0;
  double norm_wait_ = 0.0;
  Rank slowest_rank_;
};

}  // namespace gangway::report
