// SPDX-License-Identifier: MIT
#include "gan/evaluation/generate.hpp"

#include "base/errors.hpp"
#include "gan/random_tensors.hpp"
#include "job/families/families.hpp"

namespace gangway::gan {
namespace {

/// What a generator is given, an example a row, on the CPU.
struct Latents {
  Latents(const ModelSpec& model, std::int64_t count)
      : noise(at::empty({count, model.inputs()}, at::kFloat)),
        labels(at::zeros({count}, at::kLong)) {}
  at::Tensor noise;   ///< and the latent codes, if the model has some
  at::Tensor labels;  ///< of a model without classes nobody looks at them
};

at::Tensor generate(Network& generator, const ModelSpec& model, const Latents& latents) {
  const at::NoGradGuard no_grad;
  const at::Device device = generator.device();
  NamedTensors in{{"noise", latents.noise.to(device)}};
  if (model.classes > 0) {
    in = in.with("labels", latents.labels.to(device));
  }
  return generator.forward(in, {.mode = Mode::kEvaluation, .sink = nullptr, .key = {}})
      .to(at::kCPU);
}

RandomKey with_draw(RandomKey key, RandomDraw draw) {
  key.draw = static_cast<std::int32_t>(draw);
  return key;
}

/// Fills a row of the noise, and of continuous codes; no category yet.
void draw_noise(const at::Tensor& row, const ModelSpec& model, const RandomKey& key) {
  row.zero_();
  row.narrow(0, 0, model.latent)
      .copy_(keyed_normal(with_draw(key, RandomDraw::kNoise), {model.latent}, at::kCPU));
  if (model.codes > 0) {
    row.narrow(0, model.latent, model.codes)
        .copy_(keyed_codes(with_draw(key, RandomDraw::kCode), 1, model.codes, at::kCPU)[0]);
  }
}

void set_category(const at::Tensor& row, const ModelSpec& model, std::uint64_t number) {
  if (model.categories > 0) {
    const auto category = number % static_cast<std::uint64_t>(model.categories);
    row[model.latent + model.codes + static_cast<std::int64_t>(category)] = 1.0F;
  }
}

RandomKey key_of_seed(std::uint64_t seed) { return {.seed = seed, .phase = kPhaseSample}; }

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
  const Latents latents(model, count);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint64_t seed = seeds[static_cast<std::size_t>(i)];
    const at::Tensor row = latents.noise[i];
    draw_noise(row, model, key_of_seed(seed));
    set_category(row, model, seed);
    if (model.classes > 0) {
      const auto classes = static_cast<std::uint64_t>(model.classes);
      latents.labels.mutable_data_ptr<std::int64_t>()[i] =
          label.value_or(static_cast<std::int64_t>(seed % classes));
    }
  }
  return generate(generator, model, latents);
}

at::Tensor generate_code_grid(Network& generator, const ModelSpec& model, int side) {
  const Latents latents(model, std::int64_t{side} * side);
  for (int row = 0; row < side; ++row) {
    for (int column = 0; column < side; ++column) {
      const std::int64_t example = std::int64_t{row} * side + column;
      const at::Tensor noise = latents.noise[example];
      const bool moves_code = model.codes > 0;
      draw_noise(noise, model, key_of_seed(static_cast<std::uint64_t>(moves_code ? row : column)));
      if (moves_code) {
        noise[model.latent] = side > 1 ? 2.0 * column / (side - 1) - 1.0 : 0.0;
      }
      set_category(noise, model, static_cast<std::uint64_t>(row));
      if (model.classes > 0) {
        latents.labels[example] = row % model.classes;
      }
    }
  }
  return generate(generator, model, latents);
}

at::Tensor evaluation_labels(const ModelSpec& model, std::uint64_t seed, std::int64_t count) {
  const at::Tensor labels = at::empty({count}, at::kLong);
  for (std::int64_t i = 0; i < count; ++i) {
    const RandomKey key{.seed = seed, .step = i, .phase = kPhaseEvaluation};
    labels[i].copy_(
        keyed_labels(with_draw(key, RandomDraw::kLabel), 1, model.classes, at::kCPU)[0]);
  }
  return labels;
}

ImageSource evaluation_samples(Network& generator, const ModelSpec& model, std::uint64_t seed) {
  return [&generator, model, seed](std::int64_t first, std::int64_t count) {
    const Latents latents(model, count);
    for (std::int64_t i = 0; i < count; ++i) {
      const RandomKey key{.seed = seed, .step = first + i, .phase = kPhaseEvaluation};
      const at::Tensor row = latents.noise[i];
      draw_noise(row, model, key);
      if (model.categories > 0) {
        row.narrow(0, model.latent + model.codes, model.categories)
            .copy_(keyed_categories(with_draw(key, RandomDraw::kCategory), 1, model.categories,
                                    at::kCPU)[0]);
      }
      if (model.classes > 0) {
        latents.labels[i].copy_(
            keyed_labels(with_draw(key, RandomDraw::kLabel), 1, model.classes, at::kCPU)[0]);
      }
    }
    const at::Tensor examples = generate(generator, model, latents);
    // As a picture shows them: some families have no tanh that bounds them.
    return model.family->makes_images() ? examples.clamp(-1.0, 1.0) : examples;
  };
}

}  // namespace gangway::gan
