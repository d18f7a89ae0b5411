// SPDX-License-Identifier: MIT
// The event loop's handling of checkpoint scores: starts the scorer, shows scores, and passes them
// to RunCore, which may decide by them.
#include <chrono>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "coordinator/io/event_loop.hpp"

namespace gangway::coordinator {
namespace {

/// Returns the score's value; lower is better.
std::optional<double> score_value(const ScoreResult& result) {
  if (!result.score) {
    return std::nullopt;
  }
  const bool is_lower_better = result.score->better == checkpoint::Better::kLower;
  return is_lower_better ? result.score->value : -result.score->value;
}

}  // namespace

void EventLoop::score(std::int64_t step) {
  if (!parts_.recorder.scores(step)) {
    return;
  }
  if (const auto passed_over = parts_.scorer.want(step)) {
    parts_.recorder.say(fmt::format(
        "note   the checkpoint of step {} is not scored: checkpoints come faster than scores",
        *passed_over));
    carry_out(core_.scored({.step = *passed_over, .value = {}}));
  }
}

void EventLoop::carry_out(const ScoreCheckpoint& checkpoint) { score(checkpoint.step); }

void EventLoop::poll_scorer() {
  const auto ended = parts_.scorer.poll(std::chrono::steady_clock::now());
  if (!ended) {
    return;
  }
  if (!ended->error.empty()) {
    parts_.recorder.say(fmt::format("warn  the checkpoint of step {} has got no score: {}",
                                    ended->step, ended->error));
    carry_out(core_.scored({.step = ended->step, .value = {}}));
    return;
  }
  ++scores_to_show_;
  disk_.submit([this, work = parts_.recorder.score_work(
                          ended->step, parts_.scorer.steps())]() -> DiskThread::Follow {
    return [this, step = work.step, result = coordinator::carry_out(work)] {
      --scores_to_show_;
      parts_.recorder.show_score(step, result);
      carry_out(core_.scored({.step = step,
                              .value = score_value(result),
                              .shown = result.score ? fmt::format("{} {:.6g}", result.score->metric,
                                                                  result.score->value)
                                                    : std::string()}));
    };
  });
}

bool EventLoop::has_last_score() const {
  return std::chrono::steady_clock::now() >= *scoring_ends_ ||
         (scores_to_show_ == 0 && !parts_.scorer.is_busy());
}

}  // namespace gangway::coordinator
