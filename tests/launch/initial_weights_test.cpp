// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
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
#include "tests/named_rows.hpp"
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

/// Writes a teacher's weights as one tensor. Returns the complaint about it, as a run's start has
/// it.
std::string complaint_about_teacher(const std::filesystem::path& file, int width, float value) {
  JobSpec job = JobSpec::of(*recipe_named("distill"));
  job.training.distill.teacher_width = 32;
  job.network("teacher").weights = file.string();
  JobSpec of_file = job;
  of_file.training.distill.teacher_width = width;
  const std::int64_t count = num_parameters(of_file.architectures()[job.id_of("teacher")]);
  auto tensor = checkpoint::make_tensor("0.weight", checkpoint::ElementType::kF32, {count}, 1);
  std::ranges::fill(tensor.bytes, std::byte{0});
  std::memcpy(tensor.bytes.data(), &value, sizeof value);
  std::filesystem::remove(file);
  (void)checkpoint::write_safetensors(file, std::vector{tensor.record()}, {});
  return complaint_about(job);
}

TEST(InitialWeights, OfATeacherHaveItsWidthAndAreWholeAndFinite) {
  const gangway::testing::ScratchFolder folder;
  const auto file = folder.path() / "big.safetensors";
  EXPECT_EQ(complaint_about_teacher(file, 32, 1.0F), "");
  std::filesystem::resize_file(file, 1000);
  JobSpec job = JobSpec::of(*recipe_named("distill"));
  job.network("teacher").weights = file.string();
  EXPECT_THAT(complaint_about(job), AllOf(HasSubstr("teacher.weights: "), HasSubstr("big.safe")));
  EXPECT_THAT(complaint_about_teacher(file, 64, 1.0F),
              AllOf(HasSubstr("teacher.weights: "), HasSubstr("are they of another model?")));
  EXPECT_THAT(complaint_about_teacher(file, 32, std::nanf("")),
              AllOf(HasSubstr("teacher.weights: "), HasSubstr("is not finite")));
}

}  // namespace
}  // namespace gangway::launch
