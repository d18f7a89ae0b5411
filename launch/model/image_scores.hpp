// SPDX-License-Identifier: MIT
// Every number that `evaluate` prints about a generator of images, from one set of features. Main
// thread.
#pragma once

#include <cstdint>
#include <optional>

#include "gan/evaluation/class_shares.hpp"
#include "gan/evaluation/precision_recall.hpp"
#include "launch/model/commands.hpp"
#include "launch/model/reference_data.hpp"

namespace gangway::launch {

/// Noise of the generated examples: the same for every job.
inline constexpr std::uint64_t kEvaluationSeed = 0;

struct ClassShareScores {
  gan::ClassShares generated;
  gan::ClassShares real;
};

struct ImageScores {
  gan::FdLenetScore distance;
  gan::PrecisionRecall generated;
  gan::PrecisionRecall held_back;      ///< of other real images: what a perfect generator would get
  std::int64_t neighbour_samples = 0;  ///< of each set, for precision and recall
  std::optional<ClassShareScores> shares;  ///< of the data that the classifier knows
};

class ImageScorer {
 public:
  /// `data` outlives it.
  ImageScorer(const ReferenceData& data, const EvaluateOptions& options);

  /// FD-LeNet alone.
  [[nodiscard]] double distance_of(TrainedRun& run);
  [[nodiscard]] ImageScores scores_of(TrainedRun& run);

 private:
  [[nodiscard]] at::Tensor features_of(gan::Network& generator, const ModelSpec& model);
  [[nodiscard]] double distance(const at::Tensor& features) const;

  const ReferenceData& data_;
  std::int64_t samples_;
  gan::LeNet lenet_;
  at::Tensor reference_;  ///< features
  gan::FeatureStatistics statistics_;
};

}  // namespace gangway::launch
