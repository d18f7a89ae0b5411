// SPDX-License-Identifier: MIT
// A step that a user's library defines: tests/libraries/minimax.cpp.
#include <set>
#include <string>
#include <variant>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/version.h>

#include "base/errors.hpp"
#include "gan/library/library_losses.hpp"
#include "gan/recipes/recipes.hpp"
#include "job/library/family_library.hpp"
#include "tests/job/job_problems.hpp"
#include "tests/library_files.hpp"

namespace gangway::gan {
namespace {

JobSpec minimax_job(const std::string& more = "") {
  return testing::spec_of("model: {library: '" GANGWAY_MINIMAX
                          "', family: mlp}\n"
                          "data: {source: 'toy:ring8'}\n"
                          "training: {recipe: minimax}\n" +
                          more);
}

std::set<std::string> losses_of(const JobSpec& job) {
  std::set<std::string> names;
  for (const pipeline::Phase& phase : phases_of(job)) {
    for (const pipeline::Pass& pass : phase.passes) {
      for (const pipeline::Node& node : pass.nodes) {
        if (const auto* loss = std::get_if<pipeline::Loss>(&node)) {
          names.insert(loss->function);
        }
      }
    }
  }
  return names;
}

TEST(LibraryRecipes, SayWhatAStepConsistsOf) {
  EXPECT_EQ(
      losses_of(minimax_job()),
      (std::set<std::string>{"minimax-generator", "nonsaturating-fake", "nonsaturating-real"}));
}

TEST(LibraryRecipes, MayHaveAFrozenNetwork) {
  const JobSpec job = minimax_job("discriminator: {frozen: true, weights: d.safetensors}\n");
  EXPECT_EQ(losses_of(job), (std::set<std::string>{"minimax-generator"}));
}

TEST(LibraryRecipes, AreNotOpenedWhereTheyAreOfAnotherLibTorch) {
  const testing::ScratchFolder folder;
  JobSpec job = minimax_job();
  folder.write("libother.blocks.so",
               testing::of_another_torch(testing::bytes_of(blocks_file(GANGWAY_MINIMAX))));
  job.model.library.file = (folder.path() / "libother.so").string();
  try {
    (void)phases_of(job, TORCH_VERSION);
    ADD_FAILURE() << "opened";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("is built with LibTorch 9."));
  }
}

TEST(LibraryLosses, StandBesideOurs) {
  const HashedFile library = minimax_job().model.library;
  const at::Tensor logits = at::arange(4, at::kDouble).reshape({4, 1}) - 1.0;
  const at::Tensor expected = -(1.0 + logits.exp()).log().mean();
  const at::Tensor made = loss_of("minimax-generator", library)({&logits, 1});
  EXPECT_LT((made - expected).abs().item<double>(), 1e-12);
  EXPECT_EQ(loss_of("hinge-real", library), loss_named("hinge-real"));
  EXPECT_EQ(loss_of("hinge-real", {}), loss_named("hinge-real"));
  EXPECT_THROW((void)loss_of("minimax-generator", {}), InvariantError);
}

}  // namespace
}  // namespace gangway::gan
