// SPDX-License-Identifier: MIT
#include "plan/stages/predict_stages.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>

#include "job/rules/rules.hpp"
#include "plan/stages/cut_search.hpp"
#include "plan/stages/held_bytes.hpp"
#include "plan/stages/shown_layout.hpp"

namespace gangway::plan {
namespace {

constexpr std::array kStages{2, 3, 4, 6, 8};
/// Maximum workers of a layout with unequal rows: the simulation needs all of them.
constexpr int kMostShown = 16;
/// Maximum of simulated micro-batches. Each further one takes as long as one of the last third.
constexpr int kFewMicrobatches = 24;

/// A simulated step of the shown part.
struct Simulated {
  double seconds = 0.0;
  StepParts parts;
  double sent_bytes = 0.0;
  std::vector<std::int64_t> held_bytes;  ///< by shown worker
};

/// Extrapolates linearly: `share` 0 gives `low`, 1 gives `high`.
double carried_on(double low, double high, double share) { return low + (high - low) * share; }

Simulated carried_on(const Simulated& low, const Simulated& high, double share) {
  Simulated result = high;
  result.seconds = carried_on(low.seconds, high.seconds, share);
  for (const auto& [name, part] : kStepParts) {
    result.parts.*part = carried_on(low.parts.*part, high.parts.*part, share);
  }
  result.sent_bytes = carried_on(low.sent_bytes, high.sent_bytes, share);
  for (std::size_t i = 0; i < result.held_bytes.size(); ++i) {
    result.held_bytes[i] = static_cast<std::int64_t>(carried_on(
        static_cast<double>(low.held_bytes[i]), static_cast<double>(high.held_bytes[i]), share));
  }
  return result;
}

Simulated simulated(const ShownLayout& shown, const BlockCosts& costs) {
  const BlockCosts::Table table = costs.table(shown.staged());
  const StepLists lists = step_lists(shown.staged());
  const Simulation::Stretch step = mean_step(shown.setup(table), lists);
  Simulated result{.seconds = step.seconds,
                   .parts = step.parts,
                   .sent_bytes = shown.sent_bytes(lists.usual, table),
                   .held_bytes = {}};
  for (std::size_t worker = 0; worker < lists.usual.size(); ++worker) {
    std::int64_t& held = result.held_bytes.emplace_back();
    held = most_held_bytes(lists.usual[worker], table);
    for (const StepLists::Lazy& lazy : lists.lazy) {
      held = std::max(held, most_held_bytes(lazy.lists[worker], table));
    }
  }
  return result;
}

}  // namespace

StagePlanner::StagePlanner(const PlanInput& input) : input_(input), costs_(input.costs.blocks()) {
  JobSpec one = input.job;
  one.training.microbatches = 1;
  one.training.batch = static_cast<int>(input.job.images_per_microbatch());
  const StagedJob alone = staged_job(one, input.costs.phases(), whole_candidate(one, 1));
  const BlockCosts::Table table = costs_.table(alone);
  const StepLists lists = step_lists(alone);
  std::int64_t kept = most_held_bytes(lists.usual.front(), table);
  for (const StepLists::Lazy& lazy : lists.lazy) {
    kept = std::max(kept, most_held_bytes(lazy.lists.front(), table));
  }
  transient_bytes_ = std::max<std::int64_t>(0, input.profile.memory.working_bytes - kept);
}

double StagePlanner::seconds_of(NetworkId network) const {
  double seconds = 0.0;
  for (const BlockLoad& load : costs_.loads(network)) {
    seconds += load.seconds;
  }
  return seconds;
}

Candidate StagePlanner::unplaced(int workers) const {
  Candidate candidate =
      whole_candidate(input_.job, workers, Overlap::kAcross, input_.job.layout.transport);
  candidate.choice.placement = StagePlacement::kLoop;
  candidate.choice.schedule = StageOrder::kFill;
  candidate.choice.in_flight = 0;
  return candidate;
}

std::optional<Candidate> StagePlanner::apart_candidate(int workers) const {
  const auto networks = static_cast<int>(input_.job.networks.size());
  const int microbatches = input_.job.training.microbatches;
  if (networks < 2 || workers < networks || workers > networks * microbatches) {
    return std::nullopt;
  }
  std::vector<int> groups(static_cast<std::size_t>(networks), 1);
  const auto dearness = [&](NetworkId id) {
    const int members = groups[static_cast<std::size_t>(id)];
    return members < microbatches ? seconds_of(id) / members : -1.0;
  };
  const std::vector<NetworkId> ids = input_.job.networks.ids();
  for (int left = workers - networks; left > 0; --left) {
    ++groups[static_cast<std::size_t>(*std::ranges::max_element(ids, {}, dearness))];
  }
  Candidate candidate = unplaced(workers);
  int first = 0;
  for (const NetworkId id : ids) {
    std::vector<int>& own = candidate.choice.networks[id].workers;
    own.resize(static_cast<std::size_t>(groups[static_cast<std::size_t>(id)]));
    std::iota(own.begin(), own.end(), first);
    first += static_cast<int>(own.size());
  }
  return candidate;
}

Candidate StagePlanner::cut_candidate(int workers, int stages,
                                      const std::vector<NetworkId>& networks,
                                      StagePlacement placement, bool is_per_network) const {
  const int on_first =
      input_.cluster.nodes[static_cast<std::size_t>(nodes_by_speed(input_.cluster).front())]
          .num_devices();
  const Link& link = workers > on_first ? input_.cluster.between : input_.cluster.inside;
  const std::vector<std::vector<int>> cuts =
      cuts_by(costs_, {.networks = networks,
                       .stages = stages,
                       .placement = placement,
                       .is_per_network = is_per_network,
                       .seconds_per_byte = 1.0 / link.bytes_per_second});
  Candidate candidate = unplaced(workers);
  candidate.choice.stages = stages;
  candidate.choice.placement = placement;
  for (NetworkPlacement& network : candidate.choice.networks) {
    network.cuts.emplace();
  }
  for (std::size_t i = 0; i < networks.size(); ++i) {
    candidate.choice.networks[networks[i]].cuts = cuts[i];
  }
  return candidate;
}

Candidate StagePlanner::with_least_memory(Candidate candidate) const {
  if (!candidate.has_stages()) {
    return candidate;
  }
  std::vector<NetworkId> networks;
  for (const NetworkId id : input_.job.networks.ids()) {
    if (candidate.choice.wants_cut(id)) {
      networks.push_back(id);
    }
  }
  const int rows = candidate.rows();
  const auto cuts =
      cuts_by(costs_, {.networks = networks,
                       .stages = candidate.choice.stages,
                       .placement = candidate.choice.placement,
                       .goal = CutGoal::kMemory,
                       .microbatches = (input_.job.training.microbatches + rows - 1) / rows});
  for (std::size_t i = 0; i < networks.size(); ++i) {
    candidate.choice.networks[networks[i]].cuts = cuts[i];
  }
  return candidate;
}

std::vector<Candidate> StagePlanner::with_other_schedules(const Candidate& candidate) {
  std::vector<Candidate> others;
  for (const StageOrder order : {StageOrder::kFill, StageOrder::kByPhase,
                                 StageOrder::kOneForwardOneBackward, StageOrder::kZeroBubble}) {
    if (candidate.has_stages() && order != candidate.choice.schedule) {
      others.push_back(candidate);
      others.back().choice.schedule = order;
      others.back().choice.in_flight = 0;
    }
  }
  return others;
}

std::vector<Candidate> StagePlanner::with_less_in_flight(const Candidate& candidate) {
  std::vector<Candidate> fewer;
  for (int most = 2 * candidate.choice.stages; candidate.has_stages() && most > 0; most /= 2) {
    fewer.push_back(candidate);
    fewer.back().choice.schedule = StageOrder::kOneForwardOneBackward;
    fewer.back().choice.in_flight = most;
  }
  return fewer;
}

StagePlanner::Candidates StagePlanner::candidates(int workers) const {
  Candidates found;
  const auto offer = [&](Candidate candidate) {
    if (std::ranges::find(found.layouts, candidate) != found.layouts.end() ||
        !broken_rule(with_layout(input_.job, candidate)).empty()) {
      return;
    }
    if (ShownLayout::is_row(candidate) || workers <= kMostShown) {
      found.layouts.push_back(std::move(candidate));
    } else {
      ++found.left_out;
    }
  };
  if (std::optional<Candidate> apart = apart_candidate(workers)) {
    offer(*std::move(apart));
  }
  const int microbatches = input_.job.training.microbatches;
  std::vector<std::vector<NetworkId>> choices{input_.job.networks.ids()};
  for (const NetworkId id : input_.job.networks.ids()) {
    if (!input_.job.networks[id].is_frozen) {
      choices.push_back({id});
    }
  }
  for (const int stages : kStages) {
    if (workers % stages != 0 || workers / stages > microbatches) {
      continue;
    }
    for (const std::vector<NetworkId>& networks : choices) {
      const bool are_all = networks.size() == input_.job.networks.size();
      const bool have_blocks = std::ranges::all_of(
          networks, [&](NetworkId id) { return costs_.num_blocks(id) >= stages; });
      // All workers hold an uncut network, each with micro-batches of its own.
      if (have_blocks && (are_all || workers <= microbatches)) {
        offer(cut_candidate(workers, stages, networks, StagePlacement::kLoop, false));
        if (networks.size() > 1) {
          offer(cut_candidate(workers, stages, networks, StagePlacement::kLoop, true));
          offer(cut_candidate(workers, stages, networks, StagePlacement::kV, false));
        }
      }
    }
  }
  return found;
}

double StagePlanner::least_seconds(const Candidate& candidate) const {
  const int microbatches = input_.job.training.microbatches;
  double all = 0.0;
  double apart = 0.0;
  std::vector<double> stages(static_cast<std::size_t>(candidate.choice.stages), 0.0);
  for (const NetworkId id : input_.job.networks.ids()) {
    const NetworkPlacement& network = candidate.choice.networks[id];
    all += seconds_of(id);
    if (!network.workers.empty()) {
      const auto members = static_cast<int>(network.workers.size());
      apart = std::max(apart, seconds_of(id) * ((microbatches + members - 1) / members));
    } else if (candidate.choice.wants_cut(id)) {
      std::size_t chunk = 0;
      const bool is_turned = candidate.choice.placement == StagePlacement::kV && id != NetworkId{0};
      for (int block = 0; block < costs_.num_blocks(id); ++block) {
        chunk += chunk < network.cuts->size() && block == (*network.cuts)[chunk] ? 1 : 0;
        stages[is_turned ? stages.size() - 1 - chunk : chunk] +=
            costs_.loads(id)[static_cast<std::size_t>(block)].seconds;
      }
    }
  }
  const int rows = candidate.rows();
  const double busiest = *std::ranges::max_element(stages) * ((microbatches + rows - 1) / rows);
  return std::max({busiest, apart, all * microbatches / candidate.workers}) /
         input_.cluster.fastest_speed();
}

Prediction StagePlanner::predict(const Candidate& candidate) const {
  const int microbatches =
      ShownLayout::microbatches_of(candidate, input_.job.training.microbatches);
  const int others = ShownLayout::is_row(candidate) ? 1 : candidate.workers;
  const int unit = others * std::max(1, kFewMicrobatches / 3 / others);
  const bool is_long = microbatches > 3 * unit;
  const ShownLayout shown(input_, candidate, is_long ? 3 * unit : microbatches);
  Simulated step = simulated(shown, costs_);
  if (is_long) {
    const ShownLayout shorter(input_, candidate, 2 * unit);
    step = carried_on(simulated(shorter, costs_), step,
                      static_cast<double>(microbatches - 2 * unit) / unit);
  }
  Prediction prediction{.candidate = candidate, .step_seconds = step.seconds, .parts = step.parts};
  set_step_figures(input_, shown.all_places(), prediction);
  prediction.bytes_between_hosts =
      static_cast<std::int64_t>(step.sent_bytes + shown.exchanged_bytes());
  std::vector<DeviceNeed> needs;
  for (int worker = 0; worker < shown.staged().workers; ++worker) {
    const WorkerMemory memory{
        .process_bytes = input_.profile.memory.process_bytes + kWorkerProgramBytes,
        .arenas_bytes = shown.arenas_bytes(worker),
        .snapshots_bytes = shown.snapshots_bytes(worker),
        .working_bytes = transient_bytes_ + step.held_bytes[static_cast<std::size_t>(worker)],
        .other_bytes = input_.profile.memory.other_bytes +
                       kept_bytes(input_.job, input_.profile, microbatches)};
    needs.push_back(
        {memory,
         input_.cluster.nodes[static_cast<std::size_t>(shown.place(worker).node)].memory_bytes});
  }
  set_fullest(needs, prediction);
  return prediction;
}

}  // namespace gangway::plan
