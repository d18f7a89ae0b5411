// SPDX-License-Identifier: MIT
#include "gan/script/script_block.hpp"

#include <functional>
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "gan/blocks/build_networks.hpp"
#include "gan/losses/penalty.hpp"
#include "gan/random_tensors.hpp"
#include "job/families/families.hpp"
#include "tests/adversarial_networks.hpp"
#include "tests/gan/whole_network_penalty.hpp"
#include "tests/own_networks.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::gan {
namespace {

using gangway::testing::own_module;
using gangway::testing::own_values;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::int64_t kExamples = 4;

/// Remembers what was harvested.
class KeptHarvest final : public StatisticSink {
 public:
  void take(const Statistic& statistic, const at::Tensor& value) override {
    values[statistic.name] = value.clone();
  }
  std::map<std::string, at::Tensor> values;
};

class OwnNetworks : public ::testing::Test {
 protected:
  OwnNetworks() {
    gangway::testing::write_own_networks(folder_.path());
    job_.model.latent = 16;
    for (NetworkSpec& network : job_.networks) {
      network.module.file = (folder_.path() / (network.name + ".pt")).string();
    }
  }

  [[nodiscard]] at::Tensor noise() const {
    return keyed_normal({.seed = 2}, {kExamples, job_.model.latent}, at::kCPU);
  }
  [[nodiscard]] static at::Tensor image() {
    return keyed_normal({.seed = 3}, {kExamples, 1, 32, 32}, at::kCPU);
  }
  /// What is said of a discriminator that is `module`.
  std::string complaint(const torch::jit::Module& module, DeviceKind device = DeviceKind::kCpu) {
    module.save(job_.network("discriminator").module.file);
    job_.numerics.device = device;
    try {
      (void)build_networks(job_);
    } catch (const ConfigError& error) {
      EXPECT_THAT(error.what(), AllOf(HasSubstr("model.discriminator: "),
                                      HasSubstr("discriminator.pt"), Not(HasSubstr("\n"))));
      return error.what();
    }
    return "";
  }
  /// The same of one with a single parameter and this body.
  std::string complaint(const std::string& body, DeviceKind device = DeviceKind::kCpu) {
    return complaint(own_module("def forward(self, image: Tensor) -> Tensor:\n    x = torch.linear("
                                "torch.flatten(image, 1), self.judge, None)\n" +
                                    body,
                                {{"judge", own_values({1, 1024})}}),
                     device);
  }

  const gangway::testing::ScratchFolder folder_;
  JobSpec job_;
};

TEST_F(OwnNetworks, HaveTheNamesAndValuesOfTheFile) {
  PerNetwork<Network> networks = build_networks(job_);
  Network& generator = networks[kGenerator];
  std::map<std::string, at::Tensor> found;
  for (const auto& named : generator.parameters()) {
    found[named.name] = named.parameter->tensor;
  }
  generator.initialise(7);  // of the seed nothing depends
  EXPECT_EQ(found.size(), 4U);
  EXPECT_TRUE(found.at("generator/start").equal(own_values({512, 16})));
  std::vector<std::string> statistics;
  for (const auto& named : generator.statistics()) {
    statistics.push_back(named.name);
  }
  EXPECT_THAT(statistics, ::testing::UnorderedElementsAre("generator/mean", "generator/variance",
                                                          "generator/tracked"));
  EXPECT_TRUE(networks[kDiscriminator].statistics().empty());  // a constant is none
}

TEST_F(OwnNetworks, BeginAnewWithTheValuesOfTheFile) {
  PerNetwork<Network> networks = build_networks(job_);
  Network& generator = networks[kGenerator];
  for (const auto& named : generator.parameters()) {
    named.parameter->tensor.set_data(at::zeros(named.parameter->tensor.sizes()));
  }
  EXPECT_EQ(generator.forward({{"noise", noise()}}, {}).abs().max().item<float>(), 0.0F);
  generator.initialise(1);
  EXPECT_GT(generator.forward({{"noise", noise()}}, {}).abs().max().item<float>(), 0.0F);
}

TEST_F(OwnNetworks, AreTheSameForEqualKeysAlone) {
  PerNetwork<Network> networks = build_networks(job_);
  const auto logits = [&](int microbatch) {
    return networks[kDiscriminator]
        .forward({{"image", image()}}, {.key = {.seed = 1, .microbatch = microbatch}})
        .detach();
  };
  const at::Tensor first = logits(0);
  EXPECT_FALSE(logits(1).equal(first));
  EXPECT_TRUE(logits(0).equal(first));
}

TEST_F(OwnNetworks, HarvestWhatTheyChangeAndKeepWhatTheyHave) {
  PerNetwork<Network> networks = build_networks(job_);
  Network& generator = networks[kGenerator];
  for (const auto& named : generator.statistics()) {
    if (named.name == "generator/tracked") {
      named.statistic->running.fill_(4.0000005);  // a mean of fours
    }
  }
  KeptHarvest harvest;
  (void)generator.forward({{"noise", noise()}}, {.sink = &harvest});
  EXPECT_EQ(harvest.values.at("tracked").item<float>(), 5.0F);
  EXPECT_FALSE(harvest.values.at("mean").equal(at::zeros({8})));
  for (const auto& named : generator.statistics()) {
    EXPECT_EQ(named.statistic->momentum, 1.0);
    if (named.name == "generator/mean") {
      EXPECT_TRUE(named.statistic->running.equal(at::zeros({8})));
    }
  }
  harvest.values.clear();
  (void)generator.forward({{"noise", noise()}}, {.mode = Mode::kEvaluation, .sink = &harvest});
  EXPECT_TRUE(harvest.values.empty());
}

TEST_F(OwnNetworks, HaveThePenaltyOfAutogradThroughTheWhole) {
  PerNetwork<Network> networks = build_networks(job_);
  Network& network = networks[kDiscriminator];
  const NamedTensors in{{"image", image()}};
  BlockwisePenalty penalty(network, PenaltyKind::kR1, 10.0);
  penalty.forward(in, {});
  const at::Tensor value = penalty.backward();
  std::vector<at::Tensor> gradients;
  for (const auto& named : network.parameters()) {
    gradients.push_back(named.parameter->tensor.grad().clone());
    named.parameter->tensor.mutable_grad().reset();
  }
  const at::Tensor whole = whole_network_penalty(network, PenaltyKind::kR1, 10.0, in, {});
  torch::autograd::backward({whole}, {});
  EXPECT_NEAR(value.item<double>(), whole.item<double>(), 1e-6 * whole.item<double>());
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const at::Tensor expected = network.parameters()[i].parameter->tensor.grad();
    EXPECT_GT(expected.abs().max().item<float>(), 0.0F);
    EXPECT_LE((gradients[i] - expected).abs().max().item<float>(),
              1e-6F * expected.abs().max().item<float>());
  }
}

