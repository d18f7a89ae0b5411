// SPDX-License-Identifier: MIT
#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/text/utf8.hpp"
#include "job/choices.hpp"
#include "job/keys/family_texts.hpp"
#include "job/keys/key_lists.hpp"
#include "job/keys/key_uses.hpp"
#include "job/keys/schedule_keys.hpp"
#include "job/schema/key_types.hpp"

namespace gangway {
namespace {

std::string refuse_unless_augmentable(const JobSpec& job) {
  const std::string by_recipe =
      for_recipes(&Recipe::augments, make_key({"training.augment", "", ""}, "", ""))
          .why_refused(job);
  return by_recipe.empty() ? refuse_unless_images(job) : by_recipe;
}

/// Restricts a key to jobs for which `is_meant` holds; `beside` ends the complaint otherwise.
Key for_augmented(Key key, bool (*is_meant)(const AugmentationSpec&), std::string beside) {
  key.why_refused = [is_meant, beside = std::move(beside)](const JobSpec& job) {
    const std::string why = refuse_unless_augmentable(job);
    return !why.empty() || is_meant(job.training.augment)
               ? why
               : fmt::format("has a meaning with {} alone; leave it out", beside);
  };
  return key;
}

bool is_any(const AugmentationSpec& spec) { return spec.is_any(); }
bool is_ada(const AugmentationSpec& spec) { return spec.policy == AugmentPolicy::kAda; }
bool is_adaptive(const AugmentationSpec& spec) { return spec.is_adaptive(); }
bool has_number(const AugmentationSpec& spec) { return spec.has_number(); }

constexpr const char* kWithAda = "training.augment.policy ada";
constexpr const char* kWithAdaptiveStrength = "training.augment.strength adaptive";
constexpr const char* kWithANumber = "training.augment.strength as a number";

std::vector<std::string> kind_names(AugmentKinds kinds) {
  std::vector<std::string> names;
  for (const auto& choice : choices(AugmentKind{})) {
    if (kinds.has(choice.value)) {
      names.emplace_back(choice.name);
    }
  }
  return names;
}

std::string list_of(AugmentKinds kinds) { return joined(kind_names(kinds), ", "); }

AugmentKinds all_kinds() {
  AugmentKinds all;
  for (const auto& choice : choices(AugmentKind{})) {
    all.add(choice.value);
  }
  return all;
}

Read<AugmentKinds> read_kinds(const YamlNode& node) {
  const std::vector<std::string> names = kind_names(all_kinds());
  Read<AugmentKinds> read;
  if (node.kind != YamlNode::Kind::kSequence || node.items.empty()) {
    read.complaint =
        fmt::format("expected auto or a list of {}, {}", joined(names, ", "),
                    node.kind == YamlNode::Kind::kSequence ? "not an empty one" : unlike(node));
    return read;
  }
  for (const YamlNode& item : node.items) {
    bool is_known = false;
    for (const auto& choice : choices(AugmentKind{})) {
      if (item.kind == YamlNode::Kind::kScalar && item.text == choice.name) {
        read.value.add(choice.value);
        is_known = true;
      }
    }
    if (!is_known) {
      read.complaint = choice_complaint(item, names);
      return read;
    }
  }
  return read;
}

/// Makes a key for `auto`, for which the field is empty, or a list of words.
Key kinds_key(KeyText text) {
  Key key = make_key(std::move(text), "auto or list",
                     fmt::format("auto, or of {}", list_of(all_kinds())));
  key.set = [](const YamlNode& node, JobSpec& job) -> std::string {
    if (node.kind == YamlNode::Kind::kScalar && node.text == "auto") {
      job.training.augment.chosen = {};
      return {};
    }
    return read_kinds(node).put_into(job.training.augment.chosen);
  };
  key.get = [](const JobSpec& job) {
    const AugmentKinds chosen = job.training.augment.chosen;
    return chosen.is_empty() ? std::string("auto") : fmt::format("[{}]", list_of(chosen));
  };
  return key;
}

/// Makes a key for `adaptive`, for which there is no number, or a probability.
Key strength_key(KeyText text) {
  Key key = make_key(std::move(text), "adaptive or number",
                     fmt::format("adaptive, or {}", text_of(kZeroToOne)));
  key.set = [](const YamlNode& node, JobSpec& job) -> std::string {
    if (node.kind == YamlNode::Kind::kScalar && node.text == "adaptive") {
      job.training.augment.strength.reset();
      return {};
    }
    const std::string complaint =
        read_real(node, kZeroToOne).put_into(job.training.augment.strength);
    return complaint.empty() ? "" : fmt::format("{}, or the word adaptive", complaint);
  };
  key.get = [](const JobSpec& job) {
    const auto& strength = job.training.augment.strength;
    return strength ? real_text(*strength) : std::string("adaptive");
  };
  return key;
}

/// Makes a key for a map by kind, of the factors that are not 1.
Key multipliers_key(KeyText text) {
  Key key = make_key(std::move(text), "map by kind",
                     fmt::format("numbers, {}, of {}", text_of(kZeroOrMore), list_of(all_kinds())));
  key.set = [](const YamlNode& node, JobSpec& job) -> std::string {
    AugmentMultipliers read = kNoMultipliers;
    if (node.kind == YamlNode::Kind::kScalar && node.text == "none") {
      job.training.augment.multipliers = read;
      return {};
    }
    if (node.kind != YamlNode::Kind::kMap) {
      return "expected none or a map, as {color: 0.5}, " + unlike(node);
    }
    for (const YamlEntry& entry : node.entries) {
      const auto all = choices(AugmentKind{});
      const auto* const kind = std::ranges::find(all, entry.key, &Choice<AugmentKind>::name);
      if (kind == all.end()) {
        return fmt::format("{}: no such kind; expected one of {}", shown(entry.key),
                           list_of(all_kinds()));
      }
      const auto number = read_real(entry.value, kZeroOrMore);
      if (!number.complaint.empty()) {
        return fmt::format("{}: {}", shown(entry.key), number.complaint);
      }
      read[static_cast<std::size_t>(kind->value)] = number.value;
    }
    job.training.augment.multipliers = read;
    return {};
  };
  key.get = [](const JobSpec& job) {
    std::vector<std::string> entries;
    for (const auto& choice : choices(AugmentKind{})) {
      if (const double one = job.training.augment.multiplier(choice.value); one != 1.0) {
        entries.push_back(fmt::format("{}: {}", choice.name, real_text(one)));
      }
    }
    return entries.empty() ? std::string("none") : "{" + joined(entries, ", ") + "}";
  };
  return key;
}

}  // namespace

void add_augmentation_keys(std::vector<Key>& keys) {
  Key policy = later(choice_key(
      "training.augment.policy", &AugmentationSpec::policy,
      "How pictures, real and generated, are transformed before the discriminator sees them: ada "
      "(Karras et al., 2020), diffaugment (Zhao et al., 2020; docs/training.md)"));
  policy.why_refused = refuse_unless_augmentable;
  keys.push_back(std::move(policy));
  keys.push_back(for_augmented(
      later(kinds_key(
          {"training.augment.kinds", "",
           fmt::format("Groups of transformations in use; auto: {} for ada, {} for diffaugment",
                       list_of(usual_kinds(AugmentPolicy::kAda)),
                       list_of(usual_kinds(AugmentPolicy::kDiffAugment)))})),
      is_any, "training.augment.policy ada or diffaugment"));
  keys.push_back(
      for_augmented(later(strength_key({"training.augment.strength", "",
                                        "Probability of each transformation of ada; adaptive: "
                                        "adjusted to the discriminator's overfitting"})),
                    is_ada, kWithAda));
  keys.push_back(for_augmented(
      schedule_key("training.augment.schedule", &AugmentationSpec::schedule, ScheduleOf::kValue,
                   kZeroToOne,
                   "Schedule of a strength that is a number, as {decay: cosine, final: 0.3}"),
      has_number, kWithANumber));
  keys.push_back(for_augmented(
      later(real_key("training.augment.target", "", &AugmentationSpec::target,
                     {.low = -1.0, .high = 1.0},
                     "Mean sign of real pictures' logits above which the strength rises")),
      is_adaptive, kWithAdaptiveStrength));
  keys.push_back(
      for_augmented(later(real_key("training.augment.kimg", kKimg, &AugmentationSpec::kimg,
                                   kAboveZero, "Images in which the strength can go from 0 to 1")),
                    is_adaptive, kWithAdaptiveStrength));
  keys.push_back(
      for_augmented(later(whole_key("training.augment.interval", "updates",
                                    &AugmentationSpec::interval, {1, 1'000'000},
                                    "Discriminator updates from one change of the strength to the "
                                    "next; a change is as large as that many single changes")),
                    is_adaptive, kWithAdaptiveStrength));
  keys.push_back(for_augmented(
      later(
          multipliers_key({"training.augment.multipliers", "",
                           "Factors on the probability by kind; kinds not listed have factor 1"})),
      is_ada, kWithAda));
  keys.push_back(for_augmented(
      later(choice_key("training.augment.penalties", &AugmentationSpec::penalised,
                       "Pictures with respect to which R1 and R2 take gradients: augmented, as the "
                       "discriminator sees them; original, through the augmentation")),
      is_any, "training.augment.policy ada or diffaugment"));
}

}  // namespace gangway
