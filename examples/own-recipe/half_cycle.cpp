// SPDX-License-Identifier: MIT
// A recipe of one's own, all of it: half of a CycleGAN (Zhu et al., 2017). One generator makes
// pictures of side b of those of side a, for a discriminator of side b; another one makes the first
// picture again of what was made. The way from b to a is not trained on pictures of side b.
#include <string>
#include <vector>

#include "gan/recipes/library_recipes.hpp"
#include "job/library/library_rows.hpp"
#include "pipeline/graph.hpp"
#include "pipeline/phases.hpp"

namespace {

using gangway::pipeline::Application;
using gangway::pipeline::Join;
using gangway::pipeline::Loss;
using gangway::pipeline::Node;
using gangway::pipeline::Pass;
using gangway::pipeline::Phase;
using gangway::pipeline::Reals;

/// Pictures of both sides, and "fake_b" of "real_a".
std::vector<Node> making(const gangway::Job& job) {
  return {Reals{}, Join{"first-side", {"real"}, "real_a"}, Join{"second-side", {"real"}, "real_b"},
          Application{job.id_of("generator_ab"), {{"image", "real_a"}}, "fake_b"}};
}

/// Each application of a network in a step draws apart from the others: its stream.
void add_verdict(const gangway::Job& job, const std::string& images, const char* loss,
                 const char* shown_with, int stream, std::vector<Node>& nodes) {
  nodes.emplace_back(
      Application{job.id_of("discriminator_b"), {{"image", images}}, images + "_logits", stream});
  nodes.emplace_back(
      Loss{.function = loss, .inputs = {images + "_logits"}, .shown_with = job.id_of(shown_with)});
}

std::vector<Phase> phases(const gangway::Job& job) {
  Pass translate{"translate", making(job)};
  add_verdict(job, "fake_b", "least-squares-generator", "generator_ab", 1, translate.nodes);
  translate.nodes.emplace_back(
      Application{job.id_of("generator_ba"), {{"image", "fake_b"}}, "cycle_a", 2});
  translate.nodes.emplace_back(Loss{.function = "mean-absolute",
                                    .inputs = {"cycle_a", "real_a"},
                                    .weight = job.training.translation.cycle_weight,
                                    .shown_with = job.id_of("generator_ba")});
  // It judges what `translate` has made, which is kept.
  Pass judge{"judge", making(job)};
  judge.recall = {.phase = 0, .pass = 0, .nodes = static_cast<int>(judge.nodes.size())};
  add_verdict(job, "real_b", "least-squares-real", "discriminator_b", 0, judge.nodes);
  add_verdict(job, "fake_b", "least-squares-fake", "discriminator_b", 1, judge.nodes);
  return {{.name = "generators",
           .networks = {job.id_of("generator_ab"), job.id_of("generator_ba")},
           .takes_reals = true,
           .passes = {translate}},
          {.name = "discriminator", .networks = {job.id_of("discriminator_b")}, .passes = {judge}}};
}

}  // namespace

const gangway::LibraryRows& gangway_library_rows() {
  static const gangway::LibraryRows rows{
      .recipes = {{.name = "half-cycle",
                   .doc = "pictures of pictures, of which these can be made again",
                   .networks = {{.name = "generator_ab",
                                 .role = "translator",
                                 .ema_kimg = 10.0,
                                 .is_averaged = true},
                                {.name = "generator_ba", .role = "translator"},
                                {.name = "discriminator_b", .role = "patch-discriminator"}},
                   .shown = "generator_ab",
                   .takes_pictures = true,
                   .translates = true,
                   .is_cyclic = true}}};
  return rows;
}

const gangway::gan::LibraryRecipes& gangway_library_recipes() {
  static const gangway::gan::LibraryRecipes recipes{.recipes = {{"half-cycle", phases}}};
  return recipes;
}
