// SPDX-License-Identifier: MIT
// What rules of advice look at. Pure.
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace gangway::report {

/// A number beside those of a tick: GiB an hour, as MemoryGrowth has it.
inline constexpr const char* kMemoryGrowth = "memory_growth_gib_per_hour";
/// Among the keys of a job: what it may do next for want of memory, next_exact_rung().
inline constexpr const char* kMemoryRung = "memory rung";
/// The same: "true" where the run's layout cuts networks into stages, else "false".
inline constexpr const char* kIsCut = "is cut";

/// What one tick tells, in shares of a step of the worker that the others wait for; of its GPU
/// where the tick tells the GPU's.
class StepFacts {
 public:
  /// @param tick  as a line of stats.jsonl has it; `keys` outlives this
  StepFacts(const nlohmann::json& tick, const std::map<std::string, std::string>& keys);

  [[nodiscard]] double step_seconds() const { return step_seconds_; }
  [[nodiscard]] double share(std::string_view part) const;
  [[nodiscard]] double share(std::initializer_list<std::string_view> parts) const;
  /// Of all networks: "_penalty".
  [[nodiscard]] double share_ending(std::string_view end) const;
  /// Forwards, backwards and penalties of all networks, and played recordings.
  [[nodiscard]] double computing() const;
  /// The same of the host's thread, which only launches where there is a GPU.
  [[nodiscard]] double host_computing() const { return host_computing_; }
  /// Any other number of the tick; 0: it has none.
  [[nodiscard]] double number(const std::string& name) const;
  /// The same of words.
  [[nodiscard]] std::string text(const std::string& name) const;
  /// "read", "no_room": seconds a step, of the loader's threads.
  [[nodiscard]] double loader(std::string_view figure) const;
  /// Of all that the loader's threads do when they have room.
  [[nodiscard]] double loader_work() const;
  /// As in job.yaml; `otherwise`: it has no such key.
  [[nodiscard]] std::string key(const std::string& name, const std::string& otherwise = "") const;
  /// From one to the next of what the key `name` has come every so many kimg, steps or seconds;
  /// infinity: it never comes.
  [[nodiscard]] double interval_kimg(const std::string& name) const;
  /// Waits for others, in shares of their own steps, by worker.
  [[nodiscard]] const std::vector<double>& waits_for_others() const { return waits_; }
  /// Mean over workers of the same for tensors of other stages or networks: what a layout without
  /// them saves. Where ticks have one worker alone: the slowest one's, which waits least.
  [[nodiscard]] double mean_tensor_wait() const;
  [[nodiscard]] int slowest_rank() const { return slowest_rank_; }
  /// Exposed by phases whose updates wait for the norm of the gradient.
  [[nodiscard]] double norm_wait() const { return norm_wait_; }

 private:
  const std::map<std::string, std::string>& keys_;
  std::map<std::string, double, std::less<>> parts_;    // seconds a step
  std::map<std::string, double, std::less<>> loader_;   // likewise
  std::map<std::string, double, std::less<>> numbers_;  // of the tick
  std::map<std::string, std::string> texts_;            // likewise
  std::vector<double> waits_;
  std::vector<double> tensor_waits_;
  double step_seconds_ = 0.0;
  double host_computing_ = 0.0;
  double norm_wait_ = 0.0;
  int slowest_rank_ = 0;
};

}  // namespace gangway::report