TEST_F(OwnNetworks, AreRefusedWhereTheyMakeSomethingElse) {
  const std::string wanted = "wanted is forward(image [N, 1, 32, 32] float32) -> [N, 1] float32";
  EXPECT_THAT(complaint("    return torch.flatten(x)\n"),
              AllOf(HasSubstr("[2]"), HasSubstr(wanted)));
  EXPECT_THAT(complaint("    return torch.to(x, 7)\n"), HasSubstr("Double"));
  EXPECT_THAT(complaint("    return torch.matmul(x, x)\n"),
              AllOf(HasSubstr("fails: RuntimeError: "), HasSubstr(wanted)));
  EXPECT_THAT(complaint(own_module("def forward(self, a: Tensor, b: Tensor) -> Tensor:\n"
                                   "    return a * self.judge\n",
                                   {{"judge", own_values({1})}})),
              AllOf(HasSubstr("takes 2 tensors, not 1"), HasSubstr(wanted)));
  EXPECT_THAT(complaint("    return torch.detach(x)\n"), HasSubstr("no gradient"));
}

TEST_F(OwnNetworks, AreRefusedWhereTheyWriteToWhatIsNotTheirs) {
  EXPECT_THAT(complaint("    image.add_(1)\n    return x\n"), HasSubstr("its image"));
  EXPECT_THAT(
      complaint(own_module("def forward(self, image: Tensor) -> Tensor:\n"
                           "    torch.detach(self.judge).mul_(2)\n"
                           "    return torch.linear(torch.flatten(image, 1), self.judge, None)\n",
                           {{"judge", own_values({1, 1024})}})),
      HasSubstr("the parameter judge"));
}

TEST_F(OwnNetworks, AreTriedUntilWhatTheyChangeIsKnown) {
  // A buffer that every fourth step writes to, and one whose value stays what it was.
  const torch::jit::Module module = own_module(
      "def forward(self, image: Tensor) -> Tensor:\n"
      "    x = torch.linear(torch.flatten(image, 1), self.judge, None)\n"
      "    if self.training:\n"
      "        self.count.add_(1)\n"
      "        self.sign = torch.sign(self.sign)\n"
      "        if int(self.count) % 4 == 0:\n"
      "            self.shadow.add_(1)\n"
      "    return x * self.sign\n",
      {{"judge", own_values({1, 1024})}},
      {{"count", at::zeros({}, at::kLong)}, {"shadow", at::zeros({1})}, {"sign", at::ones({1})}});
  ASSERT_EQ(complaint(module), "");
  PerNetwork<Network> networks = build_networks(job_);
  std::vector<std::string> names;
  for (const Network::NamedStatistic& named : networks[kDiscriminator].statistics()) {
    names.push_back(named.name);
    EXPECT_TRUE(at::equal(named.statistic->running, named.statistic->given));
  }
  EXPECT_THAT(names, ::testing::UnorderedElementsAre("discriminator/count", "discriminator/shadow",
                                                     "discriminator/sign"));
}

