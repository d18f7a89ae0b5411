// SPDX-License-Identifier: MIT
// A network that changes pictures, and the feature network that Gangway installs.
#include <algorithm>
#include <filesystem>

#include <gtest/gtest.h>
#include <torch/csrc/jit/serialization/import.h>

#include "base/errors.hpp"
#include "checkpoint/format/safetensors.hpp"
#include "gan/blocks/build_networks.hpp"
#include "job/families/families.hpp"
#include "launch/model/script/script_module.hpp"
#include "tests/named_rows.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::launch {
namespace {

JobSpec transfer_job() {
  JobSpec job = JobSpec::of(*recipe_named("style-transfer"));
  job.model = {
      .family = family_named("johnson"), .resolution = 32, .width = 4, .blocks = 2, .channels = 3};
  return job;
}

TEST(TransferScript, ComputesWhatTheNetworkDoes) {
  const JobSpec job = transfer_job();
  PerNetwork<gan::Network> networks = gan::build_networks(job);
  gan::Network& generator = networks[job.id_of("generator")];
  generator.initialise(3);
  const at::NoGradGuard no_grad;
  const at::Tensor images = at::arange(2 * 3 * 32 * 32, at::kFloat).sin_().reshape({2, 3, 32, 32});
  const testing::ScratchFolder folder;
  const auto file = folder.path() / "generator.pt";
  save_script(script_of(generator, job.model), file, {});
  const at::Tensor scripted = torch::jit::load(file.string()).forward({images}).toTensor();
  const at::Tensor made = generator.forward(
      {{"image", images}}, {.mode = gan::Mode::kEvaluation, .sink = nullptr, .key = {}});
  EXPECT_LE((scripted - made).abs().max().item<float>(), 1e-6F);
}

TEST(TransferScript, RefusesANetworkOfSeveralTensors) {
  const JobSpec job = transfer_job();
  PerNetwork<gan::Network> networks = gan::build_networks(job);
  EXPECT_THROW((void)script_of(networks[job.id_of("features")], job.model), ConfigError);
}

TEST(LenetFeatures, AreTheConvolutionsOfTheClassifier) {
  const std::filesystem::path share = GANGWAY_SHARE_DIR;
  const checkpoint::SafetensorsFile whole(share / "fd-lenet-fashion-mnist.safetensors");
  const checkpoint::SafetensorsFile own(share / "lenet-features-fashion-mnist.safetensors");
  EXPECT_EQ(own.tensors().size(), 4U);
  for (const auto& [name, of_classifier] :
       {std::pair("0.weight", "features/0/weight"), std::pair("0.bias", "features/0/bias"),
        std::pair("1.weight", "features/2/weight"), std::pair("1.bias", "features/2/bias")}) {
    const checkpoint::TensorRecord* const found = own.find(name);
    const checkpoint::TensorRecord* const expected = whole.find(of_classifier);
    ASSERT_TRUE(found != nullptr && expected != nullptr) << name;
    EXPECT_EQ(found->shape, expected->shape) << name;
    EXPECT_TRUE(std::ranges::equal(found->bytes, expected->bytes)) << name;
  }
}

}  // namespace
}  // namespace gangway::launch
