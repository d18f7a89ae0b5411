// SPDX-License-Identifier: MIT
#include "gan/evaluation/generate.hpp"

#include <algorithm>
#include <cmath>

#include "base/errors.hpp"
#include "gan/random_tensors.hpp"
#include "job/families/families.hpp"

namespace gangway::gan {
namespace {

Latents new_latents(const ModelSpec& model, std::int64_t count) {
  return {.noise = at::empty({count, model.inputs()}, at::kFloat),
          .labels = at::zeros({count}, at::kLong)};
}

RandomKey with_draw(RandomKey key, RandomDraw draw) {
  key.draw = static_cast<std::int32_t>(draw);
  return key;
}

/// Draws a row of noise and continuous codes, without a category.
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

Latents latents_of_seeds(const ModelSpec& model, std::span<const std::uint64_t> seeds,
                         std::optional<std::int64_t> label) {
  if (label && (*label < 0 || *label >= model.classes)) {
    throw ConfigError("there is no label " + std::to_string(*label) + ": the model has " +
                      (model.classes == 0
                           ? "no labels; leave --label out"
                           : "the labels 0 to " + std::to_string(model.classes - 1)));
  }
  const auto count = static_cast<std::int64_t>(seeds.size());
  const Latents latents = new_latents(model, count);
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
  return latents;
}

Latents latents_between(const ModelSpec& model, const Latents& ends, int frames) {
  const at::Tensor first = ends.noise[0].to(at::kDouble);
  const at::Tensor last = ends.noise[1].to(at::kDouble);
  const auto noise_of = [&](const at::Tensor& row) { return row.narrow(0, 0, model.latent); };
  const double cosine =
      (noise_of(first).dot(noise_of(last)) / (noise_of(first).norm() * noise_of(last).norm()))
          .item<double>();
  const double angle = std::acos(std::clamp(cosine, -1.0, 1.0));
  const Latents between = new_latents(model, frames);
  between.labels.copy_(ends.labels.slice(0, 0, 1).expand({frames}));
  for (int frame = 0; frame < frames; ++frame) {
    const double share = static_cast<double>(frame) / (frames - 1);
    const bool is_arc = angle > 1e-6;
    const double left = is_arc ? std::sin((1.0 - share) * angle) / std::sin(angle) : 1.0 - share;
    const double right = is_arc ? std::sin(share * angle) / std::sin(angle) : share;
    between.noise[frame].copy_(first * (1.0 - share) + last * share);
    noise_of(between.noise[frame]).copy_(noise_of(first) * left + noise_of(last) * right);
  }
  return between;
}

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

at::Tensor generate_for_seeds(Network& generator, const ModelSpec& model,
                              std::span<const std::uint64_t> seeds,
                              std::optional<std::int64_t> label) {
  return generate(generator, model, latents_of_seeds(model, seeds, label));
}

at::Tensor generate_code_grid(Network& generator, const ModelSpec& model, int side) {
  const Latents latents = new_latents(model, std::int64_t{side} * side);
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

Latents evaluation_latents(const ModelSpec& model, std::uint64_t seed, std::int64_t first,
                           std::int64_t count) {
  const Latents latents = new_latents(model, count);
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
  return latents;
}

ImageSource evaluation_samples(Network& generator, const ModelSpec& model, std::uint64_t seed) {
  return [&generator, model, seed](std::int64_t first, std::int64_t count) {
    const at::Tensor examples =
        generate(generator, model, evaluation_latents(model, seed, first, count));
    // Clamps pictures because some families have no tanh.
    return model.family->makes_images() ? examples.clamp(-1.0, 1.0) : examples;
  };
}

}  // namespace gangway::gan
