// SPDX-License-Identifier: MIT
#include "job/file/draft.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "job/families/families.hpp"
#include "job/keys/key_lists.hpp"
#include "job/rules/rules.hpp"
#include "job/schema/key.hpp"

namespace gangway {
namespace {

/// lambda of the WGAN-GP penalty in the paper's experiments (Gulrajani et al., 2017, section 4).
constexpr double kUsualGradientPenalty = 10.0;

/// Drops the values of a variant's siblings, because naming one variant replaces them all.
void forget_siblings(const Key& variant, std::map<std::string, Origin>& given) {
  const std::string siblings = variant.parent() + ".";
  const std::string own = variant.path + ".";
  std::erase_if(given, [&](const auto& entry) {
    return entry.first.starts_with(siblings) && !entry.first.starts_with(own);
  });
}

Draft apply(const std::vector<Setting>& settings, JobSpec begun) {
  Draft draft{.spec = std::move(begun)};
  for (const Setting& setting : settings) {
    const Key& key = *setting.key;
    const std::string complaint =
        is_about_library(key) ? std::string() : key.set(setting.value, draft.spec);
    if (!complaint.empty()) {
      draft.complaints.push_back({.line = fmt::format("{}: {}", setting.origin.text, complaint),
                                  .companions = {{key.path, setting.origin.layer}}});
      draft.faulty.insert(key.path);
      continue;
    }
    if (key.is_variant) {
      forget_siblings(key, draft.given);
    }
    draft.given.insert_or_assign(key.path, setting.origin);
  }
  return draft;
}

void refuse_misplaced(Draft& draft) {
  for (const Key& key : key_table(*draft.spec.training.recipe)) {
    const auto given = draft.given.find(key.path);
    const std::string reason =
        given == draft.given.end() ? std::string() : key.why_refused(draft.spec);
    if (!reason.empty()) {
      draft.complaints.push_back({.line = fmt::format("{}: {}", given->second.text, reason),
                                  .companions = {{key.path, given->second.layer}}});
    }
  }
}

/// Sets the family to `own` if all networks are the user's, unless the job names a family.
void settle_family(Draft& draft) {
  const bool are_all_own = std::ranges::none_of(
      draft.spec.networks, [](const NetworkSpec& network) { return network.module.file.empty(); });
  if (are_all_own && !draft.given.contains("model.family")) {
    draft.spec.model.family = own_family();
  }
}

/// Sets the content that a user's class must give its examples.
void settle_examples(JobSpec& job) {
  const Recipe& recipe = *job.training.recipe;
  job.data.takes = ExampleKind::kPicture;
  if (job.data.module.is_python()) {
    job.data.takes = job.training.step.is_python() ? ExampleKind::kAny
                     : !recipe.translates          ? ExampleKind::kPicture
                     : recipe.is_cyclic            ? ExampleKind::kTwoPictures
                                                   : ExampleKind::kPair;
  }
}

/// Sets defaults that depend on other keys.
void settle(Draft& draft) {
  ModelSpec& model = draft.spec.model;
  PenaltySpec& penalty = draft.spec.training.penalty;
  if (!model.family->resolutions.empty() && !draft.given.contains("model.resolution")) {
    model.resolution = model.family->resolutions.front();
  }
  if (draft.spec.training.recipe->takes_penalties &&
      draft.spec.training.loss == LossKind::kWasserstein &&
      !draft.given.contains("training.gradient_penalty")) {
    penalty.gradient_penalty = kUsualGradientPenalty;
  }
  if (draft.spec.training.recipe->distils() && !draft.given.contains("model.teacher_width")) {
    draft.spec.training.distill.teacher_width = 2 * model.width;
  }
  if (model.family->makes_points && !draft.given.contains("training.reconstruction")) {
    draft.spec.training.autoencoder.reconstruction = Reconstruction::kSquared;
  }
  // Faster for cuDNN's fp32 convolutions, not for TF32 and bf16 (docs/measurements.md).
  if (draft.spec.numerics.device == DeviceKind::kCuda &&
      !draft.given.contains("numerics.memory_format")) {
    const auto is_of = [](Precision precision) {
      return [precision](const NetworkSpec& network) { return network.precision == precision; };
    };
    MemoryFormat& format = draft.spec.numerics.memory_format;
    if (std::ranges::any_of(draft.spec.networks, is_of(Precision::kAuto))) {
      format = MemoryFormat::kAuto;  // follows the precision
    } else if (std::ranges::all_of(draft.spec.networks, is_of(Precision::kFp32))) {
      format = MemoryFormat::kContiguous;
    }
  }
  for (NetworkSpec& network : draft.spec.networks) {
    network.ema_kimg = network.is_frozen ? 0.0 : network.ema_kimg;
  }
  model = draft.spec.settled_model();
}

/// Returns the place to blame: of the rule's given keys, the one in the layer nearest to the user.
std::string blamed_place(const Rule& rule, const Draft& draft) {
  const Origin* blamed = nullptr;
  for (const std::string& key : rule.keys) {
    const auto given = draft.given.find(key);
    if (given != draft.given.end() && (blamed == nullptr || given->second.layer > blamed->layer)) {
      blamed = &given->second;
    }
  }
  return blamed == nullptr ? "default: " + rule.keys.front() : blamed->text;
}

std::map<std::string, Layer> given_companions(const Rule& rule, const Draft& draft) {
  std::map<std::string, Layer> companions;
  for (const std::string& path : rule.companions) {
    if (const auto given = draft.given.find(path); given != draft.given.end()) {
      companions.emplace(path, given->second.layer);
    }
  }
  return companions;
}

void check_rules(Draft& draft) {
  for (const Rule& rule : job_rules(*draft.spec.training.recipe)) {
    bool is_judged = true;
    for (const std::string& key : rule.keys) {
      is_judged = is_judged && !draft.faulty.contains(key);
    }
    const std::string complaint = is_judged ? rule.complaint(draft.spec) : std::string();
    if (!complaint.empty()) {
      draft.complaints.push_back(
          {.line = fmt::format("{}: {}", blamed_place(rule, draft), complaint),
           .companions = given_companions(rule, draft)});
    }
  }
}

}  // namespace

Draft draft_of(const std::vector<Setting>& settings, JobSpec begun) {
  Draft draft = apply(settings, std::move(begun));
  settle_family(draft);
  settle_examples(draft.spec);
  refuse_misplaced(draft);
  settle(draft);
  check_rules(draft);
  return draft;
}

}  // namespace gangway
