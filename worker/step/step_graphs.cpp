// SPDX-License-Identifier: MIT
#include "worker/step/step_graphs.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <exception>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "job/estimate/device_estimate.hpp"
#include "job/families/families.hpp"
#include "job/layout/layout.hpp"
#include "worker/trace/step_clock.hpp"

namespace gangway::worker {

using pipeline::Instruction;
using pipeline::Operation;

namespace {

/// First plain steps of a list, in which libraries choose kernels and take memory.
constexpr int kPlainSteps = 2;
/// Most recorded lists of instructions; lazy penalties make a few. Others run as plain steps.
constexpr std::size_t kMostLists = 8;
/// Kernels with an undefined order of sums differ in the last bits of 16-bit numbers; work that is
/// missing from a graph leaves NaNs.
constexpr double kToleranceOfInexactSteps = 0.1;

/// Returns the kArm of the exchange that begins in `stretch`; null: none does.
const Instruction* arm_of(const std::vector<Instruction>& stretch) {
  const auto arm = std::ranges::find(stretch, Operation::kArm, &Instruction::operation);
  return arm == stretch.end() ? nullptr : &*arm;
}

/// Adds the networks whose gradients `stretch` adds up.
void add_summed_in(const std::vector<Instruction>& stretch, std::set<NetworkId>& networks) {
  for (const Instruction& instruction : stretch) {
    if (instruction.operation == Operation::kOpenLeaf) {
      networks.insert(instruction.network);
    }
  }
}

}  // namespace

StepGraphs::StepGraphs(StepGraphsSetup setup)
    : setup_(std::move(setup)),
      branches_(setup_.execution.cuda_graph == GraphChoice::kBranches && !has_own_step()
                    ? std::min(kMostBranches, setup_.local.size())
                    : 1),
      overlaps_(setup_.execution.cuda_graph == GraphChoice::kOverlap && !has_own_step()) {
  if (branches_ > 1) {
    setup_.operations.prepare_beside(static_cast<std::size_t>(branches_));
  }
}

bool agree(const at::Tensor& plain, const at::Tensor& replayed, double tolerance) {
  if (tolerance == 0.0) {
    // As integers: compares bits, and NaNs compare equal to themselves.
    return plain.view(at::kInt).equal(replayed.view(at::kInt));
  }
  const auto norm = [](const at::Tensor& values) { return values.norm().item<double>(); };
  return norm(replayed - plain) <= tolerance * norm(plain);
}

void StepGraphs::run(const std::vector<Instruction>& schedule, pipeline::Operations& marked) {
  Known* const known = is_off_ ? nullptr : known_as(schedule);
  if (known != nullptr && known->is_proven && !is_proven_anew()) {
    return replay(*known, marked);
  }
  if (known != nullptr && known->is_recorded) {
    return prove(*known, marked);
  }
  if (known != nullptr && known->num_performed++ >= kPlainSteps) {
    record(*known);
  }
  pipeline::execute(schedule, marked);
}

StepGraphs::Known* StepGraphs::known_as(const std::vector<Instruction>& schedule) {
  const auto found = std::ranges::find(known_, schedule, &Known::schedule);
  if (found != known_.end()) {
    return &*found;
  }
  if (known_.size() == kMostLists) {
    return nullptr;
  }
  return &known_.emplace_back(Known{.schedule = schedule});
}

void StepGraphs::seed_call(const Stretch& stretch) const {
  if (has_own_step() && stretch.front().operation == Operation::kForward) {
    setup_.operations.pass().seed_call(stretch.front());
  }
}

void StepGraphs::record(Known& known) {
  known.lowered = pipeline::recorded(
      known.schedule, overlaps_ ? pipeline::Armed::kAlone : pipeline::Armed::kNone,
      has_own_step() ? pipeline::Stretches::kByCall : pipeline::Stretches::kLong);
  const std::vector<Stretch>& stretches = known.lowered.stretches;
  known.recordings.assign(stretches.size(), {});
  StepOperations& operations = setup_.operations;
  operations.finish_exchanges();  // a recording may write gradients
  setup_.reals.prepare(operations.step());
  try {
    for (std::size_t i = 0; i < stretches.size(); ++i) {
      seed_call(stretches[i]);
      known.recordings[i].graph = setup_.recorder->record(
          [this, &stretch = stretches[i], &into = known.recordings[i]] { compute(stretch, into); });
    }
    known.losses = std::exchange(operations.losses(), no_losses());
    known.is_recorded = true;
  } catch (const CommError&) {
    throw;  // caused by a peer, not by the recording
  } catch (const std::exception& error) {
    give_up(error.what());
  }
  operations.pass().restart_step();
  for (std::size_t network = 0; network < setup_.job.networks.size(); ++network) {
    if (auto* recorded = operations.exchange(static_cast<NetworkId>(network)).recorded()) {
      recorded->restart_leaves();
    }
  }
  operations.losses() = no_losses();
}

std::vector<std::size_t> StepGraphs::compute(const Stretch& stretch,
                                             pipeline::Operations& operations) {
  for (const Instruction& instruction : stretch) {
    if (instruction.operation == Operation::kArm) {
      setup_.operations.settle_statistics(instruction);
      exchange(instruction).rehearse();
    } else {
      operations.perform(instruction);
    }
  }
  const Instruction* const arm = arm_of(stretch);
  return arm == nullptr ? std::vector<std::size_t>() : exchange(*arm).rehearsed();
}

void StepGraphs::compute(const Stretch& stretch, Recording& recording) {
  if (branches_ > 1) {
    return compute_side_by_side(stretch);
  }
  recording.buckets = compute(stretch, setup_.operations);
}

void StepGraphs::compute_side_by_side(const Stretch& stretch) {
  StepOperations& operations = setup_.operations;
  std::map<int, Stretch> by_microbatch;
  for (const Instruction& instruction : stretch) {
    by_microbatch[instruction.microbatch - setup_.local.begin].push_back(instruction);
  }
  for (auto next = by_microbatch.begin(); next != by_microbatch.end();) {
    // Indexed by place: a micro-batch finds the results of one stretch in the next on the same
    // branch.
    std::vector<std::function<void()>> bodies(static_cast<std::size_t>(branches_));
    std::vector<std::pair<Instruction, std::size_t>> closed;
    for (const int wave = next->first / branches_;
         next != by_microbatch.end() && next->first / branches_ == wave; ++next) {
      const auto place = static_cast<std::size_t>(next->first % branches_);
      bodies[place] = [&operations, &list = next->second, place] {
        for (const Instruction& instruction : list) {
          operations.perform_beside(instruction, place);
        }
      };
      for (const Instruction& instruction : next->second) {
        if (instruction.operation == Operation::kCloseLeaf) {
          closed.emplace_back(instruction, place);
        }
      }
    }
    setup_.recorder->side_by_side(bodies);
    for (const auto& [instruction, place] : closed) {
      operations.take_in(instruction, place);
    }
  }
}

void StepGraphs::prove(Known& known, pipeline::Operations& marked) {
  setup_.reals.prepare(setup_.operations.step());
  setup_.recorder->begin_step(setup_.operations.pass().seed(), setup_.operations.step());
  known.is_proven = true;
  const std::span<const Instruction> list(known.lowered.list);
  std::size_t begin = 0;  // first instruction not compared yet
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (known.is_proven && list[i].operation == Operation::kReduce && begin < i) {
      if (!leave_the_same(known, list.subspan(begin, i - begin))) {
        if (known.was_played) {
          end_training();
        }
        give_up("a recorded step computes other gradients than a plain step");
      }
      begin = i;
    }
    if (list[i].operation == Operation::kPlay) {
      (void)compute(known.lowered.stretches[static_cast<std::size_t>(list[i].stretch)], marked);
    } else {
      marked.perform(list[i]);
    }
  }
}

