// SPDX-License-Identifier: MIT
#include "worker/step/gan_operations.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <utility>

#include "gan/losses.hpp"
#include "gan/optimizer.hpp"
#include "gan/random_tensors.hpp"

namespace gangway::worker {

using pipeline::Instruction;
using pipeline::Operation;
using pipeline::PassKind;

GanOperations::GanOperations(Setup setup)
    : job_(setup.job),
      phases_(setup.phases),
      networks_(setup.networks),
      reals_(setup.reals),
      device_(setup.device),
      local_(setup.local),
      checks_{{*setup.networks.generator, NetworkId::kGenerator, setup.job, setup.exchange,
               *setup.exchanges.generator},
              {*setup.networks.discriminator, NetworkId::kDiscriminator, setup.job, setup.exchange,
               *setup.exchanges.discriminator}},
      exchanges_(std::move(setup.exchanges)) {
  for (const NetworkId network : kNetworkIds) {
    if (UpdateWatcher* watcher = setup.watchers[network]) {
      exchanges_[network]->show_updates_to(*watcher);
    }
  }
}

void GanOperations::begin_step(std::int64_t step, bool snapshot_follows) {
  step_ = step;
  snapshot_follows_ = snapshot_follows;
  losses_ = StepLosses(local_);
}

StepLosses GanOperations::take_losses() {
  losses_.close();
  return std::move(losses_);
}

void GanOperations::perform(const Instruction& instruction) {
  switch (instruction.operation) {
    case Operation::kOpenLeaf:
      return exchanges_[instruction.network]->open_leaf();
    case Operation::kForward:
      return forward(instruction);
    case Operation::kBackward:
      return backward(instruction);
    case Operation::kPenaltyForward:
      return penalty_forward(instruction);
    case Operation::kPenaltyBackward:
      return penalty_backward(instruction);
    case Operation::kCloseLeaf:
      return exchanges_[instruction.network]->close_leaf(instruction.microbatch);
    case Operation::kArm:
      open_exchange(instruction);
      return exchanges_[instruction.network]->arm();
    case Operation::kReduce:
      if (!exchanges_[instruction.network]->is_open()) {
        open_exchange(instruction);
      }
      return exchanges_[instruction.network]->reduce();
    case Operation::kAwait:
      return await(instruction.network);
  }
}

void GanOperations::forward(const Instruction& at) {
  at.network == NetworkId::kGenerator ? forward_generator(at) : forward_discriminator(at);
}

void GanOperations::forward_generator(const Instruction& at) {
  const bool trains_generator = phase(at).network == NetworkId::kGenerator;
  const int count = job_.images_per_microbatch();
  gan::NamedTensors in{{"noise", gan::keyed_normal(key(at, RandomDraw::kNoise),
                                                   {count, job_.model.latent}, device_)}};
  if (job_.model.classes > 0) {
    // An interpolate of a real and a generated image is judged under one label: the real one's.
    pass_.fake_labels =
        pass_kind(at) == PassKind::kGradientPenalty
            ? reals(at).labels
            : gan::keyed_labels(key(at, RandomDraw::kLabel), count, job_.model.classes, device_);
    in = in.with("labels", pass_.fake_labels);
  }
  const at::AutoGradMode with_graph(trains_generator);
  const gan::Harvest harvest = trains_generator ? gan::Harvest::kYes : gan::Harvest::kNo;
  pass_.fake_graph = networks_.generator->network().forward(in, context(at, harvest, 0));
  pass_.fake = pass_.fake_graph.detach();
  if (trains_generator) {
    pass_.fake.requires_grad_(true);
  } else {
    pass_.fake_graph.reset();
  }
}

void GanOperations::forward_discriminator(const Instruction& at) {
  const PassKind kind = pass_kind(at);
  const bool trains_discriminator = phase(at).network == NetworkId::kDiscriminator;
  const gan::Harvest harvest = trains_discriminator ? gan::Harvest::kYes : gan::Harvest::kNo;
  if (kind == PassKind::kReal || kind == PassKind::kRealFakePair ||
      kind == PassKind::kGeneratePair) {
    const RealBatch& real = reals(at);
    // The generator's gradient does not flow into real logits, so they need no graph there.
    const at::AutoGradMode with_graph(trains_discriminator);
    pass_.real_logits = networks_.discriminator->network().forward(
        discriminator_input(real.images, real.labels), context(at, harvest, 0));
  }
  if (kind != PassKind::kReal) {
    pass_.fake_logits = networks_.discriminator->network().forward(
        discriminator_input(pass_.fake, pass_.fake_labels), context(at, harvest, 1));
  }
}

void GanOperations::backward(const Instruction& at) {
  if (at.network == NetworkId::kGenerator) {
    torch::autograd::backward({pass_.fake_graph}, {pass_.fake.grad()});
    pass_ = {};
  } else if (phase(at).network == NetworkId::kDiscriminator) {
    backward_discriminator(at);
  } else {
    backward_through_discriminator(at);
  }
}

void GanOperations::backward_discriminator(const Instruction& at) {
  at::Tensor loss;
  switch (pass_kind(at)) {
    case PassKind::kReal:
      loss = gan::discriminator_real_loss(job_.training.loss, pass_.real_logits);
      break;
    case PassKind::kFake:
      loss = gan::discriminator_fake_loss(job_.training.loss, pass_.fake_logits);
      break;
    default:
      loss = gan::relativistic_loss(pass_.real_logits, pass_.fake_logits);
  }
  torch::autograd::backward({loss}, {});
  add_discriminator_loss(at, loss);
  pass_ = {};
}

void GanOperations::backward_through_discriminator(const Instruction& at) {
  const at::Tensor loss = pass_kind(at) == PassKind::kGeneratePair
                              ? gan::relativistic_loss(pass_.fake_logits, pass_.real_logits)
                              : gan::generator_loss(job_.training.loss, pass_.fake_logits);
  // Towards the images only: the discriminator's weight gradients are neither computed nor touched.
  torch::autograd::backward({loss}, {}, std::nullopt, /*create_graph=*/false, {pass_.fake});
  losses_.add(StepLosses::Of::kGenerator, at.microbatch, loss, 1);
}

void GanOperations::penalty_forward(const Instruction& at) {
  const RealBatch& real = reals(at);
  at::Tensor images = real.images;
  const PenaltySpec& spec = job_.training.penalty;
  if (pass_kind(at) == PassKind::kGradientPenalty) {
    std::vector<std::int64_t> shape(static_cast<std::size_t>(images.dim()), 1);
    shape.front() = images.size(0);
    const at::Tensor mix = gan::keyed_uniform(key(at, RandomDraw::kMix), shape, device_);
    images = mix * real.images + (1.0 - mix) * pass_.fake;
    penalty_ = std::make_unique<gan::BlockwisePenalty>(networks_.discriminator->network(),
                                                       gan::PenaltyKind::kGradientPenalty,
                                                       spec.gradient_penalty);
  } else {
    // A lazy regulariser stands for the steps that it is not run in (StyleGAN2, appendix B).
    penalty_ = std::make_unique<gan::BlockwisePenalty>(networks_.discriminator->network(),
                                                       gan::PenaltyKind::kR1,
                                                       spec.r1_gamma * phase(at).interval);
  }
  penalty_->forward(discriminator_input(images, real.labels), context(at, gan::Harvest::kNo, 0));
}

void GanOperations::penalty_backward(const Instruction& at) {
  const at::Tensor value = penalty_->backward(
      [this](std::size_t block) { exchanges_.discriminator->complete_block(block); });
  if (phase(at).interval == 1) {
    add_discriminator_loss(at, value);
  }
  penalty_.reset();
  pass_ = {};
}

void GanOperations::open_exchange(const Instruction& at) {
  const UpdatePlan plan = update_plan(at);
  begin_checks(at, plan);
  exchanges_[at.network]->open(at.phase, plan, phase(at).clip_norm);
}

void GanOperations::begin_checks(const Instruction& at, const UpdatePlan& plan) {
  // Here the weights are those that the step has used, and may not change before this worker says
  // that a gradient is complete: nothing has to be awaited.
  std::int64_t& checked = checked_step_[at.network];
  if (checked == step_ || !checks_[at.network].are_due(step_)) {
    return;
  }
  checked = step_;
  const auto begin = std::chrono::steady_clock::now();
  checks_[at.network].begin(step_, plan);
  check_seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void GanOperations::await(NetworkId network) { exchanges_[network]->await(); }

void GanOperations::finish_exchanges() {
  await(NetworkId::kDiscriminator);
  await(NetworkId::kGenerator);
}

void GanOperations::settle() {
  finish_exchanges();
  checks_.generator.finish(step_ + 1);
  checks_.discriminator.finish(step_ + 1);
}

UpdatePlan GanOperations::update_plan(const Instruction& at) {
  const bool is_generator = at.network == NetworkId::kGenerator;
  const double laziness = is_generator ? 1.0 : pipeline::laziness_of(job_);
  const double images_per_step = static_cast<double>(job_.images_per_step());
  UpdatePlan plan;
  // Counted up to the end of this step, so that a warm-up does not begin with a rate of zero.
  plan.settings =
      gan::scheduled_settings(job_.of(at.network), static_cast<double>(step_ + 1) * images_per_step,
                              job_.training.kimg * 1000.0, laziness);
  plan.update = ++networks_[at.network]->updates;
  if (snapshot_follows_ && at.is_last_update) {
    plan.snapshot_step = step_ + 1;
  }
  for (const PassKind kind : phase(at).passes) {
    if (kind != PassKind::kGradientPenalty && kind != PassKind::kR1) {
      plan.harvests += kind == PassKind::kRealFakePair ? 2 : 1;
    }
  }
  // Half-life in images (StyleGAN2-ADA), and no more inertia than there is history (TensorFlow's
  // moving average).
  const double updates = static_cast<double>(plan.update);
  const double half_life = job_.generator.ema_kimg * 1000.0;
  plan.average_decay = half_life > 0.0 ? std::min(std::exp2(-images_per_step / half_life),
                                                  (1.0 + updates) / (10.0 + updates))
                                       : 0.0;
  return plan;
}

PassKind GanOperations::pass_kind(const Instruction& at) const {
  return phase(at).passes[static_cast<std::size_t>(at.pass)];
}

const pipeline::Phase& GanOperations::phase(const Instruction& at) const {
  return phases_[static_cast<std::size_t>(at.phase)];
}

const RealBatch& GanOperations::reals(const Instruction& at) {
  const bool takes_new = phase(at).network == NetworkId::kDiscriminator && phase(at).index == 0;
  return takes_new ? reals_.take(step_, at.repeat, at.microbatch) : reals_.latest(at.microbatch);
}

RandomKey GanOperations::key(const Instruction& at, RandomDraw draw) const {
  return {.seed = job_.training.seed,
          .step = step_,
          .phase = at.phase,
          .repeat = at.repeat,
          .pass = at.pass,
          .microbatch = at.microbatch,
          .draw = static_cast<std::int32_t>(draw)};
}

gan::ForwardContext GanOperations::context(const Instruction& at, gan::Harvest harvest,
                                           int sub_pass) const {
  gan::ForwardContext result{
      .mode = gan::Mode::kTraining, .harvest = harvest, .key = key(at, RandomDraw::kDropout)};
  result.key.pass = 2 * at.pass + sub_pass;
  return result;
}

gan::NamedTensors GanOperations::discriminator_input(const at::Tensor& images,
                                                     const at::Tensor& labels) const {
  gan::NamedTensors in{{"image", images}};
  return job_.model.classes > 0 ? in.with("labels", labels) : in;
}

void GanOperations::add_discriminator_loss(const Instruction& at, const at::Tensor& loss) {
  losses_.add(StepLosses::Of::kDiscriminator, at.microbatch, loss, phase(at).repeats);
}

double GanOperations::take_check_seconds() { return std::exchange(check_seconds_, 0.0); }

std::vector<Exposure> GanOperations::take_exposures() {
  std::vector<Exposure> exposures = exchanges_.discriminator->take_exposures();
  std::ranges::move(exchanges_.generator->take_exposures(), std::back_inserter(exposures));
  return exposures;
}

double GanOperations::take_host_wait_seconds() {
  return exchanges_.discriminator->take_host_wait_seconds() +
         exchanges_.generator->take_host_wait_seconds();
}

std::size_t GanOperations::take_unfired() {
  return exchanges_.generator->take_unfired() + exchanges_.discriminator->take_unfired();
}

}  // namespace gangway::worker
