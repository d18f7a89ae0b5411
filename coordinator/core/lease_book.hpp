// SPDX-License-Identifier: MIT
// Cuts the job into leases and says when to grant each. No step waits for the coordinator, and a
// request (stop, checkpoint) takes effect within about two seconds. Pure; driven by RunCore.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace gangway::coordinator {

/// No interval saves within this share of itself before the job's end, because the end saves.
/// Example: 40 kimg in batches of 64 are 625 steps, 10 kimg 156; step 624 is not saved.
inline constexpr double kShareLeftToTheEnd = 0.1;

/// The job's milestones, in steps. An interval of 0 means never.
struct LeasePlan {
  std::int64_t start_step = 0;
  std::int64_t saved_step = 0;  ///< of the newest checkpoint; < start_step after a snapshot
  std::int64_t total_steps = 0;
  std::int64_t tick_steps = 0;
  std::int64_t picture_steps = 0;
  std::array<std::int64_t, 3> checkpoint_steps{};  ///< as in JobSpec
};

/// Whether one of the checkpoint intervals saves the state of `step`.
[[nodiscard]] bool is_marked(std::int64_t step, const std::array<std::int64_t, 3>& intervals,
                             std::int64_t total_steps);

/// Permission to run the steps [begin, end), and the actions after them. begin == end: only these.
struct Lease {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool pictures = false;
  bool checkpoint = false;
  bool last = false;
  bool operator==(const Lease&) const = default;
};

class LeaseBook {
 public:
  explicit LeaseBook(const LeasePlan& plan);

  /// Makes the next lease the last: it runs no step and saves, unless the state at its end is
  /// already being saved.
  void request_stop() { stop_requested_ = true; }
  /// Makes the next lease save and run no step, unless it is the last, which always saves.
  void request_checkpoint() { checkpoint_requested_ = true; }
  /// Makes leases about a second long. @param median_seconds  duration of a step
  void set_step_seconds(double median_seconds);

  /// Grants no step until resume() is called; requested saves and stops still happen.
  void pause() { paused_ = true; }
  void resume() { paused_ = false; }
  /// Changes the intervals from the next lease on.
  void set_intervals(std::int64_t tick_steps, std::int64_t picture_steps,
                     const std::array<std::int64_t, 3>& checkpoint_steps);
  /// Grants no step from `step` on; nullopt: lifts that limit.
  void hold_at(std::optional<std::int64_t> step) { hold_at_ = step; }
  /// Ends the job at `total_steps`. @pre no step beyond it has been granted
  void end_at(std::int64_t total_steps) {
    plan_.total_steps = total_steps;
    ends_early_ = true;
  }
  /// Whether a pause or hold_at() keeps back all further steps.
  [[nodiscard]] bool is_held() const {
    return !last_granted_ && (paused_ || (hold_at_ && end_ >= *hold_at_));
  }

  /// Returns the leases to grant now. @param fastest_done  steps done by the fastest worker
  [[nodiscard]] std::vector<Lease> grant(std::int64_t fastest_done);

  /// Steps granted so far.
  [[nodiscard]] std::int64_t granted_end() const { return end_; }
  /// The newest step whose state is, or is being, saved.
  [[nodiscard]] std::int64_t saved_step() const { return saved_step_; }
  [[nodiscard]] bool last_granted() const { return last_granted_; }

 private:
  [[nodiscard]] bool is_due(std::int64_t fastest_done) const;
  [[nodiscard]] Lease next();
  [[nodiscard]] Lease training_lease() const;

  LeasePlan plan_;
  std::int64_t end_;
  std::int64_t previous_length_ = 0;
  std::int64_t steps_per_lease_ = 1;
  std::optional<std::int64_t> hold_at_;
  std::int64_t saved_step_;  ///< the newest step whose state is, or is being, saved
  bool paused_ = false;
  bool stop_requested_ = false;
  bool checkpoint_requested_ = false;
  bool ends_early_ = false;
  bool last_granted_ = false;
};

}  // namespace gangway::coordinator