TEST_F(OwnNetworks, AreRefusedWhereTheyMakeOtherNumbersTheSecondTime) {
  torch::jit::Module module("__torch__.Own");
  module.register_attribute("training", c10::BoolType::get(), true);
  module.register_parameter("judge", own_values({1, 1024}).set_requires_grad(true), false);
  c10::List<std::int64_t> seen;
  module.register_attribute("seen", c10::ListType::ofInts(), seen);
  module.define(
      "def forward(self, image: Tensor) -> Tensor:\n"
      "    self.seen.append(1)\n"
      "    return torch.linear(torch.flatten(image, 1), self.judge, None) * len(self.seen)\n");
  EXPECT_THAT(complaint(module), AllOf(HasSubstr("other numbers"), HasSubstr("register_buffer")));
  EXPECT_EQ(complaint("    return x + torch.rand([1])\n"), "") << "which is seeded";
  EXPECT_THAT(complaint(own_module("def forward(self, image: Tensor) -> Tensor:\n"
                                   "    if not self.training:\n"
                                   "        self.seen.add_(1)\n"
                                   "    return torch.linear(torch.flatten(image, 1), self.judge, "
                                   "None) * self.seen\n",
                                   {{"judge", own_values({1, 1024})}}, {{"seen", at::ones({1})}})),
              AllOf(HasSubstr("other numbers"), HasSubstr("discriminator.pt")));
}

TEST_F(OwnNetworks, AreRefusedWhereAnOperatorIsNotDeterministicOnTheDevice) {
  const std::string body = "    return x + torch.mean(torch.adaptive_avg_pool2d(image, [1, 1]))\n";
  EXPECT_EQ(complaint(body), "");
  EXPECT_THAT(complaint(body, DeviceKind::kCuda), HasSubstr("aten::adaptive_avg_pool2d"));
  EXPECT_EQ(complaint("    return x\n", DeviceKind::kCuda), "");
}

TEST_F(OwnNetworks, AreRefusedWhereTheFileIsNoneOrAnother) {
  NetworkSpec& generator = job_.network("generator");
  const auto said = [this] {
    try {
      (void)build_networks(job_);
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  generator.module.hash = std::string(32, '0');
  EXPECT_THAT(said(), AllOf(HasSubstr("model.generator: "), HasSubstr("has changed")));
  generator.module.hash.clear();
  folder_.write("generator.pt", "no archive");
  EXPECT_THAT(said(), HasSubstr("is no TorchScript file"));
  generator.module.file = (folder_.path() / "nowhere.pt").string();
  EXPECT_THAT(said(), HasSubstr("nowhere.pt"));
  generator.module.file = folder_.path().string();
  EXPECT_THAT(said(), HasSubstr("is a folder"));
}

TEST_F(OwnNetworks, MakeSeveralTensorsWhereTheRoleDoes) {
  job_ = JobSpec::of(*recipe_named("style-transfer"));
  job_.model.family = family_named("johnson");
  job_.model.width = 4;
  job_.model.blocks = 1;
  job_.network("features").module.file = (folder_.path() / "features.pt").string();
  PerNetwork<Network> networks = build_networks(job_);
  const std::vector<at::Tensor> made = networks[job_.id_of("features")].forward_levels(
      {{"image", image()}}, {.mode = Mode::kEvaluation, .sink = nullptr, .key = {}});
  ASSERT_EQ(made.size(), 2U);
  EXPECT_EQ(made[0].sizes().vec(), (std::vector<std::int64_t>{kExamples, 4, 32, 32}));
  EXPECT_EQ(made[1].sizes().vec(), (std::vector<std::int64_t>{kExamples, 6, 16, 16}));
  const auto said = [this] {
    try {
      (void)build_networks(job_);
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  job_.model.levels = 3;
  EXPECT_THAT(said(), HasSubstr("makes 2 tensors, the first [2, 4, 32, 32] Float; wanted is "
                                "forward(image [N, 1, 32, 32] float32) -> a tuple or list of 3 "
                                "tensors [N, C, H, W] float32"));
  job_.model.levels = 1;
  job_.network("features").module.file = (folder_.path() / "discriminator.pt").string();
  EXPECT_THAT(said(), HasSubstr("makes [2, 1] Float; wanted is"));
}

TEST_F(OwnNetworks, TrainTiedWeightsOnce) {
  const at::Tensor shared = own_values({1, 1024}).set_requires_grad(true);
  torch::jit::Module module("__torch__.Tied");
  module.register_attribute("training", c10::BoolType::get(), true);
  module.register_parameter("judge", shared, false);
  module.register_parameter("again", shared, false);
  module.define(
      "def forward(self, image: Tensor) -> Tensor:\n    return torch.linear(torch.flatten(image, "
      "1), self.judge + self.again, None)\n");
  EXPECT_EQ(complaint(module), "");
  PerNetwork<Network> networks = build_networks(job_);
  const auto parameters = networks[kDiscriminator].parameters();
  ASSERT_EQ(parameters.size(), 1U);
  parameters.front().parameter->tensor.set_data(at::zeros({1, 1024}));
  EXPECT_EQ(networks[kDiscriminator].forward({{"image", image()}}, {}).abs().max().item<float>(),
            0.0F);
}

}  // namespace
}  // namespace gangway::gan
