// SPDX-License-Identifier: MIT
// RunCore's answer to failed workers, training trouble and scores: warns, ends the job, or
// decides. A decision is on the disk before it takes effect.
#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "coordinator/core/run_core.hpp"

namespace gangway::coordinator {

Effects RunCore::take(const messages::Stop& stop, const Arrival& arrival) {
  const Rank rank = arrival.rank;
  const auto code = static_cast<ExitCode>(stop.exit_code);
  if (code == ExitCode::kDiverged) {
    const std::int64_t step = stop.step > 0 ? stop.step : generation_.ticks().steps_done() + 1;
    generation_.membership().leave(rank);  // it leaves by itself: not a loss
    return hold_back(
        {.step = step, .what = fmt::format("{}: {}", membership().describe(rank), stop.reason)},
        rank, arrival.now);
  }
  if (code != ExitCode::kWorkerLost) {
    return end({code, rank, fmt::format("{}: {}", membership().describe(rank), stop.reason)});
  }
  // A complaint about a silent peer may arrive before the news of that peer's death, which is the
  // root cause.
  generation_.membership().leave(rank);
  generation_.complain(rank, stop, arrival.now);
  return {};
}

void RunCore::recall_at(std::int64_t step) {
  watch_history_.begin_at(step);
  if (const auto seen = watch_history_.at(step)) {
    troubles_.go_on_from(*seen);
  }
}

Effects RunCore::keep_watch() {
  const std::int64_t step = generation_.ticks().steps_done();
  if (!remembered_steps_.contains(step)) {
    return {};
  }
  remembered_steps_.erase(remembered_steps_.begin(), remembered_steps_.upper_bound(step));
  if (!troubles_.remembers()) {
    return {};
  }
  watch_history_.keep(step, troubles_.seen());
  return {KeepWatch{watch_history_.text()}};
}

Effects RunCore::balance(TimePoint now, double unix_seconds) {
  const auto left = generation_.until_end();
  if (leave_ || settings_.pause || !left) {
    return {};
  }
  BalanceTick tick{.unix_seconds = unix_seconds, .work_seconds = {}};
  for (const auto& [rank, means] : generation_.ticks().last_means()) {
    tick.work_seconds.push_back(means.work_seconds);
  }
  const auto advice = balancer_.look(tick, left->count());
  if (!advice) {
    return {};
  }
  const std::string why = fmt::format("rank {} is {:.1f} times as slow as the others",
                                      rank_of(advice->slowest), advice->slowness);
  if (advice->shares.empty()) {
    return {Say{fmt::format(
        "note   {}: with training.microbatches of at least 2 per worker its work could go to the "
        "others",
        why)}};
  }
  const std::string shares = fmt::format("[{}]", fmt::join(advice->shares, ", "));
  if (!settings_.is_supervised) {
    return {Say{fmt::format("note   {}: with layout.shares={} a step takes 1/{:.1f} of its time",
                            why, shares, advice->gain)}};
  }
  const std::int64_t step = generation_.leases().granted_end();
  SteeringEvent event{.unix_seconds = unix_seconds,
                      .step = step,
                      .start = welcome().incarnation,
                      .command = std::string(kBalance),
                      .who = "gangway",
                      .arguments = {{"shares", shares}},
                      .answer = fmt::format("saves step {}, and goes on with layout.shares {}: {}",
                                            step, shares, why)};
  Effects effects{Say{fmt::format("balance  {}", event.answer)}, RecordSteering{std::move(event)}};
  append(effects,
         leave_for({.workers = generation_.settings().num_workers, .shares = advice->shares}, now));
  return effects;
}

Effects RunCore::look_for_trouble(const std::optional<report::Tick>& tick, TimePoint now) {
  const bool is_news = generation_.ticks().steps_done() > looked_at_;
  Effects effects = troubles_of(tick, now);
  if (is_news && !is_over() && !held_back_) {
    append(effects, keep_watch());
  }
  return effects;
}

Effects RunCore::troubles_of(const std::optional<report::Tick>& tick, TimePoint now) {
  if (generation_.ticks().steps_done() > looked_at_) {
    looked_at_ = generation_.ticks().steps_done();
    const auto by_loss = troubles_.step(looked_at_, generation_.ticks().last_losses());
    const auto by_figures = troubles_.step_figures(looked_at_, generation_.ticks().last_figures());
    if (by_loss || by_figures) {
      return hold_back(by_loss ? *by_loss : *by_figures, /*rank=*/{}, now);
    }
  }
  if (!tick) {
    return {};
  }
  std::vector<double> losses;
  for (const report::NetworkLoss& one : tick->losses) {
    losses.push_back(one.loss);
  }
  const auto saturation = troubles_.tick(tick->step, losses);
  if (!saturation) {
    return {};
  }
  return settings_.divergence.saturation_is_trouble ? hold_back(*saturation, /*rank=*/{}, now)
                                                    : Effects{Say{"warn  " + saturation->what}};
}

Effects RunCore::hold_back(Trouble trouble, Rank rank, TimePoint now) {
  if (!held_back_ || trouble.step < held_back_->trouble.step) {
    const TimePoint since = held_back_ ? held_back_->since : now;
    held_back_ = {.trouble = std::move(trouble), .rank = rank, .since = since};
  }
  return decide_now(now);
}

Effects RunCore::scored(const ScoreFound& score) {
  // A leave's signal may also have killed the scorer; the checkpoint itself may be fine.
  if (is_over() || (leave_ && !score.value)) {
    return {};
  }
  Decisions news = scores_.found(settings_.decisions, score, welcome().incarnation);
  if (news.empty()) {
    return {};
  }
  std::ranges::move(news, std::back_inserter(settings_.decisions));
  return record();
}

Effects RunCore::record() {
  records_.num_under_way += 1;
  return {RecordDecisions{settings_.decisions}};
}

Effects RunCore::recorded(TimePoint now) {
  // Records are written in order, and each holds all decisions.
  records_.num_under_way -= 1;
  if (ended_ || records_.num_under_way > 0) {
    return {};
  }
  if (records_.end) {
    return end_with(*std::move(records_.end));
  }
  Effects effects;
  for (; records_.num_done < settings_.decisions.size(); ++records_.num_done) {
    const Decision& decision = settings_.decisions[records_.num_done];
    if (decision.kind == DecisionKind::kPlateau) {
      records_.unsent.push_back(decision.change);
      effects.emplace_back(
          Say{fmt::format("note   from step {} on, learning rates times {}: {}",
                          decision.change.step, decision.change.lr_factor, decision.why)});
    } else if (decision.kind == DecisionKind::kEarlyStop) {
      generation_.end_at(decision.change.step);
      effects.emplace_back(
          Say{fmt::format("note   ends at step {}: {}", decision.change.step, decision.why)});
    }
  }
  if (const auto step = scores_.unscored(settings_.decisions, generation_.begin_step())) {
    effects.emplace_back(ScoreCheckpoint{*step});
  }
  generation_.leases().hold_at(scores_.gate(settings_.decisions, generation_.begin_step()));
  append(effects, grant(now));
  return effects;
}

Effects RunCore::unrecorded(const std::string& reason) {
  return ended_ ? Effects{} : end({ExitCode::kEnvironment, Rank(), reason});
}

}  // namespace gangway::coordinator
