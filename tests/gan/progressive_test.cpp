// SPDX-License-Identifier: MIT
// Growing networks: their values at a level and within a fade, and their unused blocks.
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "gan/blocks/build_networks.hpp"
#include "gan/grown_pictures.hpp"
#include "gan/random_tensors.hpp"
#include "job/families/families.hpp"
#include "job/families/family_networks.hpp"
#include "tests/adversarial_networks.hpp"
#include "tests/gan/whole_network_penalty.hpp"
#include "tests/named_rows.hpp"

namespace gangway::gan {
namespace {

constexpr double kExact = 1e-12;
const std::vector<double> kLevels{0.0, 0.25, 1.0, 1.4, 2.0, 2.75, 3.0, kFullyGrown};

JobSpec progressive_of(int resolution, int classes = 0) {
  JobSpec job;
  job.model = {.family = family_named("progressive"),
               .resolution = resolution,
               .width = 6 * 32 / resolution,
               .latent = 5,
               .channels = 3,
               .classes = classes};
  return job;
}

/// Sets all biases to nonzero values.
void randomise_in_double(Network& network) {
  network.initialise(1);
  std::int32_t position = 0;
  for (const Network::NamedParameter& named : network.parameters()) {
    at::Tensor& tensor = named.parameter->tensor;
    const at::Tensor value =
        keyed_normal({.seed = 5, .block = position++}, tensor.sizes(), at::kCPU);
    tensor.set_data(value.to(at::kDouble));
  }
}

at::Tensor weight_of(Network& network, const std::string& name) {
  for (const Network::NamedParameter& named : network.parameters()) {
    if (named.name == network.name() + "/" + name) {
      return named.parameter->tensor;
    }
  }
  throw std::logic_error("no parameter " + name);
}

at::Tensor pictures(std::int64_t count, std::int64_t side) {
  return keyed_normal({.seed = 6}, {count, 3, side, side}, at::kCPU).to(at::kDouble);
}

at::Tensor noise_of(std::int64_t count) {
  return keyed_normal({.seed = 2}, {count, 5}, at::kCPU).to(at::kDouble);
}

// The formulas again, by functions that the blocks do not use.

at::Tensor halved(const at::Tensor& x) {
  return x.reshape({x.size(0), x.size(1), x.size(2) / 2, 2, x.size(3) / 2, 2}).mean({3, 5});
}

at::Tensor doubled(const at::Tensor& x) {
  return x.repeat_interleave(2, 2).repeat_interleave(2, 3);
}

at::Tensor leaky(const at::Tensor& x) { return at::where(x > 0, x, 0.2 * x); }

at::Tensor normalized(const at::Tensor& x) { return x / (x.pow(2).mean(1, true) + 1e-8).sqrt(); }

/// A layer with He's constant, `gain` * sqrt(1 / fan-in), on its input instead of its weight.
at::Tensor layer(Network& network, const std::string& name, const at::Tensor& x, double gain) {
  const at::Tensor weight = weight_of(network, name + ".weight");
  const at::Tensor bias = weight_of(network, name + ".bias");
  const at::Tensor scaled = x * (gain / std::sqrt(static_cast<double>(weight[0].numel())));
  return weight.dim() == 2 ? at::linear(scaled, weight, bias)
                           : at::conv2d(scaled, weight, bias, 1, weight.size(2) / 2);
}

at::Tensor leaky_layer(Network& network, const std::string& name, const at::Tensor& x) {
  return leaky(layer(network, name, x, std::sqrt(2.0)));
}

/// Returns pictures of 16 pixels at growth 1 + `share`, between 8 and 16.
at::Tensor plain_pictures(Network& network, const at::Tensor& noise, double share) {
  const auto step = [&](const std::string& name, const at::Tensor& x) {
    return normalized(leaky_layer(network, name, x));
  };
  const at::Tensor scaled = normalized(noise) * std::sqrt(2.0 / 5.0);
  at::Tensor x = at::linear(scaled, weight_of(network, "0/first.weight")).reshape({-1, 6, 4, 4});
  x = normalized(leaky(x + weight_of(network, "0/first.bias").view({1, 6, 1, 1})));
  x = step("0/second", x);
  x = step("1/second", step("1/first", doubled(x)));
  const at::Tensor coarse = doubled(layer(network, "1/picture", x, 1.0));
  x = step("2/second", step("2/first", doubled(x)));
  return (1.0 - share) * coarse + share * layer(network, "2/picture", x, 1.0);
}

at::Tensor plain_logits(Network& network, const at::Tensor& image, const at::Tensor& labels,
                        double share) {
  at::Tensor x = leaky_layer(network, "0/picture", image);
  x = halved(leaky_layer(network, "0/second", leaky_layer(network, "0/first", x)));
  x = share * x + (1.0 - share) * leaky_layer(network, "1/picture", halved(image));
  x = halved(leaky_layer(network, "1/second", leaky_layer(network, "1/first", x)));
  const at::Tensor deviation = (x.var(at::IntArrayRef{0}, /*unbiased=*/false) + 1e-8).sqrt().mean();
  x = at::cat({x, at::ones({x.size(0), 1, 4, 4}, at::kDouble) * deviation}, 1);
  x = leaky_layer(network, "2/first", x);
  x = leaky_layer(network, "2/second", x.reshape({x.size(0), -1}));
  const at::Tensor label = weight_of(network, "2/embedding").index_select(0, labels);
  return layer(network, "2/logit", x, 1.0) + (x * label / std::sqrt(6.0)).sum(1, true);
}

/// A model of 16 pixels: three parts, the last of which fades in.
ModelSpec sixteen_pixels(int classes) {
  ModelSpec model = progressive_of(32, classes).model;
  model.resolution = 16;
  model.width = 12;  // 6 channels
  return model;
}

TEST(Progressive, MakesPicturesOfThePaperWithinAFade) {
  constexpr double kShare = 0.3;
  Network network = build_network(progressive_generator(sixteen_pixels(0)));
  randomise_in_double(network);
  network.grow_to(1.0 + kShare);
  const at::Tensor images = network.forward({{"noise", noise_of(3)}}, {});
  const at::Tensor direction = pictures(3, 16);
  torch::autograd::backward({(images * direction).sum()}, {});
  const std::vector<at::Tensor> found = taken_gradients(network);
  const at::Tensor plain = plain_pictures(network, noise_of(3), kShare);
  torch::autograd::backward({(plain * direction).sum()}, {});
  EXPECT_LE((images - plain).abs().max().item<double>(), kExact * 10);
  expect_same_gradients(network, found, taken_gradients(network));
}

TEST(Progressive, JudgesAsInThePaperWithinAFade) {
  constexpr double kShare = 0.3;
  Network network = build_network(progressive_discriminator(sixteen_pixels(10)));
  randomise_in_double(network);
  network.grow_to(1.0 + kShare);
  const at::Tensor labels = at::tensor({3, 1, 7}, at::kLong);
  const at::Tensor image = pictures(3, 16);
  const at::Tensor weights = at::tensor({1.0, -2.0, 0.5}, at::kDouble).unsqueeze(1);
  const at::Tensor logits = network.forward({{"image", image}, {"labels", labels}}, {});
  torch::autograd::backward({(logits * weights).sum()}, {});
  const std::vector<at::Tensor> found = taken_gradients(network);
  const at::Tensor plain = plain_logits(network, image, labels, kShare);
  torch::autograd::backward({(plain * weights).sum()}, {});
  EXPECT_LE((logits - plain).abs().max().item<double>(), kExact * 10);
  expect_same_gradients(network, found, taken_gradients(network));
}

TEST(Progressive, MakesPicturesOfTheFinalResolutionAtAnyTime) {
  const at::NoGradGuard no_grad;
  for (const int resolution : {32, 64}) {
    PerNetwork<Network> networks = build_networks(progressive_of(resolution));
    for (Network* network : {&networks[kGenerator], &networks[kDiscriminator]}) {
      randomise_in_double(*network);
    }
    for (const double level : kLevels) {
      SCOPED_TRACE(testing::Message() << resolution << " pixels, grown to " << level);
      networks[kGenerator].grow_to(level);
      networks[kDiscriminator].grow_to(level);
      const at::Tensor images = networks[kGenerator].forward({{"noise", noise_of(2)}}, {});
      EXPECT_EQ(images.sizes().vec(), (std::vector<std::int64_t>{2, 3, resolution, resolution}));
      const at::Tensor logits = networks[kDiscriminator].forward({{"image", images}}, {});
      EXPECT_EQ(logits.sizes().vec(), (std::vector<std::int64_t>{2, 1}));
      EXPECT_TRUE(logits.isfinite().all().item<bool>());
    }
  }
}

TEST(Progressive, RepeatsPixelsThatItDoesNotMakeYet) {
  const at::NoGradGuard no_grad;
  Network generator = std::move(build_networks(progressive_of(32))[kGenerator]);
  randomise_in_double(generator);
  for (const auto& [level, square] : {std::pair(0.0, 8), std::pair(1.0, 4), std::pair(1.5, 2)}) {
    generator.grow_to(level);
    const at::Tensor images = generator.forward({{"noise", noise_of(2)}}, {});
    const at::Tensor corners = images.slice(2, 0, 32, square).slice(3, 0, 32, square);
    EXPECT_TRUE(images.equal(corners.repeat_interleave(square, 2).repeat_interleave(square, 3)));
    EXPECT_FALSE(corners.slice(2, 0, 1).equal(corners.slice(2, 1, 2)));
  }
}

TEST(Progressive, LooksNoCloserThanItHasGrown) {
  const at::NoGradGuard no_grad;
  Network discriminator = std::move(build_networks(progressive_of(32))[kDiscriminator]);
  randomise_in_double(discriminator);
  const at::Tensor image = pictures(2, 32);
  const at::Tensor coarse = doubled(halved(image));
  for (const double level : {2.0, 2.5}) {
    discriminator.grow_to(level);
    const at::Tensor apart = discriminator.forward({{"image", image}}, {}) -
                             discriminator.forward({{"image", coarse}}, {});
    EXPECT_EQ(apart.abs().max().item<double>() < kExact, level == 2.0) << level;
  }
}

TEST(Progressive, FadesFromOneResolutionToTheNext) {
  const at::NoGradGuard no_grad;
  Network generator = std::move(build_networks(progressive_of(32))[kGenerator]);
  randomise_in_double(generator);
  const auto at_level = [&](double level) {
    generator.grow_to(level);
    return generator.forward({{"noise", noise_of(2)}}, {});
  };
  const at::Tensor expected = 0.75 * at_level(1.0) + 0.25 * at_level(2.0);
  EXPECT_LE((at_level(1.25) - expected).abs().max().item<double>(), kExact * 10);
}

TEST(Progressive, TakesRealPicturesThatFadeAsItsOwn) {
  const at::Tensor image = pictures(2, 32);
  for (const double level : {0.0, 1.0, 3.0, kFullyGrown}) {
    EXPECT_TRUE(as_grown(image, level).is_same(image)) << level;
  }
  const at::Tensor coarse = doubled(doubled(halved(halved(image))));  // of 8 pixels
  const at::Tensor expected = 0.75 * coarse + 0.25 * image;
  EXPECT_LE((as_grown(image, 1.25) - expected).abs().max().item<double>(), kExact);
}

TEST(Progressive, GivesNoGradientToWhatIsNotThereYet) {
  PerNetwork<Network> networks = build_networks(progressive_of(32));
  for (const NetworkId id : {kGenerator, kDiscriminator}) {
    randomise_in_double(networks[id]);
    networks[id].grow_to(1.5);
  }
  const at::Tensor images = networks[kGenerator].forward({{"noise", noise_of(2)}}, {});
  torch::autograd::backward({networks[kDiscriminator].forward({{"image", images}}, {}).sum()}, {});
  for (const NetworkId id : {kGenerator, kDiscriminator}) {
    const auto is_there = [&](std::size_t block) {
      return id == kGenerator ? block <= 2 : block >= 1;  // 4, 8 and 16 pixels
    };
    for (const Network::NamedParameter& named : networks[id].parameters()) {
      const bool takes_a_picture = named.name.find("picture") != std::string::npos;
      const bool is_first = named.block == (id == kGenerator ? 0U : 3U);
      EXPECT_EQ(named.parameter->tensor.grad().defined(),
                is_there(named.block) && !(takes_a_picture && is_first))
          << named.name;
    }
  }
}

TEST(Progressive, TellsExamplesThatAreAlikeFromOthers) {
  const at::NoGradGuard no_grad;
  Network discriminator = std::move(build_networks(progressive_of(32))[kDiscriminator]);
  randomise_in_double(discriminator);
  const at::Tensor image = pictures(4, 32);
  const at::Tensor among_others = discriminator.forward({{"image", image}}, {})[0];
  const at::Tensor same = image.slice(0, 0, 1).repeat({4, 1, 1, 1});
  const at::Tensor among_same = discriminator.forward({{"image", same}}, {})[0];
  EXPECT_GT((among_others - among_same).abs().item<double>(), 1e-3);
}

TEST(Progressive, HasThePenaltiesOfTheWholeNetworkBlockByBlock) {
  for (const PenaltyKind kind : {PenaltyKind::kR1, PenaltyKind::kGradientPenalty}) {
    for (const double level : {0.0, 1.4, 2.75, 3.0}) {
      SCOPED_TRACE(level);
      Network network = std::move(build_networks(progressive_of(32, 10))[kDiscriminator]);
      randomise_in_double(network);
      network.grow_to(level);
      expect_penalty_of_whole_network(
          network, kind,
          {{"image", pictures(3, 32)}, {"labels", at::tensor({1, 7, 4}, at::kLong)}});
    }
  }
}

}  // namespace
}  // namespace gangway::gan
