// SPDX-License-Identifier: MIT
#include "launch/model/image_scores.hpp"

#include <array>
#include <limits>
#include <utility>

#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "gan/random_tensors.hpp"
#include "job/file/parse.hpp"
#include "tests/adversarial_networks.hpp"
#include "tests/launch/model/script_network.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::launch {
namespace {

constexpr const char* kImageJob =
    "model: {family: dcgan, width: 8, latent: 4, channels: 3}\ndata: {source: 'idx:/nowhere'}\n";
constexpr std::int64_t kGenerated = 60;

TrainedRun run_with_weights(std::uint64_t seed) {
  JobSpec job = parse_job(kImageJob, "job");
  PerNetwork<gan::Network> networks = gan::build_networks(job);
  networks[kGenerator].initialise(seed);
  return {{.job = std::move(job)}, WeightVersion::kLast, std::move(networks[kGenerator])};
}

gan::ImageSource shades(std::uint64_t seed) {
  return [seed](std::int64_t first, std::int64_t count) {
    return gan::keyed_normal({.seed = seed}, {200, 3, 32, 32}, at::kCPU)
        .mul(0.3)
        .add(0.4)
        .slice(0, first, first + count);
  };
}

class ScoresOfImages : public ::testing::Test {
 protected:
  FeatureNetwork network() {
    return open_feature_network(testing::write_network(
        folder.path() / "means.pt",
        "def forward(self, images):\n"
        "    return torch.avg_pool2d(torch.to(images, 6), [8, 8]) / 64.0\n"));
  }
  static ReferenceData data(std::int64_t held_back) {
    ReferenceData data;
    data.reference = shades(1);
    data.count = 100;
    data.held_back = shades(2);
    data.held_back_count = held_back;
    return data;
  }
  const testing::ScratchFolder folder;
};

TEST_F(ScoresOfImages, FindOtherRealImagesNearerThanTheGeneratorsOwn) {
  const ReferenceData reference = data(80);
  ImageScorer scorer(reference, network(), kGenerated);
  TrainedRun run = run_with_weights(7);
  const ImageScores scores = scorer.scores_of(run);
  ASSERT_TRUE(scores.held_back);
  EXPECT_LT(scores.held_back->distance, scores.generated.distance);
  EXPECT_LT(scores.held_back->kernel.mean, scores.generated.kernel.mean);
  EXPECT_GT(scores.held_back->neighbours.precision, scores.generated.neighbours.precision);
  EXPECT_EQ(scores.neighbour_samples, kGenerated);
  EXPECT_FALSE(scores.shares) << "the classes of other networks are not known";
  const auto kept = scorer.scores_of(run, std::array{Metric::kKid, Metric::kPr, Metric::kFd});
  ASSERT_EQ(kept.size(), 4U);
  EXPECT_EQ(kept[0].metric, "KID-means.pt");
  EXPECT_EQ(kept[0].value, scores.generated.kernel.mean);
  EXPECT_EQ(kept[1].value, scores.generated.neighbours.precision);
  EXPECT_EQ(kept[2].metric, "recall");
  EXPECT_EQ(kept[2].better, checkpoint::Better::kHigher);
  EXPECT_EQ(kept[3].value, scores.generated.distance);
}

TEST_F(ScoresOfImages, OfColouredPicturesIsThatWhichSeesColoursUnlessANetworkIsNamed) {
  const ReferenceData reference = data(80);
  ImageScorer scorer(reference, network(), kGenerated);
  TrainedRun run = run_with_weights(7);
  ASSERT_EQ(run.job.model.channels, 3);
  const auto kept = scorer.scores_of(run, run.job.metrics());
  ASSERT_EQ(kept.size(), 1U);
  EXPECT_EQ(kept[0].metric, "SWD");
  EXPECT_EQ(kept[0].value, scorer.scores_of(run).sliced.mean);
  run.job.evaluation.features = "means.pt";
  EXPECT_EQ(scorer.scores_of(run, run.job.metrics()).front().metric, "FD-means.pt");
}

TEST_F(ScoresOfImages, OfAnUntrainedGeneratorAreTheCeiling) {
  const ReferenceData reference = data(80);
  ImageScorer scorer(reference, network(), kGenerated);
  TrainedRun run = run_with_weights(parse_job(kImageJob, "job").training.seed);
  const ImageScores scores = scorer.scores_of(run);
  EXPECT_EQ(scores.generated.distance, scores.ceiling);
  EXPECT_EQ(scores.sliced.mean, scores.sliced_ceiling);
}

TEST_F(ScoresOfImages, AreThoseOfPicturesThatAnotherEngineMade) {
  const ReferenceData reference = data(80);
  ImageScorer scorer(reference, network(), kGenerated);
  TrainedRun run = run_with_weights(7);
  const std::array metrics{Metric::kFd, Metric::kSwd};
  const auto own = scorer.scores_of(run, metrics);
  run.made = evaluation_samples(run)(0, kGenerated).clone();
  EXPECT_EQ(scorer.scores_of(run, metrics)[0].value, own[0].value);
  run.made = shades(2)(0, kGenerated);
  const auto of_others = scorer.scores_of(run, metrics);
  EXPECT_LT(of_others[0].value, own[0].value);
  EXPECT_LT(of_others[1].value, own[1].value);
}

TEST_F(ScoresOfImages, AreRefusedOfAGeneratorThatDiverged) {
  const ReferenceData reference = data(80);
  ImageScorer scorer(reference, network(), kGenerated);
  TrainedRun run = run_with_weights(7);
  const at::NoGradGuard no_grad;
  run.network.parameters().front().parameter->tensor.fill_(std::numeric_limits<float>::quiet_NaN());
  EXPECT_THROW((void)scorer.scores_of(run, std::array{Metric::kKid}), DivergedError);
}

TEST_F(ScoresOfImages, HaveNoFloorWhereNoRealImagesAreLeft) {
  const ReferenceData reference = data(0);
  ImageScorer scorer(reference, network(), kGenerated);
  TrainedRun run = run_with_weights(7);
  EXPECT_FALSE(scorer.scores_of(run).held_back);
}

TEST(ReferenceImages, AreTrainingImagesWhereThatIsAskedFor) {
  const JobSpec clothes = parse_job("model: {family: dcgan}\n", "job");
  const ReferenceData usual = open_reference_data(clothes);
  EXPECT_EQ(usual.description, "10000 test images");
  EXPECT_EQ(usual.held_back_count, 10'000);
  const ReferenceData all = open_reference_data(clothes, 100'000);
  EXPECT_EQ(all.description, "60000 training images");
  EXPECT_EQ(all.held_back_count, 10'000) << "the test images";
  EXPECT_TRUE(all.held_back(3, 1).equal(usual.reference(3, 1)));
  EXPECT_TRUE(all.reference(3, 1).equal(usual.held_back(3, 1)));

  const JobSpec stacked = parse_job(
      "model: {family: dcgan, channels: 3}\ndata: {source: 'stacked:fashion-mnist'}\n", "job");
  EXPECT_EQ(open_reference_data(stacked).count, 10'000);
  EXPECT_EQ(open_reference_data(stacked, 127'950).held_back_count, 0) << "too few are left";
  const ReferenceData most = open_reference_data(stacked, 127'000);
  EXPECT_EQ(most.held_back_count, 1'000);
  EXPECT_FALSE(most.held_back(0, 1).equal(most.reference(0, 1)));
}

}  // namespace
}  // namespace gangway::launch
