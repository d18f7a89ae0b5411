// SPDX-License-Identifier: MIT
#include "gan/evaluation/generate.hpp"

#include <array>

#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "gan/blocks/build_networks.hpp"
#include "job/families/families.hpp"
#include "tests/adversarial_networks.hpp"
#include "tests/named_rows.hpp"

namespace gangway::gan {
namespace {

JobSpec small_job(int classes) {
  JobSpec job;
  job.model.width = 8;
  job.model.classes = classes;
  return job;
}

Network generator_of(const JobSpec& job) {
  PerNetwork<Network> networks = build_networks(job);
  networks[kGenerator].initialise(1);
  return std::move(networks[kGenerator]);
}

double largest_difference(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

TEST(GenerateForSeeds, ShowsASeedTheSameWayInAnyGrid) {
  const JobSpec job = small_job(10);
  Network generator = generator_of(job);
  const std::array<std::uint64_t, 4> grid{0, 5, 17, 23};
  const std::array<std::uint64_t, 1> alone{17};
  const at::Tensor pictures = generate_for_seeds(generator, job.model, grid);
  EXPECT_LT(
      largest_difference(pictures.slice(0, 2, 3), generate_for_seeds(generator, job.model, alone)),
      1e-6);
  EXPECT_GT(largest_difference(pictures[0], pictures[1]), 1e-4);
}

TEST(GenerateCodeGrid, MovesTheFirstCodeAlongARowOfOneCategory) {
  JobSpec job = small_job(0);
  job.model.codes = 2;
  job.model.categories = 2;
  Network generator = generator_of(job);
  const at::Tensor grid = generate_code_grid(generator, job.model, 3);
  EXPECT_EQ(grid.size(0), 9);
  EXPECT_GT(largest_difference(grid[0], grid[1]), 1e-5);
  EXPECT_GT(largest_difference(grid[0], grid[3]), 1e-4);
  job.model.categories = 0;
  job.model.codes = 0;
  job.model.latent += 4;  // the same inputs without codes: columns are seeds
  const std::array<std::uint64_t, 2> seeds{0, 1};
  EXPECT_LT(largest_difference(generate_code_grid(generator, job.model, 2).slice(0, 0, 2),
                               generate_for_seeds(generator, job.model, seeds)),
            1e-6);
}

TEST(GenerateForSeeds, ShowsTheLabelAskedFor) {
  const JobSpec job = small_job(10);
  Network generator = generator_of(job);
  const std::array<std::uint64_t, 1> seeds{13};
  const at::Tensor by_seed = generate_for_seeds(generator, job.model, seeds);  // label 13 mod 10
  EXPECT_TRUE(by_seed.equal(generate_for_seeds(generator, job.model, seeds, 3)));
  EXPECT_FALSE(by_seed.equal(generate_for_seeds(generator, job.model, seeds, 4)));
}

TEST(GenerateForSeeds, RefusesALabelThatTheModelDoesNotHave) {
  const std::array<std::uint64_t, 1> seeds{0};
  const JobSpec labelled = small_job(10);
  Network generator = generator_of(labelled);
  EXPECT_THROW(static_cast<void>(generate_for_seeds(generator, labelled.model, seeds, 10)),
               ConfigError);
  EXPECT_THROW(static_cast<void>(generate_for_seeds(generator, labelled.model, seeds, -1)),
               ConfigError);
  const JobSpec plain = small_job(0);
  Network unlabelled = generator_of(plain);
  EXPECT_THROW(static_cast<void>(generate_for_seeds(unlabelled, plain.model, seeds, 0)),
               ConfigError);
}

TEST(EvaluationSamples, AreBoundedAsPicturesAre) {
  JobSpec job = small_job(0);
  job.model.family = family_named("r3gan");
  Network generator = generator_of(job);
  {
    const at::NoGradGuard no_grad;
    generator.parameters().back().parameter->tensor.mul_(10.0);
  }
  const std::array<std::uint64_t, 4> seeds{0, 1, 2, 3};
  EXPECT_GT(generate_for_seeds(generator, job.model, seeds).abs().max().item<float>(), 1.0F);
  EXPECT_EQ(evaluation_samples(generator, job.model, 3)(0, 8).abs().max().item<float>(), 1.0F);
}

TEST(EvaluationSamples, DoNotDependOnTheBatchesTheyAreDrawnIn) {
  const JobSpec job = small_job(10);
  Network generator = generator_of(job);
  const ImageSource samples = evaluation_samples(generator, job.model, 3);
  const at::Tensor together = samples(0, 8);
  EXPECT_LT(largest_difference(together.slice(0, 5, 8), samples(5, 3)), 1e-6);
  EXPECT_GT(largest_difference(together, evaluation_samples(generator, job.model, 4)(0, 8)), 1e-4);
}

}  // namespace
}  // namespace gangway::gan
