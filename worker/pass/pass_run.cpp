// SPDX-License-Identifier: MIT
#include "worker/pass/pass_run.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/errors.hpp"
#include "gan/data/images/style_picture.hpp"
#include "gan/grown_pictures.hpp"
#include "gan/losses/joins.hpp"
#include "gan/precision.hpp"
#include "job/families/families.hpp"
#include "worker/figures/judged_logits.hpp"
#include "worker/figures/judged_spread.hpp"
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

at::Tensor style_picture(const JobSpec& job, at::Device device) {
  if (job.training.style.picture.file.empty()) {
    return {};
  }
  std::vector<std::int64_t> shape = example_shape(job.model);
  shape.insert(shape.begin(), 1);
  std::vector<float> pixels = data::read_style_picture(job);
  const at::Tensor picture = at::from_blob(pixels.data(), shape, at::kFloat).clone().to(device);
  return job.numerics.memory_format == MemoryFormat::kChannelsLast
             ? picture.contiguous(at::MemoryFormat::ChannelsLast)
             : picture;
}

}  // namespace

PassRun::PassRun(Setup setup)
    : setup_(std::move(setup)),
      augmentation_(setup_.job.training.augment, setup_.job.training.batch),
      style_(style_picture(setup_.job, setup_.device)) {
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
}

void PassRun::begin_again() {
  has_turned_ = true;
  node_ = 0;
  values_.clear();
  made_.clear();
  kept_.clear();
  penalty_.reset();
}

void PassRun::forward(const Instruction& at) {
  begin_unless_begun(at);
  come_to(at.node);
  const auto& application = std::get<Application>(node());
  const bool trains = pipeline::trains(phase(), application.network);
  Kept result = is_recalled() ? take_kept() : apply(application, trains);
  if (trains) {
    result.seen.give_to(*setup_.sinks[application.network]);
  }
  if (trains && application.harvests_signs) {
    augmentation_.harvest(*setup_.networks[application.network], result.made.front(),
                          *setup_.sinks[application.network]);
  }
  put(pipeline::outputs_of(node()), std::move(result));
  ++node_;
}

PassRun::Kept PassRun::apply(const Application& application, bool trains) {
  const bool is_kept = node_ < num_kept_;
  const at::AutoGradMode with_graph(has_gradient() || is_kept);
  Kept result;
  result.made = setup_.networks[application.network]->forward_levels(
      taken(application.inputs),
      context(application.network, trains || is_kept ? &result.seen : nullptr, application.stream));
  if (!application.statistic.empty()) {
    const at::NoGradGuard no_grad;
    result.seen.take(setup_.networks[application.network]->kept_mean(application.statistic),
                     result.made.front().mean().reshape({1}));
  }
  return result;
}

void PassRun::backward(const Instruction& at, StepLosses& losses) {
  come_back_to(at.node, losses);
  pull(pipeline::trains(phase(), std::get<Application>(node()).network));
  end_if_over();
}

void PassRun::penalty_forward(const Instruction& at) {
  begin_unless_begun(at);
  come_to(at.node);
  const auto& penalty = std::get<Penalty>(node());
  penalty_ = std::make_unique<gan::BlockwisePenalty>(*setup_.networks[penalty.network],
                                                     gan::penalty_named(penalty.function),
                                                     penalty.weight * factor(penalty.schedule));
  gan::StatisticSink* sink = penalty.harvests ? setup_.sinks[penalty.network] : nullptr;
  penalty_->forward(taken(penalty.inputs), context(penalty.network, sink, 0));
  ++node_;
}

void PassRun::penalty_backward(const Instruction& at, StepLosses& losses,
                               const std::function<void(std::size_t)>& on_block) {
  come_back_to(at.node, losses);
  const at::Tensor value = penalty_->backward(on_block, loss_scale());
  if (const auto& shown_with = std::get<Penalty>(node()).shown_with) {
    losses.add(*shown_with, at.microbatch, value, phase().repeats);
  }
  penalty_.reset();
  end_if_over();
}

void PassRun::end_if_over() {
  for (std::size_t before = 0; before < static_cast<std::size_t>(node_); ++before) {
    if (pass().has_gradient[before] || std::holds_alternative<Penalty>(pass().nodes[before])) {
      return;
    }
  }
  values_.clear();
}

void PassRun::begin_unless_begun(const Instruction& at) {
  const auto place = [](const Instruction& one) {
    return std::tuple(one.phase, one.repeat, one.pass, one.microbatch);
  };
  if (!has_turned_ && place(at) == place(at_)) {
    return;
  }
  at_ = at;
  has_turned_ = false;
  node_ = 0;
  values_.clear();
  made_.assign(pass().nodes.size(), {});
  num_kept_ = nodes_to_keep();
  kept_.erase(place_of(at_));
}

