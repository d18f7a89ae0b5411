// SPDX-License-Identifier: MIT
#include <algorithm>
#include <string>
#include <variant>

#include "gan/recipes/recipe_phases.hpp"
#include "job/augmentation.hpp"

namespace gangway::gan {
namespace {

constexpr const char* kRealImages = "real";
constexpr const char* kFakeImages = "fake";

std::string augmented_name(const std::string& images) { return "augmented_" + images; }

bool take_augmented(std::vector<Input>& inputs, const std::string& images) {
  const auto found = std::ranges::find(inputs, images, &Input::tensor);
  if (found == inputs.end()) {
    return false;
  }
  found->tensor = augmented_name(images);
  return true;
}

/// Makes `node` take the augmented `images` if it shows them to `judge`; returns whether it does.
bool shows_augmented(Node& node, NetworkId judge, const std::string& images) {
  if (auto* application = std::get_if<Application>(&node)) {
    return application->network == judge && take_augmented(application->inputs, images);
  }
  if (auto* penalty = std::get_if<Penalty>(&node)) {
    return penalty->network == judge && take_augmented(penalty->inputs, images);
  }
  if (auto* join = std::get_if<Join>(&node)) {
    const auto found = std::ranges::find(join->inputs, images);
    if (found != join->inputs.end()) {
      *found = augmented_name(images);
      return true;
    }
  }
  return false;
}

/// Marks a penalty for the gradient by pictures before augmentation; returns whether `node` is one.
/// Interpolates are always of augmented pictures.
bool before_augment(Node& node, const AugmentationSpec& spec) {
  auto* penalty = std::get_if<Penalty>(&node);
  if (penalty == nullptr || spec.penalised == PenalisedPictures::kAugmented) {
    return false;
  }
  penalty->before_augment = true;
  return true;
}

/// Inserts an Augment before the first node that shows `images` to `judge`, after nodes that
/// another pass may recall.
/// @param is_moved  whether no update of this step has moved an adaptive strength yet
void augment(Pass& pass, NetworkId judge, const std::string& images, int stream,
             const AugmentationSpec& spec, bool is_moved) {
  const bool adapts = spec.is_adaptive();
  auto first = pass.nodes.end();
  for (auto node = pass.nodes.begin(); node != pass.nodes.end(); ++node) {
    if (shows_augmented(*node, judge, images) && first == pass.nodes.end()) {
      first = node;
    }
  }
  if (first != pass.nodes.end()) {
    const bool is_through = before_augment(*first, spec);
    first = pass.nodes.insert(first, Augment{.judge = judge,
                                             .input = images,
                                             .output = augmented_name(images),
                                             .stream = stream,
                                             .strength = adapts ? kAugmentStrength : "",
                                             .is_looked_through = is_through});
    if (adapts && std::ranges::none_of(pass.nodes, [](const Node& node) {
          const auto* running = std::get_if<Running>(&node);
          return running != nullptr && running->output == kAugmentStrength;
        })) {
      pass.nodes.insert(first, Running{.network = judge,
                                       .statistic = kAugmentStrength,
                                       .output = kAugmentStrength,
                                       .is_moved = is_moved});
    }
  }
}

/// Marks `judge`'s outputs on real pictures; returns whether the pass has some.
bool harvest_signs(Pass& pass, NetworkId judge) {
  bool is_any = false;
  for (Node& node : pass.nodes) {
    auto* application = std::get_if<Application>(&node);
    if (application != nullptr && application->network == judge &&
        std::ranges::find(application->inputs, augmented_name(kRealImages), &Input::tensor) !=
            application->inputs.end()) {
      application->harvests_signs = true;
      is_any = true;
    }
  }
  return is_any;
}

}  // namespace

std::vector<Phase> with_augmentation(const Job& job, std::vector<Phase> phases) {
  if (!job.training.augment.is_any()) {
    return phases;
  }
  const NetworkId judge = job.id_of("discriminator");
  const AugmentationSpec& spec = job.training.augment;
  // All phases of a step use one strength, stored by the step's update of the judge.
  bool is_stored = false;
  for (Phase& phase : phases) {
    bool is_harvested = false;
    for (Pass& pass : phase.passes) {
      augment(pass, judge, kRealImages, 0, spec, !is_stored);
      augment(pass, judge, kFakeImages, 1, spec, !is_stored);
      if (spec.is_adaptive() && pipeline::trains(phase, judge)) {
        is_harvested |= harvest_signs(pass, judge);
      }
    }
    is_stored |= is_harvested;
  }
  return phases;
}

}  // namespace gangway::gan
