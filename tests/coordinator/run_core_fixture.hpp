// SPDX-License-Identifier: MIT
// A RunCore of two workers, driven by messages and a clock, for the tests of this folder.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "coordinator/core/run_core.hpp"

namespace gangway::coordinator {

/// Two workers of one micro-batch each, 20 steps, a checkpoint every 10.
class RunCoreTest : public ::testing::Test {
 protected:
  static constexpr std::chrono::seconds kSaveAlarm{200};

  explicit RunCoreTest(RunCoreSettings given = settings()) : core_(std::move(given), TimePoint{}) {}

  static RunCoreSettings settings() {
    RunCoreSettings result;
    result.num_workers = 2;
    result.leases = {.total_steps = 20, .tick_steps = 10, .checkpoint_steps = {10}};
    result.watched = {{.name = "generator"}, {.name = "discriminator", .judges = true}};
    result.ticks = {.num_workers = 2,
                    .microbatches = 2,
                    .networks = {"generator", "discriminator"},
                    .images_per_step = 10,
                    .total_steps = 20,
                    .tick_steps = 10};
    result.limits = {.start = std::chrono::seconds(10),
                     .heartbeat = std::chrono::seconds(100'000),
                     .closing = std::chrono::milliseconds(50)};
    result.save_alarm = kSaveAlarm;
    return result;
  }

  Effects send(int rank, messages::Message message, std::int64_t epoch = 1) {
    return keep(core_.on_message(Rank(rank), {.epoch = epoch, .message = std::move(message)}, now_,
                                 /*unix_seconds=*/1.0));
  }

  Effects hello(int rank) {
    return send(rank, messages::Hello{.host = "node-a", .process = {.pid = 100 + rank}});
  }

  /// Reports that the host holds no snapshot, or these parts of step 8.
  Effects inventory(int rank, const std::vector<int>& parts = {}) {
    messages::Inventory inventory;
    for (const int part : parts) {
      inventory.parts.push_back({.of = {.step = 8, .num_workers = 2}, .worker = part});
    }
    return send(rank, inventory);
  }

  Effects unloadable(int rank, std::int64_t attempt, std::optional<int> part) {
    return send(rank, messages::Unloadable{.attempt = attempt,
                                           .reason = "damaged",
                                           .part = part,
                                           .holder = worker_of(Rank(rank))});
  }

  Effects ready(int rank, const messages::Arithmetic& arithmetic = {}) {
    return send(rank, messages::Ready{.plan_hash = 7, .arithmetic = arithmetic});
  }

  void begin() { begin_at(0); }
  /// @param step  of the state with which all workers begin
  void begin_at(std::int64_t step) {
    for (const int rank : {1, 2}) {
      hello(rank);
      keep(core_.on_lifeline_opened(Rank(rank), now_));
      inventory(rank);
    }
    keep(core_.begin_with({.step = step, .saved_step = step}));
    ready(1);
    ready(2);
  }

  Effects progress(int rank, std::int64_t step, double loss = 1.0) {
    return send(rank, messages::Progress{.step = step, .losses = {{rank - 1, {loss, loss}}}});
  }

  void step_to(std::int64_t from, std::int64_t to) {
    for (std::int64_t step = from + 1; step <= to; ++step) {
      now_ += std::chrono::milliseconds(600);
      progress(1, step);
      progress(2, step);
    }
  }

  Effects part(int rank, std::int64_t step, const std::string& error = {}) {
    return send(rank, messages::CheckpointPart{.step = step, .error = error});
  }

  /// Reports that `rank` has written a part of its file of `step`.
  Effects writes(int rank, std::int64_t step) {
    return send(rank, messages::CheckpointPart{.step = step, .under_way = true});
  }

  /// Does all steps. The first checkpoint is committed, the last is being written.
  void train_to_the_last_save() {
    begin();
    step_to(0, 20);
    part(1, 10);
    part(2, 10);
    keep(core_.checkpoint_committed(10, now_));
  }

  /// Advances the clock as clock() does, but past any effect.
  void wait(std::chrono::seconds later) {
    for (const TimePoint end = now_ + later; now_ < end && !core_.ended();) {
      clock(std::chrono::duration_cast<std::chrono::milliseconds>(end - now_));
    }
  }

  Effects picture() { return send(1, messages::Picture{.file = "fakes000001.png"}); }

  Effects stop(int rank, ExitCode code, const std::string& reason, int accused = 0) {
    return send(
        rank, messages::Stop{
                  .exit_code = static_cast<int>(code), .reason = reason, .accused = Rank(accused)});
  }

  void goodbye(int rank) { send(rank, messages::Goodbye{}); }

  void goodbyes() {
    goodbye(1);
    goodbye(2);
  }

  /// Advances the clock in the event loop's beats, up to the first effect.
  Effects clock(std::chrono::milliseconds later) {
    constexpr std::chrono::milliseconds kBeat{500};
    Effects effects;
    for (; later > kBeat; later -= kBeat) {
      now_ += kBeat;
      effects = without_late(keep(core_.on_clock(now_)));
      if (!effects.empty()) {
        return effects;
      }
    }
    now_ += later;
    return without_late(keep(core_.on_clock(now_)));
  }

  /// Drops the notes on late workers and the lines of a slow start: tests look for them in seen().
  static Effects without_late(Effects effects) {
    std::erase_if(effects, [](const Effect& effect) {
      const auto* say = std::get_if<Say>(&effect);
      return say != nullptr &&
             (say->line.starts_with("note   no step") || say->line.starts_with("wait   "));
    });
    return effects;
  }

  Effects stall(std::chrono::milliseconds duration) {
    now_ += duration;
    return without_late(keep(core_.on_clock(now_)));
  }

  Effects keep(Effects effects) {
    all_.insert(all_.end(), effects.begin(), effects.end());
    return effects;
  }

  template <typename What>
  std::vector<What> seen() const {
    std::vector<What> found;
    for (const Effect& effect : all_) {
      if (const auto* what = std::get_if<What>(&effect)) {
        found.push_back(*what);
      }
    }
    return found;
  }

  /// Returns the messages of this kind to `rank`.
  template <typename Message>
  std::vector<Message> sent(int rank) const {
    std::vector<Message> found;
    for (const SendMessage& send : seen<SendMessage>()) {
      if (const auto* message = std::get_if<Message>(&send.message);
          message != nullptr && std::ranges::count(send.ranks, Rank(rank)) > 0) {
        found.push_back(*message);
      }
    }
    return found;
  }

  RunEnd run_end() const {
    const auto ends = seen<EndJob>();
    EXPECT_EQ(ends.size(), 1U);
    return ends.empty() ? RunEnd{} : ends.front().end;
  }

  TimePoint now_{};
  RunCore core_;
  Effects all_;
};

}  // namespace gangway::coordinator
