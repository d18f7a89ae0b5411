// SPDX-License-Identifier: MIT
#include <iterator>
#include <string>
#include <utility>

#include "gan/recipes/recipe_phases.hpp"
#include "job/choices.hpp"

namespace gangway::gan {
namespace {

/// Factor of the discriminator's loss, which slows its learning (section 3.3).
constexpr double kDiscriminatorShare = 0.5;

/// Returns nodes for a pair and the translation of its first picture.
std::vector<Node> making(NetworkId generator) {
  return {Reals{}, Join{"first-side", {"real"}, "given"}, Join{"second-side", {"real"}, "target"},
          Application{generator, {{"image", "given"}}, "fake"}};
}

/// Judges the first picture together with `second`.
std::vector<Node> judging(NetworkId discriminator, const std::string& second, int stream) {
  return {Join{"concatenation", {"given", second}, second + "_pair"},
          Application{discriminator, {{"image", second + "_pair"}}, second + "_logits", stream}};
}

void append(std::vector<Node>& nodes, std::vector<Node> more) {
  nodes.insert(nodes.end(), std::make_move_iterator(more.begin()),
               std::make_move_iterator(more.end()));
}

}  // namespace

std::vector<Phase> pix2pix_phases(const Job& job) {
  const NetworkId generator = job.id_of("generator");
  const NetworkId discriminator = job.id_of("discriminator");
  const std::string word(name_of(job.training.loss));
  const auto loss = [&](const char* part, const char* logits, double weight, NetworkId of) {
    return Loss{.function = word + part, .inputs = {logits}, .weight = weight, .shown_with = of};
  };
  std::vector<Node> judged = making(generator);
  append(judged, judging(discriminator, "fake", 1));
  judged.emplace_back(loss("-fake", "fake_logits", kDiscriminatorShare, discriminator));
  append(judged, judging(discriminator, "target", 0));
  judged.emplace_back(loss("-real", "target_logits", kDiscriminatorShare, discriminator));

  std::vector<Node> learnt = making(generator);
  const auto num_making = static_cast<int>(learnt.size());
  append(learnt, judging(discriminator, "fake", 1));
  learnt.emplace_back(loss("-generator", "fake_logits", 1.0, generator));
  learnt.emplace_back(Loss{.function = "mean-absolute",
                           .inputs = {"fake", "target"},
                           .weight = job.training.translation.l1_weight,
                           .shown_with = generator});
  Pass generate{"generate", std::move(learnt)};
  if (job.training.reuse_fakes) {
    generate.recall = {.phase = 0, .pass = 0, .nodes = num_making};
  }
  return completed(
      job, {{.name = "discriminator",
             .networks = {discriminator},
             .takes_reals = true,
             .passes = {Pass{"judge", std::move(judged)}}},
            {.name = "generator", .networks = {generator}, .passes = {std::move(generate)}}});
}

}  // namespace gangway::gan
