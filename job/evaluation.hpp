// SPDX-License-Identifier: MIT
// Part `evaluation` of a job file: how generated pictures are scored, in a run and by `gangway
// evaluate`. Cannot change a weight by itself. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gangway {

/// Metrics, as in docs/evaluation.md.
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
  kDevice,  ///< as kBeside, but generator and features compute on that host's first GPU
  kSpare,   ///< a machine that does not train: gangway evaluate RUN --follow
};

struct EvaluationSpec {
  double every_kimg = 0.0;        ///< 0: scores each checkpoint, if any (checkpoint.keep_best)
  std::vector<Metric> metrics;    ///< empty: the metric that suits the data
  std::optional<Metric> decides;  ///< the metric that is the score; nothing: the first
  std::string features;           ///< TorchScript file; empty: the LeNet
  FeatureResize resize = FeatureResize::kOwn;
  std::int64_t images = 10'000;  ///< generated for one score
  ScorePlace where = ScorePlace::kBeside;
  bool operator==(const EvaluationSpec&) const = default;
};

}  // namespace gangway
