// SPDX-License-Identifier: MIT
#include <string>
#include <utility>

#include "gan/recipes/recipe_phases.hpp"

namespace gangway::gan {
namespace {

/// Pictures of a pass, each with a stream of its own, because applications of a network draw apart.
enum PictureStream : int { kMade, kReal, kStyle };

std::string level_of(const std::string& picture, int level) {
  return picture + "_level" + std::to_string(level);
}

/// Returns the features of all levels: `picture`_level0, ….
Application features_of(const std::string& picture, PictureStream stream, const Job& job) {
  Application features{.network = job.id_of("features"),
                       .inputs = {{"image", picture}},
                       .output = {},
                       .stream = stream};
  for (int level = 0; level < job.model.levels; ++level) {
    features.levels.push_back(level_of(picture, level));
  }
  return features;
}

Join gram_of(const std::string& picture, int level) {
  const std::string features = level_of(picture, level);
  return {"gram", {features}, features + "_gram"};
}

}  // namespace

std::vector<Phase> style_transfer_phases(const Job& job) {
  const NetworkId generator = job.id_of("generator");
  const StyleSpec& style = job.training.style;
  std::vector<Node> nodes{Reals{},
                          StylePicture{},
                          features_of("real", kReal, job),
                          features_of("style", kStyle, job),
                          Application{generator, {{"image", "real"}}, "made"},
                          features_of("made", kMade, job)};
  const int content = style.content_level - 1;
  nodes.emplace_back(Loss{.function = "content",
                          .inputs = {level_of("made", content), level_of("real", content)},
                          .weight = style.content_weight,
                          .shown_with = generator});
  for (int level = 0; level < job.model.levels; ++level) {
    const Join made = gram_of("made", level);
    const Join wanted = gram_of("style", level);
    nodes.insert(nodes.end(), {made, wanted,
                               Loss{.function = "style",
                                    .inputs = {made.output, wanted.output},
                                    .weight = style.weight,
                                    .shown_with = generator}});
  }
  if (style.total_variation > 0.0) {
    nodes.emplace_back(Loss{.function = "total-variation",
                            .inputs = {"made"},
                            .weight = style.total_variation,
                            .shown_with = generator});
  }
  return completed(job, {{.name = "generator",
                          .networks = {generator},
                          .takes_reals = true,
                          .passes = {Pass{"transfer", std::move(nodes)}}}});
}

}  // namespace gangway::gan
