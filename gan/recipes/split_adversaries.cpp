// SPDX-License-Identifier: MIT
#include "gan/recipes/split_adversaries.hpp"

#include <utility>

#include "job/choices.hpp"

namespace gangway::gan {

SplitAdversaries::SplitAdversaries(const Job& job)
    : job_(job),
      generator_(job.id_of("generator")),
      trunk_(job.id_of("trunk")),
      discriminator_(job.id_of("discriminator")) {}

std::vector<Input> SplitAdversaries::with_labels(Input input, const std::string& labels) const {
  std::vector<Input> inputs{std::move(input)};
  if (job_.model.classes > 0) {
    inputs.push_back({"labels", labels});
  }
  return inputs;
}

Application SplitAdversaries::generated(const std::string& noise, const std::string& labels,
                                        const std::string& output, int stream) const {
  return {generator_, with_labels({"noise", noise}, labels), output, stream};
}

Application SplitAdversaries::features_of(const std::string& images, int stream) const {
  return {trunk_, {{"image", images}}, images + "_features", stream};
}

Application SplitAdversaries::verdict_on(const std::string& images, const std::string& labels,
                                         int stream) const {
  return {discriminator_, with_labels({"features", images + "_features"}, labels),
          images + "_logits", stream};
}

Loss SplitAdversaries::loss(const std::string& part, const std::string& images,
                            NetworkId shown_with, double weight) const {
  return {.function = std::string(gangway::name_of(job_.training.loss)) + "-" + part,
          .inputs = {images + "_logits"},
          .weight = weight,
          .shown_with = shown_with};
}

Pass SplitAdversaries::real() const {
  return {"real",
          {Reals{}, features_of("real", 0), verdict_on("real", "real_labels", 0),
           loss("real", "real", discriminator_)}};
}

std::vector<Node> SplitAdversaries::draws() const {
  std::vector<Node> nodes{Draw{.output = "noise"}};
  if (job_.model.classes > 0) {
    nodes.emplace_back(Draw{.kind = Draw::Kind::kLabels, .output = "fake_labels"});
  }
  return nodes;
}

}  // namespace gangway::gan
