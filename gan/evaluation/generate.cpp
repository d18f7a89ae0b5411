// SPDX-License-Identifier: MIT
#include "gan/evaluation/generate.hpp"

#include "base/errors.hpp"
#include "gan/random_tensors.hpp"

namespace gangway::gan {
namespace {

at::Tensor generate(Network& generator, const ModelSpec& model, const at::Tensor& noise,
                    const at::Tensor& labels) {
  const at::NoGradGuard no_grad;
  const at::Device device = generator.device();
  NamedTensors in{{"noise", noise.to(device)}};
  if (model.classes > 0) {
    in = in.with("labels", labels.to(device));
  }
  return generator.forward(in, {.mode = Mode::kEvaluation, .harvest = Harvest::kNo, .key = {}})
      .to(at::kCPU);
}

RandomKey with_draw(RandomKey key, RandomDraw draw) {
  key.draw = static_cast<std::int32_t>(draw);
  return key;
}

}  // namespace

at::Tensor generate_for_seeds(Network& generator, const ModelSpec& model,
                              std::span<const std::uint64_t> seeds,
                              std::optional<std::int64_t> label) {
  if (label && (*label < 0 || *label >= model.classes)) {
    throw ConfigError("there is no label " + std::to_string(*label) + ": the model has " +
                      (model.classes == 0
                           ? "no labels; leave --label out"
                           : "the labels 0 to " + std::to_string(model.classes - 1)));
  }
  const auto count = static_cast<std::int64_t>(seeds.size());
  const at::Tensor noise = at::empty({count, model.latent}, at::kFloat);
  const at::Tensor labels = at::zeros({count}, at::kLong);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint64_t seed = seeds[static_cast<std::size_t>(i)];
    const RandomKey key = with_draw({.seed = seed, .phase = kPhaseSample}, RandomDraw::kNoise);
    noise[i].copy_(keyed_normal(key, {model.latent}, at::kCPU));
    if (model.classes > 0) {
      const auto classes = static_cast<std::uint64_t>(model.classes);
      labels.mutable_data_ptr<std::int64_t>()[i] =
          label.value_or(static_cast<std::int64_t>(seed % classes));
    }
  }
  return generate(generator, model, noise, labels);
}

ImageSource evaluation_samples(Network& generator, const ModelSpec& model, std::uint64_t seed) {
  return [&generator, model, seed](std::int64_t first, std::int64_t count) {
    const at::Tensor noise = at::empty({count, model.latent}, at::kFloat);
    const at::Tensor labels = at::zeros({count}, at::kLong);
    for (std::int64_t i = 0; i < count; ++i) {
      const RandomKey key{.seed = seed, .step = first + i, .phase = kPhaseEvaluation};
      noise[i].copy_(keyed_normal(with_draw(key, RandomDraw::kNoise), {model.latent}, at::kCPU));
      if (model.classes > 0) {
        labels[i].copy_(
            keyed_labels(with_draw(key, RandomDraw::kLabel), 1, model.classes, at::kCPU)[0]);
      }
    }
    return generate(generator, model, noise, labels);
  };
}

}  // namespace gangway::gan
