// SPDX-License-Identifier: MIT
// Part `evaluation` of a job file: by what generated pictures are scored while a run trains, and by
// `gangway evaluate`. Nothing in it can change a weight by itself. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gangway {

/// docs/evaluation.md says what each is.
enum class Metric {
  kSwd,  ///< sliced Wasserstein distance of patches: needs no network, sees colours
  kFd,   ///< Fréchet distance of features
  kKid,  ///< kernel distance of features
  kPr,   ///< precision and recall of features
};

/// The step that resizes pictures for a feature network.
enum class FeatureResize {
  kOwn,       ///< the network itself
  kBilinear,  ///< to 299 pixels, as pytorch-fid does
  kClean,     ///< to 299 pixels, as clean-fid does: bicubic, and antialiased
};

/// The process that computes the scores of a run.
enum class ScorePlace {
  kBeside,  ///< the coordinator's host, at the lowest priority
  kDevice,  ///< the same, whose generator and features compute on that host's first GPU
  kSpare,   ///< a machine that does not train: gangway evaluate RUN --follow
};

struct EvaluationSpec {
  double every_kimg = 0.0;        ///< 0: each checkpoint, if any (checkpoint.keep_best)
  std::vector<Metric> metrics;    ///< empty: the one that suits the data
  std::optional<Metric> decides;  ///< which one is the score; nothing: the first
  std::string features;           ///< TorchScript file; empty: the LeNet
  FeatureResize resize = FeatureResize::kOwn;
  std::int64_t images = 10'000;  ///< generated for a score
  ScorePlace where = ScorePlace::kBeside;
  bool operator==(const EvaluationSpec&) const = default;
};

}  // namespace gangway
