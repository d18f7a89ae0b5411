// SPDX-License-Identifier: MIT
// Runs users' Python networks by libgangway-python.so in this process.
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "gan/blocks/build_networks.hpp"
#include "job/families/families.hpp"
#include "tests/adversarial_networks.hpp"
#include "tests/named_rows.hpp"
#include "tests/python/with_python.hpp"

namespace gangway::gan {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

class PythonNetworks : public WithPython {
 protected:
  /// Returns the error for a file with this text, whose class Judge is the discriminator.
  std::string complaint(const std::string& text) {
    static int number = 0;  // each module has its own name
    const std::string name = "judge" + std::to_string(number++) + ".py";
    ModuleFile& module = job_.network("discriminator").module;
    module.file = folder_.write(name, "import torch\nfrom torch import nn\n" + text).string();
    module.python_class = "Judge";
    try {
      (void)build_networks(job_);
    } catch (const ConfigError& error) {
      EXPECT_THAT(error.what(),
                  AllOf(StartsWith("model.discriminator: " + name), Not(HasSubstr("\n"))));
      return error.what();
    }
    return "";
  }
  /// The same for a linear Judge whose forward does `body` with `x` [N, 1024], then returns the
  /// judgement of `x`.
  std::string complaint_of_forward(const std::string& body, const std::string& construct = "pass") {
    return complaint(
        "class Judge(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.judge = nn.Linear(1024, 1)\n        " +
        construct + "\n    def forward(self, image):\n        x = image.flatten(1)\n        " +
        body + "\n        return self.judge(x)\n");
  }
};

TEST_F(PythonNetworks, AreMadeUnderTheSeedOfTheJob) {
  const auto first_values = [this] {
    Network network = discriminator("Discriminator");
    network.initialise(99);
    return network.parameters().front().parameter->tensor.detach().clone();
  };
  const at::Tensor values = first_values();
  EXPECT_TRUE(values.equal(first_values()));
  job_.training.seed = 8;
  EXPECT_FALSE(values.equal(first_values()));
}

TEST_F(PythonNetworks, KeepConstantsTiesAndBuffersApart) {
  Network network = discriminator("Tied");
  std::vector<std::string> parameters;
  for (const auto& named : network.parameters()) {
    parameters.push_back(named.name);
  }
  std::vector<std::string> statistics;
  for (const auto& named : network.statistics()) {
    statistics.push_back(named.name);
  }
  EXPECT_THAT(parameters, ElementsAre("discriminator/first.weight", "discriminator/judge.weight",
                                      "discriminator/judge.bias"));
  EXPECT_THAT(statistics, ElementsAre("discriminator/steps"));
}

TEST_F(PythonNetworks, HandOnWhatTheyChangeAndKeepWhatTheyHave) {
  Network network = discriminator("Tied");
  network.initialise(1);
  const Statistic& steps = *network.statistics().front().statistic;
  const at::Tensor fours = at::full({}, 4.0000005);  // mean of fours, rounded up
  steps.running.copy_(fours);
  KeptStatistics kept;
  (void)network.forward({{"image", image()}}, {.sink = &kept});
  EXPECT_EQ(kept.values.at("steps").item<float>(), 5.0F);
  EXPECT_TRUE(steps.running.equal(fours));
  EXPECT_EQ(steps.momentum, 1.0);
  kept.values.clear();
  (void)network.forward({{"image", image()}}, {.mode = Mode::kEvaluation, .sink = &kept});
  EXPECT_THAT(kept.values, IsEmpty());
}

TEST_F(PythonNetworks, AreTriedUntilWhatTheyChangeIsKnown) {
  // One buffer changes at every fourth step; another is written with its old value.
  ASSERT_THAT(
      complaint_of_forward("if self.training:\n"
                           "            self.count += 1\n"
                           "            self.sign = torch.sign(self.sign)\n"
                           "            if int(self.count) % 4 == 0:\n"
                           "                self.shadow += 1",
                           "self.register_buffer('count', torch.zeros((), dtype=torch.long))"
                           "; self.register_buffer('shadow', torch.zeros(1))"
                           "; self.register_buffer('sign', torch.ones(1))"),
      IsEmpty());
  PerNetwork<Network> networks = build_networks(job_);
  std::vector<std::string> names;
  for (const Network::NamedStatistic& named : networks[kDiscriminator].statistics()) {
    names.push_back(named.name);
    EXPECT_TRUE(at::equal(named.statistic->running, named.statistic->given));
  }
  EXPECT_THAT(names, UnorderedElementsAre("discriminator/count", "discriminator/shadow",
                                          "discriminator/sign"));
}

TEST_F(PythonNetworks, MakeSeveralTensorsWhereTheRoleDoes) {
  job_ = JobSpec::of(*recipe_named("style-transfer"));
  job_.model = {.family = family_named("johnson"), .width = 4, .blocks = 1};
  job_.network("features").module = ModuleFile{{.file = kNets}, "Features"};
  PerNetwork<Network> networks = build_networks(job_);
  const std::vector<at::Tensor> made = networks[job_.id_of("features")].forward_levels(
      {{"image", image()}}, {.mode = Mode::kEvaluation});
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
  EXPECT_THAT(said(), HasSubstr("makes 2 tensors, the first [2, 4, 32, 32] float32; wanted is "
                                "forward(image [N, 1, 32, 32] float32) -> a tuple or list of 3 "
                                "tensors [N, C, H, W] float32"));
  job_.model.levels = 1;
  job_.network("features").module.python_class = "Smooth";
  EXPECT_THAT(said(), HasSubstr("makes [2, 1] float32; wanted is"));
}

TEST_F(PythonNetworks, ComputeWithGangwaysKernelsWhatPyTorchsCompute) {
  for (const char* name : {"Normed", "Hooked"}) {
    const auto made = [&](Derivatives derivatives) {
      Network network = discriminator(name);
      network.initialise(1);
      KeptStatistics kept;
      const at::Tensor logits = network.forward(
          {{"image", image()}}, {.sink = &kept, .key = {.seed = 1}, .derivatives = derivatives});
      std::vector<at::Tensor> found{logits.detach()};
      std::vector<at::Tensor> parameters;
      for (const auto& named : network.parameters()) {
        parameters.push_back(named.parameter->tensor);
      }
      for (const at::Tensor& one : torch::autograd::grad({logits.square().sum()}, parameters)) {
        found.push_back(one);
      }
      for (const auto& [statistic, value] : kept.values) {
        found.push_back(value);
      }
      return found;
    };
    const auto ours = made(Derivatives::kFirst);
    const auto theirs = made(Derivatives::kAll);
    bool has_other_bits = false;
    for (std::size_t i = 0; i < theirs.size(); ++i) {
      EXPECT_LE((ours[i] - theirs[i]).norm().item<float>(),
                1e-4F * theirs[i].norm().item<float>() + 1e-5F)
          << name << " " << i;
      has_other_bits = has_other_bits || !ours[i].equal(theirs[i]);
    }
    EXPECT_TRUE(has_other_bits) << name;
  }
}

TEST_F(PythonNetworks, ComputeInFewerBitsWithTheSameOnesInEachCall) {
  Network network = discriminator("Discriminator");
  network.initialise(1);
  const auto logits = [&network](Precision precision) {
    return network.forward({{"image", image()}}, {.key = {.seed = 5}, .precision = precision})
        .detach();
  };
  const at::Tensor first = logits(Precision::kBf16);
  EXPECT_EQ(first.scalar_type(), at::kFloat);
  EXPECT_TRUE(logits(Precision::kBf16).equal(first));
  const at::Tensor whole = logits(Precision::kFp32);
  EXPECT_FALSE(first.equal(whole));
  EXPECT_LE((first - whole).norm().item<float>(), 0.25F * whole.norm().item<float>());
}

TEST_F(PythonNetworks, DrawByTheKeyOfTheCall) {
  Network network = discriminator("Draws");
  network.initialise(1);
  const auto call = [&network](std::int64_t step) {
    return network.forward({{"image", image()}}, {.key = {.seed = 1, .step = step}}).detach();
  };
  const at::Tensor first = call(1);
  const at::Tensor second = call(2);
  EXPECT_FALSE(first.equal(second));
  EXPECT_TRUE(first.equal(call(1)));
}

TEST_F(PythonNetworks, MayBeNormalisedInAnyOfPyTorchsWays) {
  for (const char* name :
       {"WeightNorm", "OldWeightNorm", "SpectralNorm", "OldSpectralNorm", "Lazy"}) {
    Network network = discriminator(name);
    network.initialise(1);
    const at::Tensor logits = network.forward({{"image", image()}}, {.key = {.seed = 1}});
    std::vector<at::Tensor> parameters;
    for (const auto& named : network.parameters()) {
      parameters.push_back(named.parameter->tensor);
    }
    for (const at::Tensor& gradient : torch::autograd::grad({logits.sum()}, parameters)) {
      EXPECT_GT(gradient.abs().sum().item<float>(), 0.0F) << name;
    }
  }
}

TEST_F(PythonNetworks, AreToldInEvaluationByTheirOwnTrain) {
  Network network = discriminator("HalfTrained");
  network.initialise(1);
  const auto call = [&network](Mode mode) {
    return network.forward({{"image", image()}}, {.mode = mode, .key = {.seed = 1}}).detach();
  };
  // Dropout is off in training too: the class overrides train().
  EXPECT_TRUE(call(Mode::kTraining).equal(call(Mode::kEvaluation)));
}

TEST_F(PythonNetworks, PrintWhereTheProgramWants) {
  Network network = discriminator("Prints");
  EXPECT_THAT(printed(), IsSupersetOf({std::string("made"), std::string("called")}));
}

TEST_F(PythonNetworks, HaveTheProcesssSettingsPutBack) {
  EXPECT_THAT(complaint_of_forward("pass",
                                   "torch.set_default_dtype(torch.float64); "
                                   "self.judge = nn.Linear(1024, 1, dtype=torch.float32)"),
              IsEmpty());
  EXPECT_EQ(c10::typeMetaToScalarType(c10::get_default_dtype()), at::kFloat);
  EXPECT_THAT(printed(), ::testing::Contains(HasSubstr("torch.set_default_dtype is the job's")));
  // After each call: otherwise this worker's later arithmetic would differ from other workers'.
  EXPECT_THAT(
      complaint_of_forward("torch.set_flush_denormal(True)", "self.judge = nn.Linear(1024, 1)"),
      IsEmpty());
  const volatile double least = std::numeric_limits<double>::min();
  EXPECT_GT(least * 0.5, 0.0);
  EXPECT_THAT(printed(), ::testing::Contains(HasSubstr("torch.set_flush_denormal is the job's")));
}

TEST_F(PythonNetworks, ThatCannotBeMadeAreRefusedInALine) {
  EXPECT_THAT(complaint("class Other(nn.Module):\n    pass\n"),
              HasSubstr("has no class Judge; it has Other"));
  EXPECT_THAT(complaint("class Judge:\n    pass\n"),
              HasSubstr("makes a Judge, no torch.nn.Module"));
  EXPECT_THAT(complaint("class Judge(nn.Module):\n    def __init__(self, width):\n        pass\n"),
              HasSubstr("Judge: missing a required argument: 'width'; it takes (width)"));
  EXPECT_THAT(
      complaint("class Judge(nn.Module):\n    def __init__(self):\n        self.a = {}['b']\n"),
      HasSubstr(".py:5 in __init__: KeyError: 'b'"));
  EXPECT_THAT(complaint("class Judge(:\n"), HasSubstr(".py:3: SyntaxError: "));
  EXPECT_THAT(complaint("import unheard_of\n"), HasSubstr("ModuleNotFoundError: No module named"));
  EXPECT_THAT(complaint("import sys\nsys.exit(3)\n"),
              HasSubstr(".py:4 in <module>: SystemExit: 3"));
  EXPECT_THAT(complaint_of_forward("pass",
                                   "self.judge.weight.data = torch.rand_like(self.judge.weight, "
                                   "generator=None) + __import__('time').time_ns() % 1000"),
              HasSubstr("judge.weight begins with other numbers when it is made again"));
  EXPECT_THAT(complaint_of_forward("pass", "self.judge = nn.Linear(1024, 1, dtype=torch.float64)"),
              HasSubstr("RuntimeError"));
}

TEST_F(PythonNetworks, WhoseForwardIsNotExactAreRefusedInALine) {
  EXPECT_THAT(complaint_of_forward("raise RuntimeError('too\\nbad')"),
              HasSubstr(".py:10 in forward: RuntimeError: too"));
  EXPECT_THAT(
      complaint_of_forward("return x"),
      HasSubstr(
          "forward of [2, 1, 32, 32] float32 makes [2, 1024] float32; wanted is forward(image"));
  EXPECT_THAT(complaint_of_forward("return {}"), HasSubstr("makes dict; wanted is"));
  EXPECT_THAT(complaint_of_forward("self.calls += 1", "self.calls = 0"),
              HasSubstr("calls changes from call to call, and would be lost"));
  EXPECT_THAT(complaint_of_forward("self.seen.append(1)", "self.seen = []"),
              HasSubstr("seen changes"));
  EXPECT_THAT(complaint_of_forward("Judge.calls = getattr(Judge, 'calls', 0) + 1"),
              HasSubstr("Judge.calls changes"));
  EXPECT_THAT(complaint_of_forward("x = x + torch.rand(1, generator=self.own)",
                                   "self.own = torch.Generator()"),
              HasSubstr("own changes"));
  EXPECT_THAT(complaint_of_forward("x = x * (__import__('time').perf_counter_ns() % 997)"),
              HasSubstr("makes other numbers of the same input"));
  EXPECT_THAT(complaint_of_forward(
                  "x = x * 2 if x is None else x + self.hidden(x)",
                  "self.hidden = lambda x, kept=[0.0]: kept.append(kept[-1] + 1) or kept[-1]"),
              HasSubstr("makes other numbers of the same input"));
  EXPECT_THAT(complaint_of_forward("x = x * (self.seen if self.training else self.seen.add_(1))",
                                   "self.register_buffer('seen', torch.ones(1))"),
              HasSubstr("seen"));
  EXPECT_THAT(complaint_of_forward("image.mul_(2)"), HasSubstr("forward writes to its image"));
  EXPECT_THAT(complaint_of_forward("torch.no_grad()(lambda: self.judge.weight.mul_(0.5))()"),
              HasSubstr("forward writes to the parameter judge.weight"));
  EXPECT_THAT(complaint_of_forward("x = x.detach(); return (x @ self.judge.weight.detach().T)"),
              HasSubstr("no gradient to any parameter"));
  EXPECT_THAT(complaint_of_forward("__import__('os').fork()"),
              HasSubstr("networks of a job do not fork"));
  EXPECT_THAT(complaint_of_forward("import sys; sys.exit()"),
              HasSubstr(".py:10 in forward: SystemExit"));
}

TEST_F(PythonNetworks, WithoutSecondDerivativesAreRefusedWhereAPenaltyTakesThem) {
  const std::string text =
      "class Once(torch.autograd.Function):\n"
      "    @staticmethod\n    def forward(context, x):\n        context.save_for_backward(x)\n"
      "        return x ** 2\n"
      "    @staticmethod\n    @torch.autograd.function.once_differentiable\n"
      "    def backward(context, g):\n        return 2 * g * context.saved_tensors[0]\n"
      "class Judge(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
      "        self.judge = nn.Linear(1024, 1)\n"
      "    def forward(self, image):\n        return self.judge(Once.apply(image.flatten(1)))\n";
  EXPECT_THAT(complaint(text), IsEmpty());
  job_.training.penalty.r1_gamma = 1.0;
  EXPECT_THAT(complaint(text),
              HasSubstr("second derivatives, which a penalty takes, cannot be taken"));
}

TEST_F(PythonNetworks, OfOtherPeopleAreNotRun) {
  const auto file = folder_.write("nets.py", "print('run')\n");
  std::filesystem::permissions(file, std::filesystem::perms::others_write,
                               std::filesystem::perm_options::add);
  job_.network("discriminator").module.file = file.string();
  EXPECT_THROW((void)build_networks(job_), ConfigError);
  EXPECT_THAT(printed(), Not(::testing::Contains("run")));
}

}  // namespace
}  // namespace gangway::gan