PassRun::Place PassRun::place_of(const Instruction& at) {
  return {at.phase, at.pass, at.microbatch};
}

int PassRun::nodes_to_keep() const {
  int count = 0;
  for (const Phase& later : setup_.phases) {
    for (const Pass& other : later.passes) {
      if (other.recall && other.recall->phase == at_.phase && other.recall->pass == at_.pass &&
          at_.repeat == phase().repeats - 1) {
        count = std::max(count, other.recall->nodes);
      }
    }
  }
  return count;
}

bool PassRun::is_recalled() const { return pass().recall && node_ < pass().recall->nodes; }

PassRun::Kept PassRun::take_kept() {
  const pipeline::Recall& recall = *pass().recall;
  auto& kept = kept_.at({recall.phase, recall.pass, at_.microbatch});
  return std::move(kept.at(node_));
}

void PassRun::come_to(int end) {
  for (; node_ < end; ++node_) {
    if (is_recalled()) {
      put(pipeline::outputs_of(node()), take_kept());
    } else {
      std::visit([this](const auto& at_hand) { make(at_hand); }, node());
    }
  }
}

void PassRun::come_back_to(int end, StepLosses& losses) {
  if (!has_turned_) {
    has_turned_ = true;
    come_to(static_cast<int>(pass().nodes.size()));
  }
  while (--node_ > end) {
    if (const auto* loss = std::get_if<Loss>(&node())) {
      pull(*loss, losses);
    } else if (std::holds_alternative<Join>(node()) || std::holds_alternative<Augment>(node())) {
      pull(/*trains=*/false);
    }
  }
}

void PassRun::make(const Draw& draw) {
  put(draw.output, drawn(draw, key(RandomDraw{}, draw.stream), setup_.job,
                         setup_.reals.num_dimensions(), setup_.device));
}

void PassRun::make(const Reals& reals) {
  const RealBatch& batch = phase().takes_reals
                               ? setup_.reals.take(step_, at_.repeat, at_.microbatch)
                               : setup_.reals.latest(at_.microbatch);
  put({reals.images, reals.labels}, Kept{{gan::as_grown(batch.images, growth_), batch.labels}, {}});
}

void PassRun::make(const Running& running) {
  // A copy: the exchange changes the statistic as soon as the last backward begins.
  put(running.output,
      setup_.networks[running.network]->kept_mean(running.statistic).running.clone());
}

void PassRun::make(const StylePicture& picture) { put(picture.output, style_); }

void PassRun::make(const Join& join) {
  const at::AutoGradMode with_graph(has_gradient());
  put(join.output, gan::join_named(join.function)(values_of(join.inputs)));
}

void PassRun::make(const Pool& pool) {
  put(pool.output, setup_.pools->exchange(pool.name, value(pool.input), key(RandomDraw::kPool, 0)));
}

void PassRun::make(const Augment& augment) {
  const at::AutoGradMode with_graph(has_gradient());
  // The judge was awaited: what comes next is its forward, and its strength that of its weights.
  augment_strength_ = augmentation_.strength_of(*setup_.networks[augment.judge]);
  put(augment.output, augmentation_.augmented(value(augment.input), augment_strength_,
                                              key(RandomDraw::kAugmentFlip, augment.stream)));
}

void PassRun::make(const Loss& loss) {
  const at::AutoGradMode with_graph(has_gradient());
  const at::Tensor mean = losses_.at(loss.function)(values_of(loss.inputs));
  made_[static_cast<std::size_t>(node_)] = {loss.weight == 1.0 ? mean : mean * loss.weight};
}

void PassRun::pull(const Loss& loss, StepLosses& losses) {
  const at::Tensor made = std::exchange(made_[static_cast<std::size_t>(node_)], {}).front();
  if (has_gradient()) {
    torch::autograd::backward({made}, {at::full_like(made, loss_scale())});
  }
  if (loss.shown_with) {
    losses.add(*loss.shown_with, at_.microbatch, made, phase().repeats);
    for (JudgedLogits& judged : judged_by(pass(), loss, setup_.job)) {
      judged.microbatch = at_.microbatch;
      judged.logits = value(judged.tensor).detach();
      if (setup_.job.training.augment.is_adaptive()) {
        losses.set_figure(at_.microbatch, judged.network + "_augment_strength", augment_strength_);
      }
      if (const std::string examples = judged_examples(pass(), judged, setup_.job);
          !examples.empty()) {
        losses.add_figure(spread_figure(judged), at_.microbatch, spread_of(value(examples)),
                          phase().repeats);
      }
      losses.add_logits(std::move(judged));
    }
  }
}

