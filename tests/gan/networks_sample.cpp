// SPDX-License-Identifier: MIT
// Writes the outputs for random inputs of networks under the relativistic loss, and their
// gradients, for networks_reference.py. All in float64, so that only differences in meaning show.
//
//   networks_sample FOLDER JOB_TEXT...      writes FOLDER/0.safetensors, FOLDER/1.safetensors, ...
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include "gan/blocks/build_networks.hpp"
#include "gan/blocks/style_blocks.hpp"
#include "gan/losses/losses.hpp"
#include "gan/losses/penalty.hpp"
#include "gan/random_tensors.hpp"
#include "job/families/families.hpp"
#include "job/file/parse.hpp"
#include "tests/adversarial_networks.hpp"
#include "tests/gan/sample_tensors.hpp"

namespace {

using namespace gangway;

constexpr std::int64_t kPairs = 3;

at::Tensor random_tensor(std::int32_t draw, at::IntArrayRef shape) {
  return gan::keyed_normal({.seed = 11, .draw = draw}, shape, at::kCPU).to(at::kDouble);
}

/// Sets random weights, also where training begins with zero, and zero gradients.
void prepare(gan::Network& network) {
  std::int32_t draw = 100;
  for (const auto& named : network.parameters()) {
    at::Tensor& tensor = named.parameter->tensor;
    const double scale =
        tensor.dim() > 1 ? 1.0 / std::sqrt(static_cast<double>(tensor[0].numel())) : 0.3;
    tensor.set_data(random_tensor(draw++, tensor.sizes()).mul_(scale));
    tensor.mutable_grad() = at::zeros_like(tensor);
  }
}

struct Sides {
  gan::NamedTensors real;
  gan::NamedTensors fake;
};

/// Returns the relativistic loss of both networks, with R1 and R2.
at::Tensor discriminator_loss(gan::Network& discriminator, const JobSpec& job, const Sides& sides) {
  const std::array<at::Tensor, 2> logits{discriminator.forward(sides.real, {}),
                                         discriminator.forward(sides.fake, {})};
  at::Tensor loss = gan::loss_named("relativistic")(logits);
  torch::autograd::backward({loss}, {});
  loss = loss.detach();
  const PenaltySpec& penalty = job.training.penalty;
  const auto penalise = [&](double gamma, const gan::NamedTensors& in) {
    gan::BlockwisePenalty sweeps(discriminator, gan::PenaltyKind::kR1, gamma);
    sweeps.forward(in, {});
    loss = loss + sweeps.backward();
  };
  penalise(penalty.r1_gamma, sides.real);
  penalise(penalty.r2_gamma, sides.fake);
  return loss;
}

/// Adds the random numbers of StyleGAN2's generator for `in`, and its path length regularisation
/// with weight 2 and a moving mean of 0.5.
void add_styles(testing::SampleTensors& sample, gan::Network& generator,
                const gan::NamedTensors& in, std::int64_t channels) {
  const auto key = [](RandomDraw draw, std::int32_t block) {
    return RandomKey{.block = block, .draw = static_cast<std::int32_t>(draw)};
  };
  const auto normal = [&](RandomDraw draw, std::int32_t block, at::IntArrayRef shape) {
    return gan::keyed_normal(key(draw, block), shape, at::kCPU);
  };
  std::int64_t side = 0;
  for (std::size_t i = 0; i < generator.num_blocks(); ++i) {
    if (const auto* layer = dynamic_cast<gan::StyleLayer*>(&generator.block(i))) {
      side = layer->spec().side;
      sample.add(
          std::string("layer_noise/").append(std::to_string(i)),
          normal(RandomDraw::kLayerNoise, static_cast<std::int32_t>(i), {kPairs, 1, side, side}));
    }
  }
  sample.add("style_noise", normal(RandomDraw::kStyleNoise, 0, in.at("noise").sizes()));
  sample.add("style_cut", gan::keyed_uniform(key(RandomDraw::kStyleCut, 0), {kPairs, 2}, at::kCPU));
  sample.add("path_noise", normal(RandomDraw::kPathNoise, 0, {kPairs, channels, side, side}));
  prepare(generator);
  generator.statistics().front().statistic->running.fill_(0.5);
  gan::BlockwisePenalty sweeps(generator, gan::PenaltyKind::kPathLength, 2.0);
  sweeps.forward(in, {});
  sample.add("path_length_loss", sweeps.backward());
  sample.add_gradients(generator, "path_gradient/");
}

void write_sample(const std::filesystem::path& file, const std::string& text) {
  const JobSpec job = parse_job(text, "sample job");
  PerNetwork<gan::Network> networks = gan::build_networks(job);
  prepare(networks[kGenerator]);
  prepare(networks[kDiscriminator]);
  std::vector<std::int64_t> shape = example_shape(job.model);
  shape.insert(shape.begin(), kPairs);
  const at::Tensor noise = random_tensor(1, {kPairs, job.model.latent});
  const at::Tensor real_labels = at::arange(kPairs).remainder(std::max(1, job.model.classes));
  const at::Tensor fake_labels = real_labels.flip(0);
  const gan::NamedTensors real{{"image", random_tensor(2, shape)}, {"labels", real_labels}};
  testing::SampleTensors sample;
  sample.add_weights(networks[kGenerator]);
  sample.add_weights(networks[kDiscriminator]);
  sample.add("noise", noise);
  sample.add("real", real.at("image"));
  sample.add("real_labels", real_labels);
  sample.add("fake_labels", fake_labels);

  const at::Tensor images =
      networks[kGenerator].forward({{"noise", noise}, {"labels", fake_labels}}, {});
  const gan::NamedTensors fake{{"image", images}, {"labels", fake_labels}};
  sample.add("images", images);
  sample.add("logits", networks[kDiscriminator].forward(real, {}));
  const std::array<at::Tensor, 2> logits{networks[kDiscriminator].forward(fake, {}),
                                         networks[kDiscriminator].forward(real, {})};
  const at::Tensor generator_loss = gan::loss_named("relativistic")(logits);
  torch::autograd::backward({generator_loss}, {});
  sample.add("generator_loss", generator_loss);
  sample.add_gradients(networks[kGenerator]);

  prepare(networks[kDiscriminator]);  // removes gradients of the generator's loss
  sample.add("discriminator_loss", discriminator_loss(networks[kDiscriminator], job,
                                                      {real, fake.with("image", images.detach())}));
  sample.add_gradients(networks[kDiscriminator]);
  if (job.model.family->judges_depths) {  // noise that its discriminator adds to pictures
    constexpr auto kDraw = static_cast<std::int32_t>(gangway::RandomDraw::kDepthNoise);
    sample.add("depth_noise", gan::keyed_normal({.draw = kDraw}, images.sizes(), at::kCPU));
  }
  if (job.model.family->takes("model.style_mixing")) {
    add_styles(sample, networks[kGenerator], {{"noise", noise}, {"labels", fake_labels}},
               job.model.channels);
  }
  sample.write(file);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::filesystem::path folder = argv[1];
    for (int job = 2; job < argc; ++job) {
      write_sample(folder / (std::to_string(job - 2) + ".safetensors"), argv[job]);
    }
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "networks_sample: %s\n", error.what());
    return 1;
  }
}