bool StepGraphs::leave_the_same(const Known& known, std::span<const Instruction> played) {
  StepOperations& operations = setup_.operations;
  std::vector<std::size_t> stretches;
  std::set<NetworkId> networks;
  for (const Instruction& at : played) {
    if (at.operation == Operation::kPlay) {
      stretches.push_back(static_cast<std::size_t>(at.stretch));
      add_summed_in(known.lowered.stretches[stretches.back()], networks);
    }
  }
  std::vector<at::Tensor> sums;
  std::vector<at::Tensor> plain;
  for (const NetworkId network : networks) {
    sums.push_back(operations.exchange(network).recorded()->gradient_sums());
    plain.push_back(sums.back().clone());
    sums.back().fill_(std::numeric_limits<float>::quiet_NaN());  // so that old values cannot match
  }
  StepLosses losses = std::exchange(operations.losses(), no_losses());
  bool are_equal = true;
  for (const std::size_t stretch : stretches) {
    const auto replay = [&] { replay_graph(known, stretch); };
    if (const Instruction* const arm = arm_of(known.lowered.stretches[stretch])) {
      are_equal = exchange(*arm).completes(known.recordings[stretch].buckets, replay) && are_equal;
    } else {
      replay();
    }
  }
  operations.losses() = std::move(losses);
  const double tolerance =
      setup_.job.numerics.kernels == KernelChoice::kFastest ? kToleranceOfInexactSteps : 0.0;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    are_equal = are_equal && agree(plain[i], sums[i], tolerance);
  }
  for (std::size_t i = 0; !are_equal && i < sums.size(); ++i) {
    sums[i].copy_(plain[i]);
  }
  return are_equal;
}