void PassRun::pull(bool trains) {
  if (!has_gradient()) {
    return;
  }
  const std::vector<at::Tensor> made = std::exchange(made_[static_cast<std::size_t>(node_)], {});
  const std::vector<std::string> names = pipeline::outputs_of(node());
  std::vector<at::Tensor> looked_at;  // those of its outputs that a loss depends on
  std::vector<at::Tensor> gradients;
  for (std::size_t i = 0; i < made.size(); ++i) {
    at::Tensor& taken = value(names[i]);
    if (taken.grad().defined()) {
      looked_at.push_back(made[i]);
      gradients.push_back(taken.grad());
    }
    taken.reset();
  }
  // Towards the inputs only, where its weights are not trained: their gradients are neither
  // computed nor touched.
  std::vector<at::Tensor> wanted;
  for (const std::string& input : pipeline::inputs_of(node())) {
    if (!trains && value(input).requires_grad()) {
      wanted.push_back(value(input));
    }
  }
  const gan::Tf32Products products(precision());
  torch::autograd::backward(looked_at, gradients, std::nullopt, /*create_graph=*/false, wanted);
}

void PassRun::put(const std::vector<std::string>& names, Kept result) {
  for (std::size_t i = 0; i < result.made.size(); ++i) {
    at::Tensor value = result.made[i];
    if (has_gradient() || value.requires_grad()) {
      value = value.detach().requires_grad_(has_gradient());
    }
    values_.push_back({names[i], value});
  }
  if (has_gradient()) {
    made_[static_cast<std::size_t>(node_)] = result.made;
  }
  if (node_ < num_kept_) {
    kept_[place_of(at_)][node_] = std::move(result);
  }
}

bool PassRun::has_gradient() const { return pass().has_gradient[static_cast<std::size_t>(node_)]; }

const Phase& PassRun::phase() const { return setup_.phases[static_cast<std::size_t>(at_.phase)]; }

const Node& PassRun::node() const { return pass().nodes[static_cast<std::size_t>(node_)]; }

Precision PassRun::precision() const {
  const auto* application = std::get_if<Application>(&node());
  return application == nullptr ? Precision::kFp32
                                : setup_.job.networks[application->network].precision;
}

const Pass& PassRun::pass() const { return phase().passes[static_cast<std::size_t>(at_.pass)]; }

at::Tensor& PassRun::value(const std::string& name) {
  const auto found = std::ranges::find(values_, name, &Value::name);
  if (found == values_.end()) {
    throw InvariantError("pass " + pass().name + " takes " + name + " before it is made");
  }
  return found->tensor;
}

std::vector<at::Tensor> PassRun::values_of(const std::vector<std::string>& names) {
  std::vector<at::Tensor> tensors;
  for (const std::string& name : names) {
    tensors.push_back(value(name));
  }
  return tensors;
}

gan::NamedTensors PassRun::taken(const std::vector<pipeline::Input>& inputs) {
  gan::NamedTensors tensors;
  for (const pipeline::Input& input : inputs) {
    tensors = tensors.with(input.name, value(input.tensor));
  }
  return tensors;
}

double PassRun::factor(const ScheduleSpec& schedule) const {
  // Counted up to the end of the step, as updates count.
  const double images =
      static_cast<double>(step_ + 1) * static_cast<double>(setup_.job.images_per_step());
  return scheduled(1.0, schedule, images, setup_.job.burn_in_images());
}

RandomKey PassRun::key(RandomDraw draw, int stream) const {
  return {.seed = seed_,
          .step = step_,
          .phase = at_.phase,
          .repeat = at_.repeat,
          .pass = at_.pass + (stream << 16),
          .microbatch = at_.microbatch,
          .draw = static_cast<std::int32_t>(draw)};
}

gan::ForwardContext PassRun::context(NetworkId network, gan::StatisticSink* sink,
                                     int stream) const {
  const NetworkSpec& spec = setup_.job.networks[network];
  gan::ForwardContext result{.mode = spec.is_frozen ? gan::Mode::kEvaluation : gan::Mode::kTraining,
                             .sink = sink,
                             .key = key(RandomDraw::kDropout, 0),
                             .precision = spec.precision,
                             .derivatives = gan::Derivatives::kFirst};
  // The first two streams have keys of their own for every pass, as ever; more follow behind them.
  result.key.pass = 2 * at_.pass + stream % 2 + ((stream / 2) << 16);
  return result;
}

}  // namespace gangway::worker
