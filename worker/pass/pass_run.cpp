// SPDX-License-Identifier: MIT
#include "worker/pass/pass_run.hpp"

#include <algorithm>
#include <utility>

#include "base/errors.hpp"
#include "gan/grown_pictures.hpp"
#include "gan/losses/joins.hpp"
#include "gan/precision.hpp"
#include "python/open/process_generator.hpp"
#include "worker/pass/draws.hpp"

namespace gangway::worker {
namespace {

using pipeline::Application;
using pipeline::Augment;
using pipeline::Draw;
using pipeline::Instruction;
using pipeline::Join;
using pipeline::Loss;
using pipeline::Node;
using pipeline::Pass;
using pipeline::Penalty;
using pipeline::Phase;
using pipeline::Pool;
using pipeline::Reals;
using pipeline::Running;
using pipeline::StylePicture;

void require_known(const Node& node) {
  if (const auto* penalty = std::get_if<Penalty>(&node)) {
    (void)gan::penalty_named(penalty->function);
  } else if (const auto* join = std::get_if<Join>(&node)) {
    (void)gan::join_named(join->function);
  }
}

}  // namespace

PassRun::PassRun(PassRunSetup setup)
    : setup_(std::move(setup)),
      augmentation_(setup_.job.training.augment, setup_.job.training.batch),
      works_(setup_.phases, setup_.shares),
      style_(style_picture(setup_.job, setup_.device)) {
  if (setup_.job.training.step.is_python()) {
    own_step_ = python::make_python_step(setup_.job, setup_.networks);
  }
  for (const Phase& phase : setup_.phases) {
    for (const Pass& pass : phase.passes) {
      std::ranges::for_each(pass.nodes, require_known);
      for (const Node& node : pass.nodes) {
        if (const auto* loss = std::get_if<Loss>(&node)) {
          losses_[loss->function] = gan::loss_of(loss->function, setup_.job.model.library);
        }
      }
    }
  }
}

void PassRun::begin_step(std::int64_t step, std::optional<std::uint64_t> seed) {
  step_ = step;
  seed_ = seed.value_or(setup_.job.training.seed);
  // Counted up to the end of the step, as updates count.
  growth_ = setup_.job.growth_level((step + 1) * setup_.job.images_per_step());
  for (gan::Network* network : setup_.networks) {
    network->grow_to(growth_);
  }
  for (const Number& number : numbers_) {
    number.value.fill_(value_of(number.base, number.schedule));
  }
  if (own_step_) {
    own_step_->begin_step(step);
  }
}

void PassRun::seed_call(const Instruction& at) const {
  const RandomKey key = context(at, at.network, nullptr, 0).key;
  const python::SeededGenerator seeded(setup_.device, python::seed_of_call(key));
}

void PassRun::restart_step() {
  works_.clear();
  kept_.clear();
}

void PassRun::forward(const Instruction& at) {
  enter(at);
  run_nodes_to(at.node);
  const auto& application = std::get<Application>(node());
  const bool trains = pipeline::trains(phase(), application.network);
  Kept result = is_recalled() ? take_kept() : apply(application, trains);
  if (trains) {
    gan::StatisticSink& sink = sink_of(application.network, at.is_ahead);
    result.seen.give_to(sink);
    if (application.harvests_signs) {
      augmentation_.harvest(*setup_.networks[application.network], result.made.front(), sink);
    }
  }
  put(pipeline::outputs_of(node()), std::move(result));
  ++work_->node;
  works_.leave(*work_);
}

gan::StatisticSink& PassRun::sink_of(NetworkId network, bool is_ahead) {
  return is_ahead ? static_cast<gan::StatisticSink&>(
                        work_->seen.emplace_back(network, SeenStatistics()).second)
                  : *setup_.sinks[network];
}

PassRun::Kept PassRun::apply(const Application& application, bool trains) {
  const bool is_kept = work_->node < work_->num_kept;
  const at::AutoGradMode with_graph(has_gradient() || is_kept);
  Kept result;
  if (!application.method.empty()) {
    result.made = {called(application)};
    return result;
  }
  gan::Network& network = *setup_.networks[application.network];
  const gan::ForwardContext seen =
      context(application.network, trains || is_kept ? &result.seen : nullptr, application.stream);
  gan::NamedTensors taken = work_->taken(application.inputs);
  if (goes_by_block(application)) {
    using Trains = gan::BlockCheckpoints::Trains;
    work_->checkpoints.erase(work_->node);
    const auto kept = work_->checkpoints.emplace(
        work_->node,
        gan::BlockCheckpoints(network, taken, seen, trains ? Trains::kYes : Trains::kNo));
    result.made = kept.first->second.made();
  } else {
    result.made = application.part
                      ? network.forward_chunk(application.part->blocks, application.part->live,
                                              std::move(taken), seen)
                      : network.forward_levels(std::move(taken), seen);
  }
  if (!application.statistic.empty()) {
    const at::NoGradGuard no_grad;
    result.seen.take(network.kept_mean(application.statistic),
                     result.made.front().mean().reshape({1}));
  }
  return result;
}

gan::NamedTensors PassRun::batch_of(const Application& application) {
  const gan::NamedTensors& named = setup_.reals.latest(work_->at.microbatch).named;
  gan::NamedTensors batch;
  for (const auto& [name, tensor] : named.entries()) {
    batch = batch.with(name, tensor.to(setup_.device));
  }
  if (!named.entries().empty()) {
    return batch;
  }
  batch = {{"image", work_->value(application.inputs.front().tensor)}};
  return setup_.job.model.classes > 0
             ? batch.with("label", work_->value(application.inputs.back().tensor))
             : batch;
}

at::Tensor PassRun::called(const Application& application) {
  python::PythonStep::Made made =
      own_step_->call({.method = application.method,
                       .batch = batch_of(application),
                       .key = context(work_->at, application.network, nullptr, 0).key,
                       .sinks = setup_.sinks,
                       .trained = phase().networks});
  work_->figures = std::move(made.figures);
  return made.loss;
}

void PassRun::enter(const Instruction& at) {
  work_ = &works_.enter(at);
  if (work_->node == 0) {
    kept_.erase(key_of(at));
  }
  if (!at.is_ahead) {  // the pass's turn: sums keep their order
    for (const auto& [network, seen] : std::exchange(work_->seen, {})) {
      seen.give_to(*setup_.sinks[network]);
    }
  }
}

PassRun::PassKey PassRun::key_of(const Instruction& at) {
  return {at.phase, at.pass, at.microbatch};
}

bool PassRun::is_recalled() const { return pass().recall && work_->node < pass().recall->nodes; }

PassRun::Kept PassRun::take_kept() {
  const pipeline::Recall& recall = *pass().recall;
  auto& kept = kept_.at({recall.phase, recall.pass, work_->at.microbatch});
  return std::move(kept.at(work_->node));
}

void PassRun::run_nodes_to(int end) {
  for (; work_->node < end; ++work_->node) {
    if (!work_->is_mine()) {
      continue;
    }
    if (is_recalled() && has_kept()) {
      put(pipeline::outputs_of(node()), take_kept());
    } else {
      std::visit([this](const auto& at_hand) { make(at_hand); }, node());
    }
  }
}

void PassRun::make(const Draw& draw) {
  // Not for Python data, which would have to read each example.
  if (draw.kind == Draw::Kind::kDataLabels && !setup_.device.is_cpu() &&
      !setup_.job.data.module.is_python() && !labels_.defined()) {
    labels_ = all_labels(setup_.reals.dataset(), setup_.device);
  }
  put(draw.output, drawn(draw, key(RandomDraw{}, draw.stream),
                         {.job = setup_.job,
                          .dimensions = setup_.reals.num_dimensions(),
                          .device = setup_.device,
                          .data = &setup_.reals.dataset(),
                          .labels = labels_}));
}

void PassRun::make(const Reals& reals) {
  const RealBatch& batch =
      phase().takes_reals
          ? setup_.reals.take(step_, phase().first_reals + work_->at.repeat, work_->at.microbatch)
          : last_reals();
  if (!batch.named.entries().empty()) {  // the job's own step reads them itself
    put({reals.images, reals.labels}, Kept{{at::empty({0}), at::empty({0})}, {}});
    return;
  }
  put({reals.images, reals.labels}, Kept{{gan::as_grown(batch.images, growth_), batch.labels}, {}});
}

const RealBatch& PassRun::last_reals() {
  // With shares, another worker may have run the phase that takes the batch.
  return work_->share != nullptr && setup_.job.real_batches_per_step() == 1
             ? setup_.reals.take(step_, 0, work_->at.microbatch)
             : setup_.reals.latest(work_->at.microbatch);
}

void PassRun::make(const Running& running) {
  gan::Network& network = *setup_.networks[running.network];
  // Cloned, because the exchange changes the statistic as soon as the last backward begins.
  put(running.output, running.is_moved ? augmentation_.moved(network).strength
                                       : network.kept_mean(running.statistic).running.clone());
}

void PassRun::make(const StylePicture& picture) { put(picture.output, style_); }

void PassRun::make(const Join& join) {
  const at::AutoGradMode with_graph(has_gradient());
  put(join.output, gan::join_named(join.function)(work_->values_of(join.inputs)));
}

void PassRun::make(const Pool& pool) {
  put(pool.output,
      setup_.pools->exchange(pool.name, work_->value(pool.input), key(RandomDraw::kPool, 0)));
}

void PassRun::make(const Augment& augment) {
  const at::AutoGradMode with_graph(has_gradient() || augment.is_looked_through);
  at::Tensor original = work_->value(augment.input);
  const at::Tensor strength =
      augment.strength.empty()
          ? number_of(augmentation_.fixed_strength(), setup_.job.training.augment.schedule)
          : gan::Augmentation::strength_of(work_->value(augment.strength));
  if (augment.is_looked_through) {
    original = original.detach().requires_grad_(true);
  }
  const at::Tensor augmented =
      augmentation_.augmented(original, strength, key(RandomDraw::kAugmentFlip, augment.stream));
  if (augment.is_looked_through) {
    work_->through = {original, augmented};
  }
  put(augment.output, augmented);
}

void PassRun::make(const Loss& loss) {
  const at::AutoGradMode with_graph(has_gradient());
  const at::Tensor mean = losses_.at(loss.function)(work_->values_of(loss.inputs));
  work_->made[static_cast<std::size_t>(work_->node)] = {loss.weight == 1.0 ? mean
                                                                           : mean * loss.weight};
}

void PassRun::put(const std::vector<std::string>& names, Kept result) {
  for (std::size_t i = 0; i < result.made.size(); ++i) {
    at::Tensor value = result.made[i];
    if (value.defined() && (has_gradient() || value.requires_grad())) {
      value = value.detach().requires_grad_(has_gradient());
    }
    work_->values.push_back({names[i], value});
  }
  if (!work_->is_mine()) {
    return;
  }
  if (has_gradient() && !is_recomputed()) {
    work_->made[static_cast<std::size_t>(work_->node)] = result.made;
  }
  if (work_->node < work_->num_kept) {
    kept_[key_of(work_->at)][work_->node] = std::move(result);
  }
}

bool PassRun::has_gradient() const {
  return pass().has_gradient[static_cast<std::size_t>(work_->node)];
}

const Phase& PassRun::phase() const {
  return setup_.phases[static_cast<std::size_t>(work_->at.phase)];
}

const Node& PassRun::node() const { return pass().nodes[static_cast<std::size_t>(work_->node)]; }

Precision PassRun::precision() const {
  const auto* application = std::get_if<Application>(&node());
  return application == nullptr ? Precision::kFp32
                                : setup_.job.networks[application->network].precision;
}

at::Tensor PassRun::number_of(double base, const ScheduleSpec& schedule) {
  const auto known = std::ranges::find_if(numbers_, [&](const Number& number) {
    return number.base == base && number.schedule == schedule;
  });
  if (known != numbers_.end()) {
    return known->value;
  }
  const at::TensorOptions options = at::device(setup_.device).dtype(at::kDouble);
  return numbers_.emplace_back(base, schedule, at::full({}, value_of(base, schedule), options))
      .value;
}

double PassRun::value_of(double base, const ScheduleSpec& schedule) const {
  // Counted up to the end of the step, as updates count.
  const double images =
      static_cast<double>(step_ + 1) * static_cast<double>(setup_.job.images_per_step());
  return scheduled(base, schedule, images, setup_.job.burn_in_images());
}

RandomKey PassRun::key(const Instruction& at, RandomDraw draw, int stream) const {
  return {.seed = seed_,
          .step = step_,
          .phase = at.phase,
          .repeat = at.repeat,
          .pass = at.pass + (stream << 16),
          .microbatch = at.microbatch,
          .draw = static_cast<std::int32_t>(draw)};
}

gan::ForwardContext PassRun::context(const Instruction& at, NetworkId network,
                                     gan::StatisticSink* sink, int stream) const {
  return forward_context(setup_.job.networks[network], key(at, RandomDraw::kDropout, 0), stream,
                         sink);
}

}  // namespace gangway::worker
