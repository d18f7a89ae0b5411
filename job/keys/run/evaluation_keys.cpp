// SPDX-License-Identifier: MIT
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "job/choices.hpp"
#include "job/keys/key_lists.hpp"
#include "job/schema/key_types.hpp"

namespace gangway {
namespace {

constexpr std::string_view kLenet = "lenet";

Key metrics_key() {
  std::vector<std::string> names;
  for (const auto& choice : choices(Metric{})) {
    names.emplace_back(choice.name);
  }
  Key key = make_key({"evaluation.metrics", "",
                      "Scores of generated pictures: sliced Wasserstein distance, Frechet and "
                      "kernel distance of features, precision and recall; auto: fd for grey "
                      "pictures or if evaluation.features is a network, else swd"},
                     "list", "auto, or a list of " + joined(names, ", "));
  key.changes_weights = false;
  key.set = [names](const YamlNode& node, JobSpec& job) -> std::string {
    std::vector<Metric>& metrics = job.evaluation.metrics;
    metrics.clear();
    if (node.kind == YamlNode::Kind::kScalar && node.text == "auto") {
      return {};
    }
    if (node.kind != YamlNode::Kind::kSequence || node.items.empty()) {
      return fmt::format("expected auto, or a list such as [swd, fd], {}", unlike(node));
    }
    for (const YamlNode& item : node.items) {
      const auto all = choices(Metric{});
      const auto found = std::ranges::find_if(all, [&](const auto& choice) {
        return item.kind == YamlNode::Kind::kScalar && choice.name == item.text;
      });
      if (found == all.end()) {
        return choice_complaint(item, names);
      }
      if (std::ranges::find(metrics, found->value) != metrics.end()) {
        return fmt::format("has '{}' twice", item.text);
      }
      metrics.push_back(found->value);
    }
    return {};
  };
  key.get = [](const JobSpec& job) -> std::string {
    std::vector<std::string> words;
    for (const Metric metric : job.evaluation.metrics) {
      words.emplace_back(name_of(metric));
    }
    return words.empty() ? "auto" : "[" + joined(words, ", ") + "]";
  };
  return key;
}

/// The LeNet has its own word, in place of `none`.
Key features_key() {
  Key key = file_or_none_key(
      {"evaluation.features", "",
       "Network whose features fd, kid and pr compare: lenet, the project's own; inception, if its "
       "file is found; or a TorchScript file (docs/evaluation.md)"},
      &EvaluationSpec::features, "lenet, inception, or a TorchScript file");
  key.set = [set_file = key.set](const YamlNode& node, JobSpec& job) -> std::string {
    YamlNode said = node;
    said.text = node.text == kLenet ? "none" : node.text;
    return set_file(said, job);
  };
  key.get = [get_file = key.get](const JobSpec& job) {
    return job.evaluation.features.empty() ? std::string(kLenet) : get_file(job);
  };
  return key;
}

}  // namespace

void add_evaluation_keys(std::vector<Key>& keys) {
  keys.push_back(real_key("evaluation.every_kimg", kKimg, &EvaluationSpec::every_kimg, kZeroOrMore,
                          "Interval between checkpoints that are made and scored; 0: each "
                          "checkpoint is scored if checkpoint.keep_best is above 0, else none"));
  keys.push_back(metrics_key());
  keys.push_back(choice_key("evaluation.decides", &EvaluationSpec::decides,
                            "Metric that checkpoint.keep_best, early_stop and training.plateau "
                            "use; auto: the first metric that is a single number"));
  keys.push_back(features_key());
  keys.push_back(
      choice_key("evaluation.resize", &EvaluationSpec::resize,
                 "What resizes pictures for the feature network: the network itself (own), or a "
                 "resize to 299 pixels as in pytorch-fid (bilinear) or clean-fid (clean)"));
  keys.push_back(whole_key("evaluation.images", "", &EvaluationSpec::images, {100, 1'000'000},
                           "Generated examples per score"));
  keys.push_back(choice_key("evaluation.where", &EvaluationSpec::where,
                            "Where a run is scored: on the coordinator's host during training, on "
                            "a core (beside) or its first GPU (device); or by gangway evaluate RUN "
                            "--follow, on a spare machine or GPU (spare)"));
}

}  // namespace gangway
