// SPDX-License-Identifier: MIT
#include "launch/plan/step_program.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "launch/plan/made_again.hpp"
#include "pipeline/schedule.hpp"

namespace gangway::launch {
namespace {

using pipeline::Instruction;
using pipeline::Operation;

/// As many micro-batches as have schedules of their own: the first one, the last one, and those
/// between, which are all alike.
constexpr int kDistinctMicrobatches = 3;

auto kind_of_instruction(const Instruction& at) {
  return std::tuple(at.operation, at.network, at.phase, at.pass, at.node);
}

}  // namespace

StepCosts::StepCosts(const Profile& profile, const std::vector<pipeline::Phase>& phases,
                     const JobSpec& job)
    : profile_(profile), phases_(phases), names_(job.network_names()) {
  for (pipeline::Phase phase : phases_) {
    const double share = 1.0 / phase.interval;
    for (const Instruction& at : pipeline::one_stage_schedule({phase}, {0, 1}, 0, Overlap::kNone)) {
      const double seconds = profile.cost_of(at, names_).seconds;
      seconds_.emplace_back(at, seconds);
      if (at.operation != Operation::kReduce) {
        microbatch_seconds_ += seconds * share;
      }
    }
  }
  const auto by_kind = [](const auto& one) { return kind_of_instruction(one.first); };
  std::ranges::sort(seconds_, {}, by_kind);
  for (const NetworkId id : names_.ids()) {
    ready_share_.add(ready_shares(profile, profile.network(names_[id])));
  }
}

double StepCosts::seconds_of(const Instruction& at) const {
  const auto by_kind = [](const auto& one) { return kind_of_instruction(one.first); };
  const auto found = std::ranges::lower_bound(seconds_, kind_of_instruction(at), {}, by_kind);
  return found == seconds_.end() || kind_of_instruction(found->first) != kind_of_instruction(at)
             ? 0.0
             : found->second;
}

double StepCosts::again_seconds(const Instruction& at) const {
  if (at.operation != Operation::kBackward || !is_made_again(phases_, at.phase, at.pass, at.node)) {
    return 0.0;
  }
  Instruction forward = at;
  forward.operation = Operation::kForward;
  return seconds_of(forward);
}

std::vector<double> StepCosts::ready_after(NetworkId network, double seconds) const {
  std::vector<double> after;
  for (const double share : ready_share_[network]) {
    after.push_back(share * seconds);
  }
  return after;
}

std::vector<int> StepCosts::lazy_phases() const {
  std::vector<int> lazy;
  for (const pipeline::Phase& phase : phases_) {
    if (phase.interval > 1) {
      lazy.push_back(phase.index);
    }
  }
  return lazy;
}

bool StepCosts::agrees() const {
  return std::ranges::any_of(phases_, [](const pipeline::Phase& phase) { return phase.agrees; });
}

double StepCosts::updates_in_step(NetworkId network) const {
  double updates = 0.0;
  for (const pipeline::Phase& phase : phases_) {
    if (pipeline::trains(phase, network)) {
      updates += static_cast<double>(phase.repeats) / phase.interval;
    }
  }
  return updates;
}

std::vector<ProgramPart> StepCosts::program(const ProgramOptions& options) const {
  std::vector<pipeline::Phase> chosen;
  for (pipeline::Phase phase : phases_) {
    if (phase.interval == 1 || phase.index == options.lazy) {
      phase.interval = 1;
      chosen.push_back(std::move(phase));
    }
  }
  const int listed = std::min(options.local_microbatches, kDistinctMicrobatches);
  std::vector<Instruction> list =
      pipeline::one_stage_schedule(chosen, {0, listed}, 0, options.overlap);
  // As many times as one of those between the first and the last stands for.
  const double repeated = options.local_microbatches - listed + 1;
  std::vector<ProgramPart> parts;
  const auto compute = [&](double seconds) {
    if (parts.empty() || parts.back().kind != ProgramPart::Kind::kCompute) {
      parts.push_back({});
    }
    parts.back().seconds += seconds;
  };
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Instruction& at = list[i];
    const double times = listed == kDistinctMicrobatches && at.microbatch == 1 ? repeated : 1.0;
    switch (at.operation) {
      case Operation::kArm: {
        const Instruction& last = list[++i];
        if (options.recompute) {
          compute(again_seconds(last));
        }
        const double seconds = seconds_of(last);
        parts.push_back({.kind = ProgramPart::Kind::kBuckets,
                         .network = at.network,
                         .seconds = seconds,
                         .ready_after = ready_after(at.network, seconds)});
        break;
      }
      case Operation::kReduce:
        parts.push_back({.kind = ProgramPart::Kind::kExchange, .network = at.network});
        break;
      case Operation::kAwait:
        parts.push_back({.kind = ProgramPart::Kind::kAwait, .network = at.network});
        break;
      case Operation::kCloseLeaf: {
        const auto arena = static_cast<double>(profile_.network(names_[at.network]).arena_elements *
                                               sizeof(float));
        const double merges = at.microbatch == 0 ? options.early_merges : 0.0;
        compute(times * seconds_of(at) + merges * arena * profile_.add_seconds_per_byte);
        break;
      }
      default:
        compute(times * (seconds_of(at) + (options.recompute ? again_seconds(at) : 0.0)));
    }
  }
  return parts;
}

}  // namespace gangway::launch
