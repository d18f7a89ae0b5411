// SPDX-License-Identifier: MIT
#include "coordinator/core/lease_book.hpp"

#include <algorithm>

namespace gangway::coordinator {
namespace {

// At most two leases are granted ahead, so a request takes effect within twice this time.
constexpr double kLeaseSeconds = 1.0;
constexpr std::int64_t kMaxStepsPerLease = 1000;

/// Returns the first multiple of `interval` above `step`; `limit` if none lies below `limit`.
std::int64_t next_multiple(std::int64_t step, std::int64_t interval, std::int64_t limit) {
  return interval <= 0 ? limit : std::min(limit, (step / interval + 1) * interval);
}

bool is_multiple(std::int64_t step, std::int64_t interval) {
  return interval > 0 && step % interval == 0;
}

}  // namespace

bool is_marked(std::int64_t step, const std::array<std::int64_t, 3>& intervals,
               std::int64_t total_steps) {
  const auto left = static_cast<double>(total_steps - step);
  return std::ranges::any_of(intervals, [&](std::int64_t interval) {
    return is_multiple(step, interval) &&
           left >= kShareLeftToTheEnd * static_cast<double>(interval);
  });
}

LeaseBook::LeaseBook(const LeasePlan& plan)
    : plan_(plan), end_(plan.start_step), saved_step_(plan.saved_step) {}

void LeaseBook::set_step_seconds(double median_seconds) {
  if (median_seconds <= 0.0) {
    return;
  }
  const double steps =
      std::min(kLeaseSeconds / median_seconds, static_cast<double>(kMaxStepsPerLease));
  steps_per_lease_ = std::max<std::int64_t>(1, static_cast<std::int64_t>(steps));
}

void LeaseBook::set_intervals(std::int64_t tick_steps, std::int64_t picture_steps,
                              const std::array<std::int64_t, 3>& checkpoint_steps) {
  plan_.tick_steps = tick_steps;
  plan_.picture_steps = picture_steps;
  plan_.checkpoint_steps = checkpoint_steps;
}

bool LeaseBook::is_due(std::int64_t fastest_done) const {
  if (!last_granted_ && (stop_requested_ || checkpoint_requested_)) {
    return true;
  }
  if (is_held()) {
    return false;
  }
  // Always grants at least one whole step ahead, however short the leases are.
  const std::int64_t ahead = std::max<std::int64_t>(2, previous_length_ / 2 + 1);
  return !last_granted_ && end_ - fastest_done < ahead;
}

std::vector<Lease> LeaseBook::grant(std::int64_t fastest_done) {
  std::vector<Lease> leases;
  if (saved_step_ == end_) {
    checkpoint_requested_ = false;
  }
  while (is_due(fastest_done)) {
    leases.push_back(next());
  }
  return leases;
}

Lease LeaseBook::training_lease() const {
  Lease lease{.begin = end_, .end = std::min(plan_.total_steps, end_ + steps_per_lease_)};
  lease.end = next_multiple(end_, plan_.tick_steps, lease.end);
  lease.end = next_multiple(end_, plan_.picture_steps, lease.end);
  for (const std::int64_t interval : plan_.checkpoint_steps) {
    lease.end = next_multiple(end_, interval, lease.end);
  }
  lease.last = lease.end == plan_.total_steps;
  lease.pictures = is_multiple(lease.end, plan_.picture_steps) || lease.last;
  lease.checkpoint = lease.last || is_marked(lease.end, plan_.checkpoint_steps, plan_.total_steps);
  return lease;
}

Lease LeaseBook::next() {
  // A snapshot may lie past an end that the user has since moved forward: then only save.
  const bool is_past_end = end_ > plan_.total_steps;
  const bool is_over = stop_requested_ || is_past_end || (ends_early_ && end_ >= plan_.total_steps);
  Lease lease =
      is_over ? Lease{.begin = end_, .end = end_, .checkpoint = saved_step_ != end_, .last = true}
              : training_lease();
  if (checkpoint_requested_ && !lease.last) {
    lease = Lease{.begin = end_, .end = end_, .checkpoint = true};
  } else if (!is_over) {
    previous_length_ = lease.end - lease.begin;
  }
  end_ = lease.end;
  if (lease.checkpoint) {
    saved_step_ = end_;
    checkpoint_requested_ = false;
  }
  last_granted_ = lease.last;
  return lease;
}

}  // namespace gangway::coordinator
