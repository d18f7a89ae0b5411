// SPDX-License-Identifier: MIT
// Writes what networks trained with the relativistic loss make of random inputs, and their
// gradients, for r3gan_reference.py and gat_reference.py: everything in float64, so that nothing
// but a difference in meaning can show.
//
//   r3gan_sample EXPECTED.safetensors JOB_TEXT
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <deque>
#include <exception>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/format/safetensors.hpp"
#include "gan/blocks/build_networks.hpp"
#include "gan/losses/losses.hpp"
#include "gan/losses/penalty.hpp"
#include "gan/random_tensors.hpp"
#include "job/families/families.hpp"
#include "job/file/parse.hpp"
#include "tests/adversarial_networks.hpp"

namespace {

using namespace gangway;

constexpr std::int64_t kPairs = 3;

at::Tensor random_tensor(std::int32_t draw, at::IntArrayRef shape) {
  return gan::keyed_normal({.seed = 11, .draw = draw}, shape, at::kCPU).to(at::kDouble);
}

/// Named tensors as records; keeps what they look at.
class Doubles {
 public:
  void add(const std::string& name, const at::Tensor& tensor) {
    kept_.push_back(tensor.detach().to(at::kDouble).contiguous().clone());
    const at::Tensor& held = kept_.back();
    records_.push_back({.name = name,
                        .type = checkpoint::ElementType::kF64,
                        .shape = held.sizes().vec(),
                        .bytes = std::as_bytes(std::span(held.const_data_ptr<double>(),
                                                         static_cast<std::size_t>(held.numel())))});
  }
  void add_weights(gan::Network& network) {
    for (const auto& named : network.parameters()) {
      add(named.name, named.parameter->tensor);
    }
  }
  void add_gradients(gan::Network& network) {
    for (const auto& named : network.parameters()) {
      add("gradient/" + named.name, named.parameter->tensor.grad());
    }
  }
  [[nodiscard]] std::span<const checkpoint::TensorRecord> records() const { return records_; }

 private:
  std::deque<at::Tensor> kept_;
  std::vector<checkpoint::TensorRecord> records_;
};

/// Random weights, also where networks begin at zero, and gradients that are zero.
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

/// The relativistic loss of both, with R1 and R2.
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
  Doubles sample;
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

  prepare(networks[kDiscriminator]);  // the generator's loss has left gradients there
  sample.add("discriminator_loss", discriminator_loss(networks[kDiscriminator], job,
                                                      {real, fake.with("image", images.detach())}));
  sample.add_gradients(networks[kDiscriminator]);
  if (job.model.family->judges_depths) {  // what its discriminator has added to pictures
    constexpr auto kDraw = static_cast<std::int32_t>(gangway::RandomDraw::kDepthNoise);
    sample.add("depth_noise", gan::keyed_normal({.draw = kDraw}, images.sizes(), at::kCPU));
  }
  checkpoint::write_safetensors(file, sample.records(), {});
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::vector<std::string> words(argv + 1, argv + argc);
    write_sample(words.at(0), words.at(1));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "r3gan_sample: %s\n", error.what());
    return 1;
  }
}
