// SPDX-License-Identifier: MIT
#include "worker/step/step_graphs.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <exception>
#include <limits>
#include <map>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "job/estimate/device_estimate.hpp"
#include "job/families/families.hpp"
#include "job/layout/layout.hpp"
#include "pipeline/unarmed.hpp"
#include "worker/trace/nvtx_range.hpp"
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

bool is_of_an_exchange(Operation operation) {
  return operation == Operation::kReduce || operation == Operation::kAwait;
}

}  // namespace

StepGraphs::StepGraphs(StepGraphsSetup setup)
    : setup_(std::move(setup)),
      branches_(setup_.execution.cuda_graph == GraphChoice::kBranches &&
                        setup_.operations.own_step() == nullptr
                    ? std::min(kMostBranches, setup_.local.size())
                    : 1),
      overlaps_(setup_.execution.cuda_graph == GraphChoice::kOverlap &&
                setup_.operations.own_step() == nullptr) {
  if (branches_ > 1) {
    setup_.operations.prepare_beside(static_cast<std::size_t>(branches_));
  }
}

std::set<NetworkId> StepGraphs::summed_in(std::span<const Part> parts) {
  std::set<NetworkId> networks;
  for (const Part& part : parts) {
    for (const Instruction& instruction : part.instructions) {
      if (instruction.operation == Operation::kOpenLeaf) {
        networks.insert(instruction.network);
      }
    }
  }
  return networks;
}

bool agree(const at::Tensor& plain, const at::Tensor& replayed, double tolerance) {
  if (tolerance == 0.0) {
    // As integers: compares bits, and NaNs compare equal to themselves.
    return plain.view(at::kInt).equal(replayed.view(at::kInt));
  }
  const auto norm = [](const at::Tensor& values) { return values.norm().item<double>(); };
  return norm(replayed - plain) <= tolerance * norm(plain);
}

