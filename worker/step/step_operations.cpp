// SPDX-License-Identifier: MIT
#include "worker/step/step_operations.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <utility>

#include "gan/losses/orthogonal.hpp"
#include "gan/optimizer.hpp"

namespace gangway::worker {

using pipeline::Instruction;
using pipeline::Operation;

namespace {

PerNetwork<gan::Network*> plain_networks(const PerNetwork<NetworkState*>& states) {
  PerNetwork<gan::Network*> networks;
  for (NetworkState* state : states) {
    networks.add(&state->network());
  }
  return networks;
}

PerNetwork<gan::StatisticSink*> sinks_of(const PerNetwork<NetworkState*>& states) {
  PerNetwork<gan::StatisticSink*> sinks;
  for (NetworkState* state : states) {
    sinks.add(&state->statistics());
  }
  return sinks;
}

}  // namespace

StepOperations::StepOperations(Setup setup)
    : job_(setup.job),
      phases_(setup.phases),
      networks_(setup.networks),
      local_(setup.local),
      exchanges_(std::move(setup.exchanges)),
      pass_({.job = setup.job,
             .phases = setup.phases,
             .networks = plain_networks(setup.networks),
             .sinks = sinks_of(setup.networks),
             .reals = setup.reals,
             .device = setup.device,
             .pools = setup.pools}) {
  for (const NetworkId network : networks_.ids()) {
    checks_.add(std::make_unique<NetworkChecks>(*networks_[network], network, setup.job,
                                                setup.exchange, *exchanges_[network]));
    checked_step_.add(-1);
    if (setup.watchers.size() > 0) {
      exchanges_[network]->show_updates_to(*setup.watchers[network]);
    }
  }
}

void StepOperations::begin_step(std::int64_t step, bool snapshot_follows) {
  step_ = step;
  pass_.begin_step(step);
  snapshot_follows_ = snapshot_follows;
  losses_ = StepLosses(local_, networks_.size());
}

StepLosses StepOperations::take_losses() {
  losses_.close();
  return std::move(losses_);
}

void StepOperations::perform(const Instruction& instruction) {
  switch (instruction.operation) {
    case Operation::kOpenLeaf:
      return open_leaf(instruction);
    case Operation::kForward:
      return pass_.forward(instruction);
    case Operation::kBackward:
      return pass_.backward(instruction, losses_);
    case Operation::kPenaltyForward:
      return pass_.penalty_forward(instruction);
    case Operation::kPenaltyBackward:
      return penalty_backward(instruction);
    case Operation::kCloseLeaf:
      settle_statistics(instruction);
      return exchanges_[instruction.network]->close_leaf(instruction.microbatch);
    case Operation::kArm:
      settle_statistics(instruction);
      open_exchange(instruction);
      return exchanges_[instruction.network]->arm();
    case Operation::kReduce:
      if (!exchanges_[instruction.network]->is_open()) {
        open_exchange(instruction);
      }
      return exchanges_[instruction.network]->reduce();
    case Operation::kAwait:
      return exchanges_[instruction.network]->await();
  }
}

void StepOperations::open_leaf(const Instruction& at) {
  exchanges_[at.network]->open_leaf();
  if (const double weight = phase(at).orthogonal_weight; weight > 0.0 && at.microbatch == 0) {
    // It is the same whatever the examples are: once an update, in the leaf of the job's first
    // micro-batch, and as often as the mean over leaves divides it.
    gan::add_orthogonal_gradient(networks_[at.network]->network(),
                                 weight * job_.training.microbatches);
  }
}

void StepOperations::penalty_backward(const Instruction& at) {
  pass_.penalty_backward(at, losses_, [&exchange = *exchanges_[at.network]](std::size_t block) {
    exchange.complete_block(block);
  });
}

void StepOperations::settle_statistics(const Instruction& at) {
  networks_[at.network]->statistics().settle(pipeline::harvests_of(phase(at), at.network));
}

void StepOperations::open_exchange(const Instruction& at) {
  const UpdatePlan plan = update_plan(at);
  begin_checks(at, plan);
  exchanges_[at.network]->open(at.phase, plan, job_.networks[at.network].clip_norm);
}

void StepOperations::begin_checks(const Instruction& at, const UpdatePlan& plan) {
  // Here the weights are those that the step has used, and may not change before this worker says
  // that a gradient is complete: nothing has to be awaited.
  std::int64_t& checked = checked_step_[at.network];
  if (checked == step_ || !checks_[at.network]->are_due(step_)) {
    return;
  }
  checked = step_;
  const auto begin = std::chrono::steady_clock::now();
  checks_[at.network]->begin(step_, plan);
  check_seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void StepOperations::finish_exchanges() {
  for (const std::unique_ptr<NetworkExchange>& exchange : exchanges_) {
    exchange->await();
  }
}

void StepOperations::settle() {
  finish_exchanges();
  for (const std::unique_ptr<NetworkChecks>& checks : checks_) {
    checks->finish(step_ + 1);
  }
}

UpdatePlan StepOperations::update_plan(const Instruction& at) {
  const auto images_per_step = static_cast<double>(job_.images_per_step());
  const NetworkSpec& network = job_.networks[at.network];
  // Counted up to the end of this step, so that a warm-up does not begin with a rate of zero.
  const double images = static_cast<double>(step_ + 1) * images_per_step;
  UpdatePlan plan;
  plan.settings = gan::scheduled_settings(network, images, job_.burn_in_images(),
                                          pipeline::laziness_of(phases_, at.network));
  plan.update = ++networks_[at.network]->updates;
  if (snapshot_follows_ && at.is_last_update) {
    plan.snapshot_step = step_ + 1;
  }
  plan.harvests = pipeline::harvests_of(phase(at), at.network);
  // Half-life in images (StyleGAN2-ADA), and no more inertia than there is history (TensorFlow's
  // moving average).
  const auto updates = static_cast<double>(plan.update);
  const double half_life =
      scheduled(network.ema_kimg, network.ema_schedule, images, job_.burn_in_images()) * 1000.0;
  plan.average_decay = half_life > 0.0 ? std::min(std::exp2(-images_per_step / half_life),
                                                  (1.0 + updates) / (10.0 + updates))
                                       : 0.0;
  return plan;
}

const pipeline::Phase& StepOperations::phase(const Instruction& at) const {
  return phases_[static_cast<std::size_t>(at.phase)];
}

double StepOperations::take_check_seconds() { return std::exchange(check_seconds_, 0.0); }

std::vector<Exposure> StepOperations::take_exposures() {
  std::vector<Exposure> exposures;
  for (const std::unique_ptr<NetworkExchange>& exchange : exchanges_) {
    std::ranges::move(exchange->take_exposures(), std::back_inserter(exposures));
  }
  return exposures;
}

double StepOperations::take_host_wait_seconds() {
  double seconds = 0.0;
  for (const std::unique_ptr<NetworkExchange>& exchange : exchanges_) {
    seconds += exchange->take_host_wait_seconds();
  }
  return seconds;
}

std::size_t StepOperations::take_unfired() {
  std::size_t unfired = 0;
  for (const std::unique_ptr<NetworkExchange>& exchange : exchanges_) {
    unfired += exchange->take_unfired();
  }
  return unfired;
}

}  // namespace gangway::worker
