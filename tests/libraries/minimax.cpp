// SPDX-License-Identifier: MIT
// A user's recipe with its own loss: the GAN in which both networks have one objective, so that the
// generator minimises log(1 - D) (Goodfellow et al., 2014, eq. 1).
#include <span>
#include <variant>
#include <vector>

#include "gan/library/library.hpp"
#include "gan/recipes/adversarial.hpp"
#include "gan/recipes/library_recipes.hpp"

namespace {

std::vector<gangway::pipeline::Phase> phases(const gangway::Job& job) {
  std::vector<gangway::pipeline::Phase> all = gangway::gan::adversarial_phases(job);
  for (gangway::pipeline::Phase& phase : all) {
    for (gangway::pipeline::Pass& pass : phase.passes) {
      for (gangway::pipeline::Node& node : pass.nodes) {
        auto* loss = std::get_if<gangway::pipeline::Loss>(&node);
        if (loss != nullptr && loss->function == "nonsaturating-generator") {
          loss->function = "minimax-generator";
        }
      }
    }
  }
  return all;
}

}  // namespace

const gangway::LibraryRows& gangway_library_rows() {
  static const gangway::LibraryRows rows{
      .recipes = {
          {.name = "minimax",
           .doc = "one objective for both networks",
           .networks =
               {{.name = "generator", .role = "generator", .ema_kimg = 10.0, .is_averaged = true},
                {.name = "discriminator", .role = "discriminator"}},
           .shown = "generator",
           .counts = "discriminator",
           .is_adversarial = true}}};
  return rows;
}

const gangway::gan::LibraryRecipes& gangway_library_recipes() {
  static const gangway::gan::LibraryRecipes recipes{.recipes = {{"minimax", phases}}};
  return recipes;
}

const gangway::gan::LibraryBlocks& gangway_library_blocks() {
  static const gangway::gan::LibraryBlocks blocks{
      .losses = {{"minimax-generator", [](std::span<const at::Tensor> inputs) -> at::Tensor {
                    return -at::softplus(inputs[0]).mean();
                  }}}};
  return blocks;
}
