// SPDX-License-Identifier: MIT
// Scores of a picture-to-picture generator for `evaluate`, and the pairs that `sample` shows. Main
// thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "data/dataset.hpp"
#include "gan/evaluation/lenet.hpp"
#include "job/spec.hpp"

namespace gangway::launch {

/// Translates pictures, of which the first is number `first` of those that are scored.
using Translator = std::function<at::Tensor(std::int64_t first, const at::Tensor& pictures)>;

/// Likeness of two pictures, as means over pairs.
struct LikenessScores {
  double difference = 0.0;  ///< L1, of shades in [0, 255]
  double similarity = 0.0;  ///< SSIM
};

struct TranslationScores {
  LikenessScores generated;  ///< generated pictures against their targets
  LikenessScores given;      ///< inputs against their targets: the score of doing nothing
  std::int64_t pairs = 0;
  bool is_held_out = false;  ///< whether the pairs are unseen in training
};

/// The held-out part of the job's source; the training data if nothing is held out.
struct ShownPairs {
  std::unique_ptr<data::Dataset> dataset;
  bool is_held_out = false;
};
[[nodiscard]] ShownPairs open_shown_pairs(const JobSpec& job);

/// Scores for translating test images of one class of Fashion-MNIST to another: shares of images
/// that the classifier assigns to the target class.
struct ClassTranslationScores {
  double generated = 0.0;  ///< of generated pictures
  double given = 0.0;      ///< of their inputs
  double real = 0.0;       ///< of real pictures of the target class
  std::string kind;        ///< target class
  std::int64_t pictures = 0;
};
/// True if ClassTranslationScores apply: the job translates between two classes of clothes.
[[nodiscard]] bool translates_clothes(const JobSpec& job);
/// @pre translates_clothes(job)
[[nodiscard]] ClassTranslationScores class_translation_scores(const Translator& translator,
                                                              const JobSpec& job, gan::LeNet& lenet,
                                                              std::int64_t most);

/// @param most  number of pairs to score, from the first
/// @throws ConfigError if the source has no pairs
[[nodiscard]] TranslationScores translation_scores(const Translator& translator, const JobSpec& job,
                                                   std::int64_t most);

/// Returns the pictures whose translations are scored, `most` at most.
[[nodiscard]] at::Tensor scored_pictures(const JobSpec& job, std::int64_t most);

}  // namespace gangway::launch
