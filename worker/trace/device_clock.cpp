// SPDX-License-Identifier: MIT
#include "worker/trace/device_clock.hpp"

#include <algorithm>
#include <utility>

#include "run/messages/step_parts.hpp"

namespace gangway::worker {
namespace {

/// Marks one in this many steps, or in a shorter tick: a step has about a hundred marks of some
/// microseconds each.
constexpr std::int64_t kMostApart = 16;
/// First measured step: earlier steps choose kernels, and are recorded.
constexpr std::int64_t kFirst = 8;

}  // namespace

DeviceClock::DeviceClock(std::unique_ptr<DeviceMarks> marks, std::size_t num_networks,
                         std::int64_t tick_steps)
    : marks_(std::move(marks)),
      num_parts_(messages::num_step_parts(num_networks)),
      every_(std::clamp<std::int64_t>(tick_steps, 1, kMostApart)) {}

DeviceClock::~DeviceClock() { end_step(); }

void DeviceClock::begin_step(std::int64_t step) {
  if (marks_ != nullptr && step >= kFirst && step % every_ == every_ / 2) {
    is_on_ = true;
    marks_->mark(messages::index_of(messages::StepPart::kOther));
    TimeLedger::of_this_thread()->tell(this);
  }
}

void DeviceClock::end_step() {
  if (std::exchange(is_on_, false)) {
    if (TimeLedger* const ledger = TimeLedger::of_this_thread()) {
      ledger->tell(nullptr);
    }
    marks_->end();
  }
}

void DeviceClock::tell(messages::StepFigures& figures) {
  if (marks_ == nullptr) {
    return;
  }
  while (const auto stretches = marks_->take()) {
    figures.device_parts.resize(num_parts_, 0.0);
    for (const DeviceStretch& stretch : *stretches) {
      figures.device_parts[stretch.tag] += stretch.seconds;
      figures.device_starved += stretch.was_starved ? 1 : 0;
    }
    figures.device_marks += stretches->size();
    ++figures.device_steps;
  }
}

}  // namespace gangway::worker
