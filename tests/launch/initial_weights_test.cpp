// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "job/families/families.hpp"
#include "launch/run/prepare.hpp"
#include "tests/adversarial_networks.hpp"
#include "tests/checkpoint/sample_checkpoint.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::launch {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string complaint_about(const JobSpec& spec) {
  try {
    require_initial_weights(spec);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(InitialWeights, AreRefusedWhereTheirNumberIsNotTheNetworks) {
  const gangway::testing::ScratchFolder folder;
  JobSpec spec;
  EXPECT_EQ(complaint_about(spec), "");
  spec.network("discriminator").weights = (folder.path() / "none.safetensors").string();
  EXPECT_THAT(complaint_about(spec),
              AllOf(HasSubstr("discriminator.weights: "), HasSubstr("none.safetensors")));
  const std::int64_t right = num_parameters(spec.architectures()[kGenerator]);
  for (const std::int64_t count : {right, right + 1}) {
    auto tensor = checkpoint::make_tensor("0.weight", checkpoint::ElementType::kF32, {count}, 1);
    std::ranges::fill(tensor.bytes, std::byte{0});
    const auto file = folder.path() / (std::to_string(count) + ".safetensors");
    const std::vector<checkpoint::TensorRecord> records{tensor.record()};
    (void)checkpoint::write_safetensors(file, records, {});
    JobSpec with_file;
    with_file.network("generator").weights = file.string();
    if (count == right) {
      EXPECT_EQ(complaint_about(with_file), "");
      const float infinite = std::numeric_limits<float>::infinity();
      std::memcpy(tensor.bytes.data() + sizeof infinite, &infinite, sizeof infinite);
      std::filesystem::remove(file);
      (void)checkpoint::write_safetensors(file, std::vector{tensor.record()}, {});
      EXPECT_THAT(complaint_about(with_file),
                  HasSubstr("a value of tensor '0.weight' is not finite"));
    } else {
      EXPECT_THAT(complaint_about(with_file), HasSubstr("are they of another model?"));
    }
  }
}

}  // namespace
}  // namespace gangway::launch
