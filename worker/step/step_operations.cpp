// SPDX-License-Identifier: MIT
#include "worker/step/step_operations.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "gan/losses/orthogonal.hpp"
#include "gan/optimizer.hpp"
#include "worker/trace/step_clock.hpp"

namespace gangway::worker {

using pipeline::Instruction;
using pipeline::Operation;

namespace {

double scale_of(std::int64_t exponent) { return std::ldexp(1.0, static_cast<int>(exponent)); }

/// More skips than a loss scale needs to fall from its start until nothing overflows.
constexpr std::int64_t kMostSkipsInARow = 25;

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

StepOperations::StepOperations(StepOperationsSetup setup)
    : job_(setup.job),
      phases_(setup.phases),
      networks_(setup.networks),
      reals_(setup.reals),
      local_(setup.local),
      figure_steps_(setup.job, setup.options.output),
      exchanges_(std::move(setup.exchanges)),
      remote_(setup.remote),
      pass_({.job = setup.job,
             .phases = setup.phases,
             .networks = plain_networks(setup.networks),
             .sinks = sinks_of(setup.networks),
             .reals = setup.reals,
             .device = setup.device,
             .pools = setup.pools,
             .loss_scale = [this] { return loss_scale(); },
             .shares = setup.shares,
             .remote = setup.remote}),
      changes_(setup.changes) {
  for (const NetworkId network : networks_.ids()) {
    const ExchangeSetup* const own = setup.exchange.of(network);
    checks_.add(own == nullptr ? nullptr
                               : std::make_unique<NetworkChecks>(
                                     *networks_[network], network, setup.job.training.seed,
                                     setup.execution, *own, *exchanges_[network]));
    checked_step_.add(-1);
    under_way_.add(std::nullopt);
    used_exponent_.add(0);
    records_.add(std::make_unique<UpdateRecord>(*networks_[network], network));
    exchanges_[network]->show_updates_to(*records_[network]);
    if (setup.watchers.size() > 0) {
      exchanges_[network]->show_updates_to(*setup.watchers[network]);
    }
  }
}

void StepOperations::begin_step(std::int64_t step, bool snapshot_follows) {
  step_ = step;
  settings_ =
      settings_at(job_.training.seed,
                  changes_ == nullptr ? std::span<const SettingsChange>() : *changes_, step);
  pass_.begin_step(step, settings_.seed);
  snapshot_follows_ = snapshot_follows;
  losses_ = StepLosses(local_, networks_.size());
}

StepLosses StepOperations::take_losses() {
  for (const NetworkId network : networks_.ids()) {
    for (int microbatch = local_.begin;
         networks_[network]->has_loss_scale() && microbatch < local_.end; ++microbatch) {
      losses_.set_figure(microbatch, job_.networks[network].name + "_loss_scale",
                         scale_of(used_exponent_[network]));
    }
  }
  losses_.close();
  return std::move(losses_);
}

void StepOperations::perform(const Instruction& instruction) {
  switch (instruction.operation) {
    case Operation::kOpenLeaf:
      exchanges_[instruction.network]->open_leaf();
      return begin_leaf(instruction);
    case Operation::kForward:
      return pass_.forward(instruction);
    case Operation::kBackward:
      pass_.backward(instruction, losses_);
      return add_kept_gradients(instruction);
    case Operation::kPenaltyForward:
      return pass_.penalty_forward(instruction);
    case Operation::kPenaltyBackward:
      return networks_[instruction.network]->with_leaf_in_place([&] {
        pass_.penalty_backward(instruction, losses_, [&](std::size_t block) {
          exchanges_[instruction.network]->complete_block(block);
        });
      });
    case Operation::kRecompute:
      return pass_.recompute(instruction, losses_);
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
      return await(instruction.network);
    case Operation::kSend:
      return pass_.send(instruction);
    case Operation::kReceive:
      return pass_.receive(instruction);
    case Operation::kSendGradient:
      return pass_.send_gradient(instruction, losses_);
    case Operation::kReceiveGradient:
      return pass_.receive_gradient(instruction, losses_);
    case Operation::kPlay:
      throw InvariantError("a step that was not recorded is replayed; please report this");
  }
}

void StepOperations::add_kept_gradients(const Instruction& at) {
  for (const NetworkId network : phase(at).networks) {
    networks_[network]->add_kept_gradients();
  }
}

void StepOperations::perform_beside(const Instruction& at, std::size_t place) {
  if (at.operation == Operation::kOpenLeaf) {
    networks_[at.network]->bind_gradients_beside(place);
    begin_leaf(at);
  } else if (at.operation == Operation::kCloseLeaf) {
    if (!networks_[at.network]->is_bound_beside(place)) {
      throw InvariantError("another micro-batch's leaf was opened in between");
    }
    settle_statistics(at);
  } else {
    perform(at);
  }
}

void StepOperations::prepare_beside(std::size_t places) {
  pass_.keep_microbatches();
  for (NetworkState* state : networks_) {
    state->prepare_leaves_beside(places);
  }
}

void StepOperations::take_in(const Instruction& at, std::size_t place) {
  exchanges_[at.network]->open_leaf();
  networks_[at.network]->take_leaf_beside(place);
  exchanges_[at.network]->close_leaf(at.microbatch);
}

void StepOperations::begin_leaf(const Instruction& at) {
  (void)loss_exponent(at);  // updates loss_exponent_ for the phase
  if (const double weight = phase(at).orthogonal_weight; weight > 0.0 && at.microbatch == 0) {
    // This gradient does not depend on examples: it is added once per update, in the job's first
    // micro-batch, times the micro-batches by which the mean over leaves divides.
    NetworkState& state = *networks_[at.network];
    gan::add_orthogonal_gradient(state.network(),
                                 weight * job_.training.microbatches * pass_.loss_scale(),
                                 [&](std::size_t parameter) { return state.holds(parameter); });
    state.add_kept_gradients();
  }
}

void StepOperations::settle_statistics(const Instruction& at) {
  pass_.give_seen(at);
  networks_[at.network]->statistics().settle(pipeline::harvests_of(phase(at), at.network));
}

void StepOperations::open_exchange(const Instruction& at) {
  await(at.network);  // waits for the previous update's counts
  settle_update(at.network);
  const UpdatePlan plan = update_plan(at);
  begin_checks(at, plan);
  begin_record(at, plan);
  exchanges_[at.network]->open(at.phase, plan);
  used_exponent_[at.network] = plan.agreement.scale_exponent;
  under_way_[at.network] = UnderWay{.plan = plan, .step = step_};
}

void StepOperations::begin_record(const Instruction& at, const UpdatePlan& plan) {
  UpdateRecord& record = *records_[at.network];
  if (record.is_looking()) {  // a few times per thousand images
    exchanges_[at.network]->await_shown();
  }
  record.settle();
  // Not for lazy regularisers: their gradients differ in kind and are not in every step.
  if (phase(at).interval == 1 && at.repeat + 1 == phase(at).repeats) {
    record.begin(plan, {.norms = figure_steps_.measures(step_),
                        .histograms = has_histograms() ? std::optional(step_ + 1) : std::nullopt});
  }
}

void StepOperations::tell_updates(messages::Progress& progress) {
  for (const std::unique_ptr<UpdateRecord>& record : records_) {
    record->tell(progress);
  }
}

void StepOperations::begin_checks(const Instruction& at, const UpdatePlan& plan) {
  // The weights are those of this step and cannot change before this worker reports complete
  // gradients, so nothing is awaited.
  std::int64_t& checked = checked_step_[at.network];
  if (checked == step_ || !checks_[at.network]->are_due(step_)) {
    return;
  }
  checked = step_;
  const PartScope part = in_part(messages::StepPart::kChecks);
  checks_[at.network]->begin(step_, plan);
}

void StepOperations::await(NetworkId network) {
  exchanges_[network]->await();
  if (!exchanges_[network]->tells_late()) {
    settle_update(network);
  }
}

void StepOperations::settle_update(NetworkId network) {
  const std::optional<UnderWay> update = std::exchange(under_way_[network], std::nullopt);
  if (!update) {
    return;
  }
  const bool was_skipped = exchanges_[network]->was_skipped();
  const comm::UpdateCounts& counts = networks_[network]->counts =
      comm::counts_after(update->plan, was_skipped);
  if (was_skipped) {
    skips_.push_back({.network = static_cast<int>(network),
                      .step = update->step + 1,
                      .update = update->plan.number(),
                      .loss_scale = scale_of(counts.scale_exponent)});
  }
  if (counts.in_a_row >= kMostSkipsInARow) {
    throw DivergedError(
        fmt::format(
            "step {}: the gradient of the {} was not finite in {} updates in a row, which were "
            "skipped: lower its lr or clip_norm, look for values that are not finite in the data, "
            "or try another seed",
            update->step + 1, job_.networks[network].name, counts.in_a_row),
        update->step + 1);
  }
  if (!was_skipped) {
    require_bounded(network, update->step + 1);
  }
}

void StepOperations::require_bounded(NetworkId network, std::int64_t step) const {
  const double bound = job_.training.divergence.gradient_norm;
  const std::optional<double> norm = exchanges_[network]->agreed_norm();
  if (bound > 0.0 && norm && !(*norm <= bound)) {  // a NaN fails this comparison
    throw DivergedError(
        fmt::format("step {}: the norm of the {}'s gradient is {:.4g}, above "
                    "training.divergence.gradient_norm {:g}: lower its lr or the weights of "
                    "penalties, set clip_norm, or allow more",
                    step, job_.networks[network].name, *norm, bound),
        step);
  }
}

void StepOperations::finish_exchanges() {
  for (const NetworkId network : networks_.ids()) {
    await(network);
    settle_update(network);
  }
}

std::vector<messages::SkippedUpdate> StepOperations::take_skips() {
  return std::exchange(skips_, {});
}

double StepOperations::loss_scale() const { return scale_of(loss_exponent_); }

std::int64_t StepOperations::loss_exponent(const Instruction& at) {
  const ScaledPhase key{.step = step_, .phase = at.phase, .repeat = at.repeat};
  if (key == scaled_) {
    return loss_exponent_;
  }
  // Once per repeat of the phase, because its own updates change the next exponent.
  scaled_ = key;
  std::optional<std::int64_t> least;
  for (const NetworkId network : phase(at).networks) {
    if (networks_[network]->has_loss_scale()) {
      await(network);
      settle_update(network);
      const std::int64_t exponent = networks_[network]->counts.scale_exponent;
      least = std::min(least.value_or(exponent), exponent);
    }
  }
  loss_exponent_ = least.value_or(0);
  return loss_exponent_;
}

comm::Agreement StepOperations::agreement(const Instruction& at) {
  const auto has_loss_scale = [this](NetworkId network) {
    return networks_[network]->has_loss_scale();
  };
  const double clip_norm = job_.networks[at.network].clip_norm;
  const bool may_skip = clip_norm > 0.0 || std::ranges::any_of(phase(at).networks, has_loss_scale);
  return {.is_needed = may_skip || job_.training.divergence.gradient_norm > 0.0,
          .may_skip = may_skip,
          .clip_norm = clip_norm,
          .scale_exponent = loss_exponent(at),
          .is_scaled = has_loss_scale(at.network)};
}

void StepOperations::settle() {
  finish_exchanges();
  const PartScope part = in_part(messages::StepPart::kChecks);
  for (const std::unique_ptr<NetworkChecks>& checks : checks_) {
    if (checks) {
      checks->finish(step_ + 1);
    }
  }
  if (remote_ != nullptr) {
    remote_->finish();
  }
}

UpdatePlan StepOperations::update_plan(const Instruction& at) {
  const auto images_per_step = static_cast<double>(job_.images_per_step());
  const NetworkSpec& network = job_.networks[at.network];
  // Counts images up to the end of this step, so that a warm-up does not begin with rate zero.
  const double images = static_cast<double>(step_ + 1) * images_per_step;
  UpdatePlan plan;
  plan.settings = gan::scheduled_settings(network, images, job_.burn_in_images(),
                                          pipeline::laziness_of(phases_, at.network));
  plan.settings.lr *= settings_.lr_factor;
  plan.agreement = agreement(at);
  plan.counts = networks_[at.network]->counts;
  if (snapshot_follows_ && at.is_last_update) {
    plan.snapshot_step = step_ + 1;
  }
  plan.harvests = pipeline::harvests_of(phase(at), at.network);
  // Averages once per step, because the half-life counts images, not updates.
  plan.average_decay =
      at.is_last_update
          ? gan::average_decay(network, {.images = images,
                                         .images_per_step = images_per_step,
                                         .updates = static_cast<double>(plan.number()),
                                         .burn_in_images = job_.burn_in_images()})
          : 1.0;
  return plan;
}

const pipeline::Phase& StepOperations::phase(const Instruction& at) const {
  return phases_[static_cast<std::size_t>(at.phase)];
}

std::vector<Exposure> StepOperations::take_exposures() {
  std::vector<Exposure> exposures;
  for (const std::unique_ptr<NetworkExchange>& exchange : exchanges_) {
    std::ranges::move(exchange->take_exposures(), std::back_inserter(exposures));
  }
  if (remote_ != nullptr) {
    for (const auto& [phase, seconds] : remote_->take_waits()) {
      exposures.push_back({.phase = phase, .seconds = seconds});
    }
  }
  return exposures;
}

std::size_t StepOperations::take_unfired() {
  std::size_t unfired = 0;
  for (const std::unique_ptr<NetworkExchange>& exchange : exchanges_) {
    unfired += exchange->take_unfired();
  }
  return unfired;
}

}  // namespace gangway::worker
