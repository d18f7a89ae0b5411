// SPDX-License-Identifier: MIT
#include "checkpoint/format/weights_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "tests/checkpoint/sample_checkpoint.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::checkpoint {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class WeightsFile : public ::testing::Test {
 protected:
  WeightsFile()
      : weight(make_tensor("generator/0/weight", ElementType::kF32, {4, 3, 2, 2}, 1)),
        average(make_tensor("generator_ema/0/weight", ElementType::kF32, {4, 3, 2, 2}, 2)),
        mean(make_tensor("generator_ema/0/norm.running_mean", ElementType::kF32, {4}, 3)) {}

  StoredState state_of(const std::vector<OwnedTensor>& tensors) {
    return StoredState(commit_in_pieces(folder.path(), tensors, sample_manifest(7), 3));
  }
  [[nodiscard]] std::string complaint(const std::vector<WantedTensor>& wanted) const {
    try {
      InitialWeights("generator.weights", file).require(wanted);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  }

  const gangway::testing::ScratchFolder folder;
  const std::filesystem::path file = folder.path() / "generator.safetensors";
  OwnedTensor weight;
  OwnedTensor average;
  OwnedTensor mean;
};

TEST_F(WeightsFile, HoldsTheAverageWhereThereIsOne) {
  StoredState state = state_of({weight, average, mean});
  const ExportedWeights exported = export_weights(state, "generator", WeightsKind::kAverage, file);
  EXPECT_EQ(exported.tensors, 2U);
  EXPECT_TRUE(exported.is_average);
  const SafetensorsFile written(file);
  ASSERT_NE(written.find("0.weight"), nullptr);
  EXPECT_TRUE(std::ranges::equal(written.find("0.weight")->bytes, average.bytes));
  EXPECT_NE(written.find("0.norm.running_mean"), nullptr);
  EXPECT_EQ(metadata_in(file).at("gangway.step"), "7");
  EXPECT_EQ(metadata_in(file).at("gangway.weights"), "average");
}

TEST_F(WeightsFile, HoldsTheLastOnRequestOrWhereNoAverageIsKept) {
  StoredState state = state_of({weight, average, mean});
  EXPECT_FALSE(export_weights(state, "generator", WeightsKind::kLast, file).is_average);
  EXPECT_TRUE(std::ranges::equal(SafetensorsFile(file).find("0.weight")->bytes, weight.bytes));
}

TEST_F(WeightsFile, IsNeverWrittenOverAnother) {
  StoredState state = state_of({weight, average, mean});
  folder.write("generator.safetensors", "mine");
  EXPECT_THROW((void)export_weights(state, "generator", WeightsKind::kLast, file),
               EnvironmentError);
  EXPECT_EQ(folder.read("generator.safetensors"), "mine");
}

TEST_F(WeightsFile, IsRefusedForANetworkThatIsNotThere) {
  StoredState state = state_of({weight});
  EXPECT_THROW((void)export_weights(state, "discriminator", WeightsKind::kLast, file),
               CheckpointError);
}

TEST_F(WeightsFile, GivesBackWhatWasExported) {
  StoredState state = state_of({weight, average, mean});
  (void)export_weights(state, "generator", WeightsKind::kAverage, file);
  const InitialWeights weights("generator.weights", file);
  EXPECT_EQ(weights.num_parameters(), 48);
  weights.require_parameters(48);
  weights.require(std::vector<WantedTensor>{{"generator/0/weight", {4, 3, 2, 2}},
                                            {"generator/0/norm.running_mean", {4}}});
  EXPECT_TRUE(std::ranges::equal(weights.bytes("generator/0/weight"), average.bytes));
}

