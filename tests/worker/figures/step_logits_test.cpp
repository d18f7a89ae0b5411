// SPDX-License-Identifier: MIT
// The observed logits, and their figures.
#include "worker/figures/step_logits.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "gan/recipes/recipes.hpp"
#include "job/models/recipes.hpp"
#include "tests/named_rows.hpp"

namespace gangway::worker {
namespace {

using Origin = JudgedLogits::Origin;

/// Returns "discriminator real real_logits" and the like for all passes of the phase.
std::set<std::string> judged_in(const pipeline::Phase& phase, const JobSpec& job) {
  std::set<std::string> found;
  for (const pipeline::Pass& pass : phase.passes) {
    for (const pipeline::Node& node : pass.nodes) {
      const auto* loss = std::get_if<pipeline::Loss>(&node);
      if (loss == nullptr) {
        continue;
      }
      for (const JudgedLogits& judged : judged_by(pass, *loss, job)) {
        found.insert(judged.network + (judged.origin == Origin::kReal ? " real " : " fake ") +
                     judged.tensor);
      }
    }
  }
  return found;
}

TEST(JudgedLogits, AreThoseOfTheDiscriminatorsOwnPhase) {
  for (const LossKind loss : {LossKind::kNonsaturating, LossKind::kLeastSquares, LossKind::kHinge,
                              LossKind::kWasserstein, LossKind::kRelativistic}) {
    JobSpec job;
    job.training.loss = loss;
    const std::vector<pipeline::Phase> phases = gan::phases_of(job);
    EXPECT_EQ(judged_in(phases.at(0), job),
              (std::set<std::string>{"discriminator real real_logits",
                                     "discriminator fake fake_logits"}));
    EXPECT_TRUE(judged_in(phases.at(1), job).empty()) << "the generator's";
  }
}

TEST(JudgedLogits, AreFoundInEveryRecipeWithAdversaries) {
  const std::map<std::string, std::set<std::string>> judges{
      {"infogan", {"discriminator"}},
      {"vae-gan", {"discriminator"}},
      {"pix2pix", {"discriminator"}},
      {"cyclegan", {"discriminator_a", "discriminator_b"}},
      {"distill", {"discriminator"}}};
  for (const auto& [recipe, networks] : judges) {
    JobSpec job = JobSpec::of(*recipe_named(recipe));
    job.model.codes = 1;  // infogan needs codes
    for (const std::string& network : networks) {
      std::set<std::string> origins;
      for (const pipeline::Phase& phase : gan::phases_of(job)) {
        for (const std::string& judged : judged_in(phase, job)) {
          if (judged.starts_with(network + " ")) {
            origins.insert(judged.substr(network.size() + 1, 4));
          }
        }
      }
      EXPECT_EQ(origins, (std::set<std::string>{"real", "fake"})) << recipe << " " << network;
    }
  }
}

TEST(JudgedLogits, HaveABoundaryWhereTheLossHasOne) {
  const std::map<LossKind, std::optional<double>> boundaries{
      {LossKind::kNonsaturating, 0.0},
      {LossKind::kHinge, 0.0},
      {LossKind::kLeastSquares, 0.5},
      {LossKind::kWasserstein, std::nullopt}};
  for (const auto& [loss, boundary] : boundaries) {
    JobSpec job;
    job.training.loss = loss;
    const std::vector<pipeline::Phase> phases = gan::phases_of(job);
    const pipeline::Pass& real = phases.at(0).passes.at(0);
    const auto judged = judged_by(real, std::get<pipeline::Loss>(real.nodes.back()), job);
    ASSERT_EQ(judged.size(), 1U);
    EXPECT_EQ(judged[0].boundary, boundary);
  }
}

JudgedLogits entry_of(Origin origin, int microbatch, const std::vector<float>& values,
                      std::optional<double> boundary = 0.0) {
  return {.network = "discriminator",
          .origin = origin,
          .tensor = "logits",
          .boundary = boundary,
          .microbatch = microbatch,
          .logits = at::tensor(values).reshape({-1, 1})};
}

std::map<std::string, double> figures_of(const StepLogits& step, int microbatch) {
  std::map<std::string, double> found;
  for (const messages::NamedFigure& figure : step.figures_of(microbatch)) {
    EXPECT_TRUE(found.emplace(figure.name, figure.value).second) << figure.name;
  }
  return found;
}

TEST(StepLogits, TellsMeansSharesAndAccuracyByMicrobatch) {
  StepLogits step;
  step.add(entry_of(Origin::kReal, 0, {1.0F, -2.0F, 3.0F, 4.0F}));
  step.add(entry_of(Origin::kFake, 0, {-1.0F, 5.0F}));
  step.add(entry_of(Origin::kReal, 1, {-8.0F}));
  step.close();
  EXPECT_EQ(figures_of(step, 0),
            (std::map<std::string, double>{{"discriminator_real_logit", 1.5},
                                           {"discriminator_fake_logit", 2.0},
                                           {"discriminator_real_share", 0.75},
                                           {"discriminator_accuracy", 0.625}}));
  EXPECT_EQ(figures_of(step, 1), (std::map<std::string, double>{{"discriminator_real_logit", -8.0},
                                                                {"discriminator_real_share", 0.0},
                                                                {"discriminator_accuracy", 0.0}}));
  EXPECT_TRUE(step.figures_of(2).empty());
}

TEST(StepLogits, AveragesRepeatsAndComparesWithTheBoundary) {
  StepLogits step;
  step.add(entry_of(Origin::kReal, 0, {0.4F, 0.6F}, 0.5));
  step.add(entry_of(Origin::kReal, 0, {0.8F, 0.6F}, 0.5));
  step.close();
  const std::map<std::string, double> figures = figures_of(step, 0);
  EXPECT_NEAR(figures.at("discriminator_real_logit"), 0.6, 1e-7);
  EXPECT_EQ(figures.at("discriminator_real_share"), 0.75);
}

TEST(StepLogits, HasNoAccuracyWithoutABoundary) {
  StepLogits step;
  step.add(entry_of(Origin::kReal, 0, {1.0F}, std::nullopt));
  step.close();
  EXPECT_EQ(figures_of(step, 0),
            (std::map<std::string, double>{{"discriminator_real_logit", 1.0}}));
}

TEST(StepLogits, MakesHistogramsOverAllMicrobatches) {
  StepLogits step;
  step.add(entry_of(Origin::kReal, 0, {1.0F, -2.0F}));
  step.add(entry_of(Origin::kFake, 0, {5.0F}));
  step.add(entry_of(Origin::kReal, 1, {1.0F}));
  step.close();
  const std::vector<messages::HistogramPart> parts = step.histograms(8);
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].tag, "Logits/discriminator/fake");
  EXPECT_EQ(parts[1].tag, "Logits/discriminator/real");
  EXPECT_EQ(parts[1].step, 8);
  EXPECT_EQ(parts[1].counts.counts, (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(parts[1].counts.sum, 0.0);
}

TEST(StepLogits, OfAStepWithoutJudgesAreNothing) {
  StepLogits step;
  step.close();
  EXPECT_TRUE(step.figures_of(0).empty());
  EXPECT_TRUE(step.histograms(1).empty());
}

}  // namespace
}  // namespace gangway::worker