bool StepGraphs::is_proven_anew() const {
  // Often at first, then rarely: a plain step takes as long as ten replayed ones.
  constexpr std::int64_t kSeldom = 16;
  const std::int64_t every = setup_.execution.check_steps;
  const std::int64_t step = setup_.operations.step();
  return (has_own_step() || branches_ > 1 || overlaps_) && every > 0 && step % every == 0 &&
         (step / every % kSeldom == 0 ||
          std::has_single_bit(static_cast<std::uint64_t>(step / every)));
}

void StepGraphs::end_training() const {
  if (!has_own_step()) {
    throw InvariantError(
        fmt::format("step {} or an earlier step, as recorded, computes other gradients than a "
                    "plain step; please report this, and begin anew with numerics.cuda_graph=on",
                    setup_.operations.step()));
  }
  throw ConfigError(
      fmt::format("training.step: step {} as it was recorded leaves other gradients than its "
                  "phases do now: they depend on numbers of the host, which a recording repeats; "
                  "remove capture or set numerics.cuda_graph=off, and begin anew",
                  setup_.operations.step()));
}

void StepGraphs::replay_graph(const Known& known, std::size_t stretch) {
  seed_call(known.lowered.stretches[stretch]);
  setup_.recorder->replay(known.recordings[stretch].graph);
}

void StepGraphs::perform(const Instruction& instruction) {
  StepOperations& operations = setup_.operations;
  if (instruction.operation != Operation::kPlay) {
    return operations.perform(instruction);
  }
  const auto stretch = static_cast<std::size_t>(instruction.stretch);
  const Instruction* const arm = arm_of(played_->lowered.stretches[stretch]);
  if (arm != nullptr) {
    const PartScope scope = in_part(*arm);
    operations.open_exchange(*arm);
  }
  replay_graph(*played_, stretch);
  if (arm != nullptr) {
    exchange(*arm).send_replayed(played_->recordings[stretch].buckets);
  }
}

void StepGraphs::replay(Known& known, pipeline::Operations& marked) {
  StepOperations& operations = setup_.operations;
  if (!std::exchange(known.was_played, true)) {  // plain steps' memory is as large again
    operations.finish_exchanges();
    setup_.recorder->give_back();
  }
  setup_.reals.prepare(operations.step());
  setup_.recorder->begin_step(operations.pass().seed(), operations.step());
  played_ = &known;
  pipeline::execute(known.lowered.list, marked);
  if (operations.losses().is_empty()) {  // a plain step adds its own
    operations.losses() = known.losses.again();
  }
}

void StepGraphs::give_up(const std::string& why) {
  const char* what = "steps are not recorded";
  const char* instead = "launches are plain";
  if (branches_ > 1) {
    what = "micro-batches are not computed at once";
    instead = "a recorded step computes them in sequence";
  } else if (overlaps_) {
    what = "gradients are not sent while a graph runs";
    instead = "they are sent when it ends";
  } else {
    is_off_ = true;
  }
  branches_ = 1;
  overlaps_ = false;
  for (Known& known : known_) {
    known.is_recorded = known.is_proven = known.was_played = false;
  }
  setup_.recorder->forget_all();
  if (setup_.say) {
    setup_.say(fmt::format("numerics.cuda_graph: {} ({}); {}, with the same bits", what,
                           why.substr(0, why.find('\n')), instead));
  }
}

}  // namespace gangway::worker