TEST_F(WeightsFile, CountsNoStatisticThatTheNetworkNames) {
  const OwnedTensor lengths = make_tensor("generator/0/path_length", ElementType::kF32, {1}, 4);
  StoredState state = state_of({weight, lengths});
  (void)export_weights(state, "generator", WeightsKind::kLast, file);
  const InitialWeights weights("generator.weights", file);
  EXPECT_EQ(weights.num_parameters(), 49);
  const std::vector<std::string> statistics{"0/path_length"};
  EXPECT_EQ(weights.num_parameters(statistics), 48);
  weights.require_parameters(48, statistics);
}

TEST_F(WeightsFile, OfOtherTrainingsSayNothingAboutTheOneThatBegins) {
  for (const char* name : {"discriminator/5/augment.signs", "5.augment.signs", "lecam_real",
                           "discriminator/5/lecam_real", "5.lecam_fake"}) {
    EXPECT_TRUE(is_of_a_training(name)) << name;
  }
  for (const char* name : {"generator/0/weight", "0.path_length", "main.my_augment.weight"}) {
    EXPECT_FALSE(is_of_a_training(name)) << name;
  }
  // These tensors may be in the file alone, or in the job alone.
  StoredState state =
      state_of({weight, make_tensor("generator/0/augment.signs", ElementType::kF32, {1}, 4)});
  (void)export_weights(state, "generator", WeightsKind::kLast, file);
  EXPECT_EQ(complaint({{"generator/0/weight", {4, 3, 2, 2}}}), "");
  EXPECT_EQ(complaint({{"generator/0/weight", {4, 3, 2, 2}}, {"generator/0/lecam_real", {1}}}), "");
}

TEST_F(WeightsFile, OfAnotherModelIsRefusedWithTheFirstTensorThatDiffers) {
  StoredState state = state_of({weight, average, mean});
  (void)export_weights(state, "generator", WeightsKind::kAverage, file);
  EXPECT_THAT(complaint({{"generator/0/weight", {4, 3, 2, 1}}}),
              AllOf(HasSubstr("generator.weights: "), HasSubstr("'0.weight' is [4, 3, 2, 2]"),
                    HasSubstr("has [4, 3, 2, 1]")));
  EXPECT_THAT(complaint({{"generator/1/weight", {4}}}), HasSubstr("has no tensor '1.weight' [4]"));
  EXPECT_THAT(complaint({{"generator/0/weight", {4, 3, 2, 2}}}),
              HasSubstr("'0.norm.running_mean' is not of the job's network"));
  EXPECT_THROW(InitialWeights("generator.weights", file).require_parameters(47), ConfigError);
}

TEST_F(WeightsFile, IsTheUsersToMendWhereItIsMissingDamagedOrOfAnotherType) {
  EXPECT_THROW(InitialWeights("generator.weights", file), ConfigError);
  folder.write("generator.safetensors", "no safetensors");
  EXPECT_THROW(InitialWeights("generator.weights", file), ConfigError);
  const OwnedTensor wide = make_tensor("0.weight", ElementType::kF64, {3}, 1);
  const std::vector<TensorRecord> records{wide.record()};
  (void)write_safetensors(folder.path() / "wide.safetensors", records, {});
  EXPECT_THROW(InitialWeights("generator.weights", folder.path() / "wide.safetensors"),
               ConfigError);
}

TEST_F(WeightsFile, SaysWhereAFileOfPyTorchsBelongs) {
  for (const std::string& begin : {std::string("PK\x03\x04", 4), std::string("\x80\x02\x8a\x0a")}) {
    folder.write("generator.safetensors", begin + std::string(100, 'x'));
    EXPECT_THAT(complaint({}),
                AllOf(HasSubstr("generator.weights: "),
                      HasSubstr("generator.safetensors: is a file of PyTorch's"),
                      HasSubstr("model.generator"), HasSubstr("safetensors.torch.save_file")));
  }
  folder.write("generator.safetensors", std::string(100, 'x'));
  EXPECT_THAT(complaint({}), ::testing::Not(HasSubstr("PyTorch")));
}

}  // namespace
}  // namespace gangway::checkpoint
