// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gan/recipes/recipes.hpp"
#include "tests/named_rows.hpp"

namespace gangway::gan {
namespace {

using pipeline::Application;
using pipeline::Join;
using pipeline::Loss;
using pipeline::Pass;
using pipeline::Phase;
using ::testing::ElementsAre;

JobSpec transfer_job() {
  JobSpec job = JobSpec::of(*recipe_named("style-transfer"));
  job.model.levels = 3;
  job.training.style = {
      .weight = 5.0, .content_weight = 2.0, .content_level = 2, .total_variation = 0.5};
  return job;
}

std::vector<Loss> transfer_losses(const JobSpec& job) {
  const Pass pass = phases_of(job).at(0).passes.at(0);
  std::vector<Loss> losses;
  for (const pipeline::Node& node : pass.nodes) {
    if (const auto* loss = std::get_if<Loss>(&node)) {
      losses.push_back(*loss);
    }
  }
  return losses;
}

TEST(StyleTransferRecipe, TrainsTheGeneratorAloneOnNewPictures) {
  JobSpec job = transfer_job();
  EXPECT_TRUE(job.network("features").is_frozen);
  const std::vector<Phase> phases = phases_of(job);
  ASSERT_EQ(phases.size(), 1U);
  EXPECT_THAT(phases[0].networks, ElementsAre(job.id_of("generator")));
  EXPECT_TRUE(phases[0].takes_reals);
  EXPECT_FALSE(phases[0].agrees);
  job.network("generator").clip_norm = 1.0;
  EXPECT_TRUE(phases_of(job)[0].agrees);
}

TEST(StyleTransferRecipe, ComparesContentsAtOneLevelAndStylesAtAll) {
  const JobSpec job = transfer_job();
  const std::vector<Loss> losses = transfer_losses(job);
  ASSERT_EQ(losses.size(), 5U);
  EXPECT_EQ(losses[0].function, "content");
  EXPECT_THAT(losses[0].inputs, ElementsAre("made_level1", "real_level1"));
  EXPECT_EQ(losses[0].weight, 2.0);
  for (int level = 0; level < 3; ++level) {
    const Loss& loss = losses[static_cast<std::size_t>(level) + 1];
    const std::string name = "level" + std::to_string(level) + "_gram";
    EXPECT_EQ(loss.function, "style");
    EXPECT_THAT(loss.inputs, ElementsAre("made_" + name, "style_" + name));
    EXPECT_EQ(loss.weight, 5.0);
  }
  EXPECT_EQ(losses[4].function, "total-variation");
  EXPECT_EQ(losses[4].weight, 0.5);
  for (const Loss& loss : losses) {
    EXPECT_EQ(loss.shown_with, job.id_of("generator"));
  }
}

TEST(StyleTransferRecipe, LeavesOutWhatDoesNotCount) {
  JobSpec job = transfer_job();
  job.training.style.total_variation = 0.0;
  job.model.levels = 2;
  EXPECT_EQ(transfer_losses(job).size(), 3U);
}

TEST(StyleTransferRecipe, LetsGradientsThroughTheFeaturesOfMadePicturesOnly) {
  const JobSpec job = transfer_job();
  const Pass pass = phases_of(job).at(0).passes.at(0);
  int applications = 0;
  for (std::size_t i = 0; i < pass.nodes.size(); ++i) {
    const auto* application = std::get_if<Application>(&pass.nodes[i]);
    const auto* join = std::get_if<Join>(&pass.nodes[i]);
    if (application != nullptr && application->network == job.id_of("features")) {
      ++applications;
      EXPECT_EQ(pass.has_gradient[i], application->inputs.front().tensor == "made");
      EXPECT_EQ(pipeline::outputs_of(pass.nodes[i]).size(), 3U);
    }
    if (join != nullptr) {
      EXPECT_EQ(pass.has_gradient[i], join->output.starts_with("made"));
    }
  }
  EXPECT_EQ(applications, 3);
}

}  // namespace
}  // namespace gangway::gan
