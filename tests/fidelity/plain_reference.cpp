// SPDX-License-Identifier: MIT
#include "tests/fidelity/plain_reference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "data/open_dataset.hpp"
#include "data/permutation.hpp"
#include "gan/grown_pictures.hpp"
#include "gan/losses/penalty.hpp"
#include "gan/random_tensors.hpp"
#include "gan/recipes/recipes.hpp"
#include "job/families/families.hpp"
#include "tests/adversarial_networks.hpp"
#include "tests/gan/whole_network_path_length.hpp"
#include "tests/gan/whole_network_penalty.hpp"

namespace gangway::fidelity {
namespace {

at::MemoryFormat format_of(const JobSpec& job, const at::Tensor& tensor) {
  const bool last = job.numerics.memory_format == MemoryFormat::kChannelsLast && tensor.dim() == 4;
  return last ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous;
}

void convert(gan::Network& network, const JobSpec& job, at::ScalarType precision) {
  for (const auto& named : network.parameters()) {
    const at::Tensor value = named.parameter->tensor.detach().to(precision);
    named.parameter->tensor.set_data(value.contiguous(format_of(job, value)));
  }
  for (const auto& named : network.statistics()) {
    named.statistic->running = named.statistic->running.to(precision);
  }
}

// The losses again, by LibTorch's functions instead of gan/losses.
at::Tensor adversarial_loss(LossKind loss, const at::Tensor& logits, bool is_real) {
  const at::Tensor target = is_real ? at::ones_like(logits) : at::zeros_like(logits);
  switch (loss) {
    case LossKind::kNonsaturating:
      return at::binary_cross_entropy_with_logits(logits, target);
    case LossKind::kLeastSquares:
      return at::mse_loss(logits, target);
    case LossKind::kHinge:
      return (is_real ? 1.0 - logits : 1.0 + logits).clamp_min(0.0).mean();
    default:
      return (is_real ? -1.0 : 1.0) * logits.mean();
  }
}

at::Tensor generator_loss(LossKind loss, const at::Tensor& logits) {
  return loss == LossKind::kHinge ? -logits.mean() : adversarial_loss(loss, logits, true);
}

/// Returns the term that orthogonal regularisation minimises (Brock et al., 2019, eq. 3).
at::Tensor overlap_of_rows(gan::Network& network) {
  at::Tensor sum;
  for (const auto& named : network.parameters()) {
    const at::Tensor& tensor = named.parameter->tensor;
    if (tensor.dim() >= 2 && named.parameter->name != "embedding") {
      const at::Tensor products = tensor.flatten(1).mm(tensor.flatten(1).t());
      const at::Tensor overlap = (products * (1.0 - at::eye(products.size(0)))).square().sum();
      sum = sum.defined() ? sum + overlap : overlap;
    }
  }
  return sum;
}

}  // namespace

PlainReference::PlainReference(const JobSpec& job, at::ScalarType precision)
    : job_(job),
      precision_(precision),
      phases_(gan::phases_of(job)),
      dataset_(data::open_dataset(job.data, job.model, job.training.seed)),
      networks_(gan::build_networks(job)) {
  for (gan::Network* each : {&networks_[kGenerator], &networks_[kDiscriminator]}) {
    each->initialise(job.training.seed);
    convert(*each, job, precision);
  }
}

void PlainReference::set_weights(const NamedValues& values) {
  const at::NoGradGuard no_grad;
  for (gan::Network* each : {&networks_[kGenerator], &networks_[kDiscriminator]}) {
    for (const auto& named : each->parameters()) {
      if (const auto found = values.find(named.name); found != values.end()) {
        named.parameter->tensor.copy_(found->second);
      }
    }
    for (const auto& named : each->statistics()) {
      if (const auto found = values.find(named.name); found != values.end()) {
        named.statistic->running.copy_(found->second);
      }
    }
  }
}

PlainGradients PlainReference::gradients(const pipeline::Phase& phase, std::int64_t step,
                                         int repeat) {
  gan::Network& trained = network(phase.networks.front());
  for (gan::Network* each : {&networks_[kGenerator], &networks_[kDiscriminator]}) {
    each->grow_to(job_.growth_level((step + 1) * job_.images_per_step()));
    for (const auto& named : each->parameters()) {
      named.parameter->tensor.mutable_grad() = at::zeros_like(named.parameter->tensor);
    }
  }
  seen_ = {};
  PlainGradients result;
  for (int microbatch = 0; microbatch < job_.training.microbatches; ++microbatch) {
    at::Tensor loss;
    for (int pass = 0; pass < static_cast<int>(phase.passes.size()); ++pass) {
      const at::Tensor term = pass_loss({phase, step, repeat, pass, microbatch});
      loss = loss.defined() ? loss + term : term;
    }
    torch::autograd::backward({loss}, {});
    result.losses.push_back(loss.item<double>());
  }
  const double count = job_.training.microbatches;
  if (phase.orthogonal_weight > 0.0) {
    torch::autograd::backward({overlap_of_rows(trained) * (phase.orthogonal_weight * count)}, {});
  }
  for (const auto& named : trained.parameters()) {
    result.mean[named.name] = named.parameter->tensor.grad() / count;
  }
  const bool is_discriminator = pipeline::trains(phase, kDiscriminator);
  const double harvests = count * (is_discriminator ? 2.0 : 1.0);
  for (const auto& named : trained.statistics()) {
    result.statistics[named.name] = seen_.of(*named.statistic) / harvests;
  }
  return result;
}

at::Tensor PlainReference::pass_loss(const Place& at) {
  const std::string& name = at.phase.passes[static_cast<std::size_t>(at.pass)].name;
  if (name == "real") {
    const at::Tensor said = logits(at, reals(at), 0);
    const at::Tensor loss = job_.training.labels.is_any()
                                ? noisy_loss(at, said)
                                : adversarial_loss(job_.training.loss, said, true);
    return loss + lecam(said, "lecam_real", "lecam_fake");
  }
  if (name == "fake") {
    const at::Tensor said = logits(at, fakes(at), 1);
    return adversarial_loss(job_.training.loss, said, false) +
           lecam(said, "lecam_fake", "lecam_real");
  }
  if (name == "pair") {
    return -at::log_sigmoid(logits(at, reals(at), 0) - logits(at, fakes(at), 1)).mean();
  }
  if (name == "gradient_penalty") {
    return gradient_penalty(at);
  }
  if (name == "r1") {
    return r1_on(at, reals(at), job_.training.penalty.r1_gamma);
  }
  if (name == "r2") {
    return r1_on(at, fakes(at), job_.training.penalty.r2_gamma);
  }
  if (name == "generate") {
    return generator_loss(job_.training.loss, logits(at, fakes(at), 1));
  }
  if (name == "generate_pair") {
    return -at::log_sigmoid(logits(at, fakes(at), 1) - logits(at, reals(at), 0)).mean();
  }
  if (name == "path_length") {
    return path_lengths(at);
  }
  throw std::logic_error("the reference knows no pass " + name);
}

at::Tensor PlainReference::noisy_loss(const Place& at, const at::Tensor& said) const {
  const LabelSpec& labels = job_.training.labels;
  const at::Tensor draws =
      gan::keyed_uniform(key(at, RandomDraw::kLabelFlip), said.sizes(), at::kCPU);
  const at::Tensor target =
      at::full_like(said.detach(), 1.0 - labels.smoothing).masked_fill(draws.lt(labels.noise), 0.0);
  return job_.training.loss == LossKind::kLeastSquares
             ? at::mse_loss(said, target)
             : at::binary_cross_entropy_with_logits(said, target);
}

at::Tensor PlainReference::lecam(const at::Tensor& said, const std::string& kind,
                                 const std::string& other) {
  const double weight = job_.training.lecam.weight;
  if (weight == 0.0) {
    return at::zeros({}, said.options());
  }
  // A micro-batch's leaf has two harvests, but only one application has this mean.
  gan::Network& discriminator = networks_[kDiscriminator];
  seen_.take(discriminator.kept_mean(kind), 2.0 * said.detach().mean().reshape({1}));
  return weight * (said - discriminator.kept_mean(other).running).square().mean();
}

PlainReference::Images PlainReference::reals(const Place& at) const {
  // Every repeat of the discriminator's phase sees new images. Later phases of the step see the
  // images of its last repeat.
  const int repeat = at.phase.index == 0 ? at.repeat : job_.network("discriminator").steps - 1;
  const int count = job_.images_per_microbatch();
  const std::int64_t first = at.step * job_.images_per_step() +
                             std::int64_t{repeat} * job_.training.batch +
                             std::int64_t{at.microbatch} * count;
  const data::SampleOrder order(job_.training.seed, dataset_->size());
  const std::size_t elements = dataset_->shape().elements();
  std::vector<float> pixels(static_cast<std::size_t>(count) * elements);
  at::Tensor labels = at::zeros({count}, at::kLong);
  for (int i = 0; i < count; ++i) {
    const std::span<float> out =
        std::span(pixels).subspan(static_cast<std::size_t>(i) * elements, elements);
    labels[i] = dataset_->read(order.dataset_index(first + i), out);
  }
  std::vector<std::int64_t> shape = example_shape(job_.model);
  shape.insert(shape.begin(), count);
  const at::Tensor images = at::from_blob(pixels.data(), shape, at::kFloat).clone().to(precision_);
  return {gan::as_grown(images.contiguous(format_of(job_, images)),
                        job_.growth_level((at.step + 1) * job_.images_per_step())),
          labels};
}

PlainReference::Images PlainReference::fakes(const Place& at) {
  const Place drawn = drawn_in(at);
  gan::NamedTensors in = generator_input(drawn, job_.images_per_microbatch());
  if (job_.training.loss == LossKind::kRelativistic && job_.model.classes > 0) {
    in = in.with("labels", reals(at).labels);  // labels of the real images of the pair
  }
  Images images;
  if (in.has("labels")) {
    images.labels = in.at("labels");
  }
  const bool trains_generator = pipeline::trains(at.phase, kGenerator);
  images.pixels =
      networks_[kGenerator].forward(in, context(drawn, trains_generator ? &seen_ : nullptr, 0));
  if (!trains_generator) {
    images.pixels = images.pixels.detach();
  }
  return images;
}

gan::NamedTensors PlainReference::generator_input(const Place& at, int count) const {
  const at::Tensor noise =
      gan::keyed_normal(key(at, RandomDraw::kNoise), {count, job_.model.latent}, at::kCPU)
          .to(precision_);
  const gan::NamedTensors in{{"noise", noise}};
  return job_.model.classes > 0
             ? in.with("labels", gan::keyed_labels(key(at, RandomDraw::kLabel), count,
                                                   job_.model.classes, at::kCPU))
             : in;
}

at::Tensor PlainReference::path_lengths(const Place& at) {
  gan::Network& generator = networks_[kGenerator];
  const gan::Statistic& mean = *generator.statistics().front().statistic;
  const int half = std::max(1, job_.images_per_microbatch() / 2);
  const gan::WholePathLength found = gan::whole_network_path_length(
      generator, job_.training.path_length.weight * at.phase.interval, mean.running.item<double>(),
      generator_input(at, half), context(at, /*sink=*/nullptr, 0));
  seen_.take(mean, found.mean_length.reshape({1}));
  return found.penalty;
}

PlainReference::Place PlainReference::drawn_in(const Place& at) const {
  if (!job_.training.reuse_fakes || !pipeline::trains(at.phase, kGenerator)) {
    return at;
  }
  const pipeline::Phase& before = phases_.front();
  const auto fakes = std::ranges::find_if(before.passes, [](const pipeline::Pass& pass) {
    return pass.name == "fake" || pass.name == "pair";
  });
  return {before, at.step, before.repeats - 1, static_cast<int>(fakes - before.passes.begin()),
          at.microbatch};
}

at::Tensor PlainReference::logits(const Place& at, const Images& images, int sub_pass) {
  const bool trains_discriminator = pipeline::trains(at.phase, kDiscriminator);
  return networks_[kDiscriminator].forward(
      input(images), context(at, trains_discriminator ? &seen_ : nullptr, sub_pass));
}

at::Tensor PlainReference::gradient_penalty(const Place& at) {
  const Images real = reals(at);
  const at::Tensor fake = fakes(at).pixels;
  std::vector<std::int64_t> shape(static_cast<std::size_t>(fake.dim()), 1);
  shape.front() = fake.size(0);
  const at::Tensor mix =
      gan::keyed_uniform(key(at, RandomDraw::kMix), shape, at::kCPU).to(precision_);
  return gan::whole_network_penalty(networks_[kDiscriminator], gan::PenaltyKind::kGradientPenalty,
                                    job_.training.penalty.gradient_penalty *
                                        factor_of(job_.training.penalty.gradient_schedule, at.step),
                                    input({mix * real.pixels + (1.0 - mix) * fake, real.labels}),
                                    context(at, /*sink=*/nullptr, 0));
}

double PlainReference::factor_of(const ScheduleSpec& schedule, std::int64_t step) const {
  const double kimg = static_cast<double>((step + 1) * job_.images_per_step()) / 1000.0;
  return schedule.decay == DecayKind::kLinear
             ? 1.0 + std::min(1.0, kimg / schedule.end_kimg) * (schedule.final_value - 1.0)
             : 1.0;
}

at::Tensor PlainReference::r1_on(const Place& at, const Images& images, double gamma) {
  const TrainingSpec& training = job_.training;
  const double kimg = static_cast<double>((at.step + 1) * job_.images_per_step()) / 1000.0;
  const double end = training.burn_in_kimg > 0.0 ? training.burn_in_kimg : training.kimg;
  const double done = 0.5 - 0.5 * std::cos(M_PI * std::min(1.0, kimg / end));
  gamma *= 1.0 + done * (training.penalty.final_factor - 1.0);
  gamma *= factor_of(training.penalty.gamma_schedule, at.step);
  return gan::whole_network_penalty(networks_[kDiscriminator], gan::PenaltyKind::kR1,
                                    gamma * at.phase.interval, input(images),
                                    context(at, /*sink=*/nullptr, 0));
}

RandomKey PlainReference::key(const Place& at, RandomDraw draw) const {
  return {.seed = job_.training.seed,
          .step = at.step,
          .phase = at.phase.index,
          .repeat = at.repeat,
          .pass = at.pass,
          .microbatch = at.microbatch,
          .draw = static_cast<std::int32_t>(draw)};
}

gan::ForwardContext PlainReference::context(const Place& at, gan::StatisticSink* sink,
                                            int sub_pass) const {
  gan::ForwardContext result{
      .mode = gan::Mode::kTraining, .sink = sink, .key = key(at, RandomDraw::kDropout)};
  result.key.pass = 2 * at.pass + sub_pass;
  return result;
}

gan::NamedTensors PlainReference::input(const Images& images) const {
  gan::NamedTensors in{{"image", images.pixels}};
  return job_.model.classes > 0 ? in.with("labels", images.labels) : in;
}

gan::Network& PlainReference::network(NetworkId id) { return networks_[id]; }

double relative_error(const at::Tensor& value, const at::Tensor& reference) {
  const at::Tensor expected = reference.to(at::kDouble);
  const double difference = (value.to(at::kDouble) - expected).abs().max().item<double>();
  const double scale = expected.abs().max().item<double>();
  if (difference == 0.0) {
    return 0.0;
  }
  return scale == 0.0 ? std::numeric_limits<double>::infinity() : difference / scale;
}

}  // namespace gangway::fidelity
