// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gan/recipes/recipes.hpp"
#include "tests/named_rows.hpp"

namespace gangway::gan {
namespace {

using pipeline::Application;
using pipeline::Loss;
using pipeline::Pass;
using pipeline::Phase;
using ::testing::ElementsAre;

JobSpec distil_job(const DistillSpec& spec = {}) {
  JobSpec job = JobSpec::of(*recipe_named("distill"));
  job.training.distill = spec;
  return job;
}

template <typename Kind>
std::vector<Kind> nodes_of(const Pass& pass) {
  std::vector<Kind> nodes;
  for (const pipeline::Node& node : pass.nodes) {
    if (const auto* one = std::get_if<Kind>(&node)) {
      nodes.push_back(*one);
    }
  }
  return nodes;
}

TEST(DistillRecipe, TrainsTheDiscriminatorThenTheGeneratorAndNeverTheTeacher) {
  JobSpec job = distil_job();
  job.network("discriminator").steps = 2;
  job.network("trunk").clip_norm = 1.0;
  const std::vector<Phase> phases = phases_of(job);
  ASSERT_EQ(phases.size(), 2U);
  EXPECT_THAT(phases[0].networks, ElementsAre(job.id_of("discriminator"), job.id_of("trunk")));
  EXPECT_EQ(phases[0].repeats, 2);
  EXPECT_TRUE(phases[0].takes_reals);
  EXPECT_TRUE(phases[0].agrees);
  EXPECT_THAT(phases[1].networks, ElementsAre(job.id_of("generator")));
  EXPECT_FALSE(phases[1].agrees);
  for (const Pass& pass : phases[0].passes) {
    for (const Application& one : nodes_of<Application>(pass)) {
      EXPECT_NE(one.network, job.id_of("teacher")) << "the discriminator sees the student alone";
    }
  }
}

TEST(DistillRecipe, ComparesPicturesAndFeaturesOfTheSameNoiseAndLabel) {
  JobSpec job =
      distil_job({.adversarial_weight = 2.0, .picture_weight = 3.0, .feature_weight = 4.0});
  job.model.classes = 10;
  const Pass pass = phases_of(job)[1].passes.at(0);
  const std::vector<Application> made = nodes_of<Application>(pass);
  EXPECT_EQ(made.at(0).network, job.id_of("generator"));
  EXPECT_EQ(made.at(1).network, job.id_of("teacher"));
  EXPECT_EQ(made.at(0).inputs, made.at(1).inputs);
  EXPECT_EQ(made.at(0).inputs.size(), 2U);
  const std::vector<Loss> losses = nodes_of<Loss>(pass);
  ASSERT_EQ(losses.size(), 3U);
  EXPECT_EQ(losses[0].function, "mean-absolute");
  EXPECT_THAT(losses[0].inputs, ElementsAre("fake", "shown"));
  EXPECT_EQ(losses[0].weight, 3.0);
  EXPECT_EQ(losses[1].function, "mean-absolute");
  EXPECT_THAT(losses[1].inputs, ElementsAre("fake_features", "shown_features"));
  EXPECT_EQ(losses[1].weight, 4.0);
  EXPECT_EQ(losses[2].function, "nonsaturating-generator");
  EXPECT_EQ(losses[2].weight, 2.0);
}

TEST(DistillRecipe, LeavesOutWhatDoesNotCount) {
  const auto networks = [](const DistillSpec& spec) {
    JobSpec job = distil_job(spec);
    std::vector<std::string> names;
    for (const Application& one : nodes_of<Application>(phases_of(job)[1].passes.at(0))) {
      names.push_back(job.networks[one.network].name);
    }
    return names;
  };
  EXPECT_THAT(networks({.picture_weight = 0.0, .feature_weight = 0.0}),
              ElementsAre("generator", "trunk", "discriminator"));
  EXPECT_THAT(networks({.adversarial_weight = 0.0, .feature_weight = 0.0}),
              ElementsAre("generator", "teacher"));
  EXPECT_THAT(networks({.adversarial_weight = 0.0, .picture_weight = 0.0}),
              ElementsAre("generator", "teacher", "trunk", "trunk"));
}

TEST(DistillRecipe, LetsNoGradientThroughTheTeacher) {
  const JobSpec job = distil_job();
  const Pass pass = phases_of(job)[1].passes.at(0);
  for (std::size_t i = 0; i < pass.nodes.size(); ++i) {
    if (const auto* one = std::get_if<Application>(&pass.nodes[i])) {
      EXPECT_EQ(pass.has_gradient[i], !one->output.starts_with("shown")) << one->output;
    }
  }
}

TEST(DistillRecipe, ReusesTheFakesOfTheDiscriminatorsPhase) {
  JobSpec job = distil_job();
  EXPECT_FALSE(phases_of(job)[1].passes[0].recall.has_value());
  job.training.reuse_fakes = true;
  EXPECT_EQ(phases_of(job)[1].passes[0].recall,
            (pipeline::Recall{.phase = 0, .pass = 1, .nodes = 2}));
}

TEST(DistillRecipe, HasATeacherOfItsOwnWidth) {
  JobSpec job = distil_job({.teacher_width = 32});
  job.model.width = 8;
  const PerNetwork<Architecture> networks = job.architectures();
  JobSpec wide = job;
  wide.model.width = 32;
  EXPECT_EQ(num_parameters(networks[job.id_of("teacher")]),
            num_parameters(wide.architectures()[job.id_of("generator")]));
  EXPECT_EQ(networks[job.id_of("teacher")].name, "teacher");
  EXPECT_LT(num_parameters(networks[job.id_of("generator")]),
            num_parameters(networks[job.id_of("teacher")]) / 3);
}

}  // namespace
}  // namespace gangway::gan
