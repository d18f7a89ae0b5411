// SPDX-License-Identifier: MIT
// Which steps may run: cuts the job into leases and says when each is to be granted, so that no
// step waits for the coordinator and a request (stop, checkpoint) takes effect within about two
// seconds. Pure; driven by the Conductor.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace gangway::coordinator {

/// The end saves. What an interval asks for within this share of itself before the end is left to
/// that: 40 kimg in batches of 64 are 625 steps, 10 kimg 156, and steps 624 and 625 would be saved.
inline constexpr double kShareLeftToTheEnd = 0.1;

/// The job's milestones, in steps. An interval of 0 means never.
struct LeasePlan {
  std::int64_t start_step = 0;
  std::int64_t saved_step = 0;  ///< of the newest checkpoint; before start_step after a snapshot
  std::int64_t total_steps = 0;
  std::int64_t tick_steps = 0;
  std::int64_t picture_steps = 0;
  std::array<std::int64_t, 3> checkpoint_steps{};  ///< as JobSpec has them
};

/// Whether one of the intervals of checkpoints asks for the state of `step`.
[[nodiscard]] bool is_marked(std::int64_t step, const std::array<std::int64_t, 3>& intervals,
                             std::int64_t total_steps);

/// The steps [begin, end), and what is to follow them. `begin == end`: only what follows.
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

  /// The next lease is the last: it saves (unless the state at its end is being saved already) and
  /// runs no step.
  void request_stop() { stop_requested_ = true; }
  /// The next lease saves and runs no step, unless it is the last, which saves anyway.
  void request_checkpoint() { checkpoint_requested_ = true; }
  /// @param median_seconds duration of a step; leases become about a second long.
  void set_step_seconds(double median_seconds);

  /// No step is granted until the other is called; what is requested is.
  void pause() { paused_ = true; }
  void resume() { paused_ = false; }
  /// Other milestones from here on.
  void set_intervals(std::int64_t tick_steps, std::int64_t picture_steps,
                     const std::array<std::int64_t, 3>& checkpoint_steps);
  /// No step from this one on is granted; nothing: all may be.
  void hold_at(std::optional<std::int64_t> step) { hold_at_ = step; }
  /// The job ends here, and has not come further yet.
  void end_at(std::int64_t total_steps) {
    plan_.total_steps = total_steps;
    ends_early_ = true;
  }
  /// Whether all that may be granted is.
  [[nodiscard]] bool is_held() const {
    return !last_granted_ && (paused_ || (hold_at_ && end_ >= *hold_at_));
  }

  /// The leases to grant now. @param fastest_done steps done by the worker that is furthest.
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
  [[nodiscard]] Lease stop_lease() const;

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