void StepGraphs::perform(const std::vector<Instruction>& schedule, pipeline::Operations& marked) {
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

std::vector<StepGraphs::Part> StepGraphs::parts_of(const std::vector<Instruction>& schedule) const {
  std::vector<Part> parts;
  for (const Instruction& instruction :
       pipeline::unarmed(schedule, overlaps_ ? pipeline::Armed::kAlone : pipeline::Armed::kNone)) {
    const bool is_recorded = !is_of_an_exchange(instruction.operation);
    const bool is_call =
        instruction.operation == Operation::kForward && setup_.operations.own_step() != nullptr;
    if (parts.empty() || !is_recorded || is_call || !parts.back().is_recorded) {
      parts.push_back({.is_recorded = is_recorded, .is_call = is_call});
    }
    parts.back().instructions.push_back(instruction);
    if (instruction.operation == Operation::kArm) {
      parts.back().begun = Begun{.arm = instruction};
    }
  }
  return parts;
}

void StepGraphs::record(Known& known) {
  known.parts = parts_of(known.schedule);
  StepOperations& operations = setup_.operations;
  operations.finish_exchanges();  // a recording may write gradients
  operations.prepare_reals();
  try {
    for (Part& part : known.parts) {
      if (part.is_call) {
        operations.seed_call(part.instructions.front());
      }
      if (part.is_recorded) {
        part.graph = setup_.recorder.record([this, &part] { compute(part); });
      }
    }
    known.losses = operations.exchange_losses(operations.no_losses());
    known.is_recorded = true;
  } catch (const CommError&) {
    throw;  // caused by a peer, not by the recording
  } catch (const std::exception& error) {
    give_up(error.what());
  }
  operations.restart_step();
}

std::vector<std::size_t> StepGraphs::compute(const Part& part, pipeline::Operations& operations) {
  for (const Instruction& instruction : part.instructions) {
    if (instruction.operation == Operation::kArm) {
      setup_.operations.rehearse(instruction);
    } else {
      operations.perform(instruction);
    }
  }
  return part.begun ? setup_.operations.rehearsed(part.begun->arm) : std::vector<std::size_t>();
}

void StepGraphs::compute(Part& part) {
  StepOperations& operations = setup_.operations;
  if (branches_ <= 1) {
    std::vector<std::size_t> complete = compute(part, operations);
    if (part.begun) {
      part.begun->buckets = std::move(complete);
    }
    return;
  }
  std::map<int, std::vector<Instruction>> by_microbatch;
  for (const Instruction& instruction : part.instructions) {
    by_microbatch[instruction.microbatch - setup_.local.begin].push_back(instruction);
  }
  for (auto next = by_microbatch.begin(); next != by_microbatch.end();) {
    // Indexed by place: a micro-batch finds the results of one part in the next on the same branch.
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
    setup_.recorder.side_by_side(bodies);
    for (const auto& [instruction, place] : closed) {
      operations.take_in(instruction, place);
    }
  }
}

void StepGraphs::prove(Known& known, pipeline::Operations& marked) {
  StepOperations& operations = setup_.operations;
  operations.prepare_reals();
  setup_.recorder.begin_step(operations.seed(), operations.step());
  known.is_proven = true;
  std::size_t begin = 0;  // first part not compared yet
  for (std::size_t i = 0; i < known.parts.size(); ++i) {
    const Part& part = known.parts[i];
    if (known.is_proven && part.instructions.front().operation == Operation::kReduce && begin < i) {
      if (!leave_the_same(std::span(known.parts).subspan(begin, i - begin))) {
        if (known.was_played) {
          end_training();
        }
        give_up("a recorded step computes other gradients than a plain step");
      }
      begin = i;
    }
    (void)compute(part, marked);
  }
}

bool StepGraphs::leave_the_same(std::span<const Part> parts) {
  StepOperations& operations = setup_.operations;
  std::vector<at::Tensor> sums;
  for (const NetworkId network : summed_in(parts)) {
    sums.push_back(operations.gradient_sums(network));
  }
  std::vector<at::Tensor> plain;
  for (const at::Tensor& each : sums) {
    plain.push_back(each.clone());
    each.fill_(std::numeric_limits<float>::quiet_NaN());  // so that old values cannot match
  }
  StepLosses losses = operations.exchange_losses(operations.no_losses());
  bool are_equal = true;
  for (const Part& part : parts) {
    if (part.begun) {
      are_equal = operations.completes(part.begun->arm, part.begun->buckets, [this, &part] {
        replay(part);
      }) && are_equal;
    } else if (part.is_recorded) {
      replay(part);
    }
  }
  (void)operations.exchange_losses(std::move(losses));
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
  return (setup_.operations.own_step() != nullptr || branches_ > 1 || overlaps_) && every > 0 &&
         step % every == 0 &&
         (step / every % kSeldom == 0 ||
          std::has_single_bit(static_cast<std::uint64_t>(step / every)));
}

void StepGraphs::end_training() const {
  if (setup_.operations.own_step() == nullptr) {
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

void StepGraphs::replay(const Part& part) {
  if (part.is_call) {
    setup_.operations.seed_call(part.instructions.front());
  }
  setup_.recorder.replay(part.graph);
}

void StepGraphs::play_and_send(const Part& part) {
  if (part.begun) {
    const PartScope scope = in_part(part.begun->arm);
    setup_.operations.open_exchange(part.begun->arm);
  }
  {
    const NvtxRange range([] { return "recorded"; });
    const PartScope scope = in_part(messages::StepPart::kRecorded);
    replay(part);
  }
  if (part.begun) {
    setup_.operations.send_replayed(part.begun->arm, part.begun->buckets);
  }
}

void StepGraphs::replay(Known& known, pipeline::Operations& marked) {
  StepOperations& operations = setup_.operations;
  if (!std::exchange(known.was_played, true)) {  // plain steps' memory is as large again
    operations.finish_exchanges();
    setup_.recorder.give_back();
  }
  operations.prepare_reals();
  setup_.recorder.begin_step(operations.seed(), operations.step());
  for (const Part& part : known.parts) {
    if (part.is_recorded) {
      play_and_send(part);
    } else {
      pipeline::execute(part.instructions, marked);
    }
  }
  operations.take_up(known.losses);
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
  setup_.recorder.forget_all();
  if (setup_.say) {
    setup_.say(fmt::format("numerics.cuda_graph: {} ({}); {}, with the same bits", what,
                           why.substr(0, why.find('\n')), instead));
  }
}

}  // namespace gangway::worker
