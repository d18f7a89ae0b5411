// SPDX-License-Identifier: MIT
#include "launch/model/translation_scores.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "data/open_dataset.hpp"
#include "data/sides/side_datasets.hpp"
#include "data/two_sides.hpp"
#include "gan/evaluation/class_shares.hpp"
#include "gan/evaluation/fd_lenet.hpp"
#include "gan/evaluation/likeness.hpp"
#include "gan/evaluation/translate.hpp"
#include "job/data_source.hpp"
#include "launch/model/reference_data.hpp"

namespace gangway::launch {
namespace {

constexpr std::int64_t kPairsAtOnce = 16;

/// Adds the sums over examples to `scores`.
void add(LikenessScores& scores, const at::Tensor& one, const at::Tensor& other) {
  scores.difference += gan::absolute_differences(one, other).sum().item<double>();
  scores.similarity += gan::structural_similarities(one, other).sum().item<double>();
}

void divide(LikenessScores& scores, std::int64_t pairs) {
  scores.difference /= static_cast<double>(pairs);
  scores.similarity /= static_cast<double>(pairs);
}

}  // namespace

ShownPairs open_shown_pairs(const JobSpec& job) {
  if (job.data.module.is_python()) {
    return {.dataset = data::open_dataset(job.data, job.model, job.training.seed)};
  }
  ShownPairs shown{.dataset =
                       data::open_two_sides(job.data, job.model, data::SourcePart::kHeldOut)};
  shown.is_held_out = shown.dataset != nullptr;
  if (!shown.is_held_out) {
    shown.dataset = data::open_two_sides(job.data, job.model, data::SourcePart::kTraining);
  }
  return shown;
}

bool translates_clothes(const JobSpec& job) {
  return job.data.source.starts_with(kClassesSource) &&
         two_labels(std::string_view(job.data.source)).location == "fashion-mnist";
}

ClassTranslationScores class_translation_scores(const Translator& translator, const JobSpec& job,
                                                gan::LeNet& lenet, std::int64_t most) {
  const TwoLabels labels = two_labels(job.data.source);
  const data::OneClass given(open_test_images(job.model), labels.first);
  const data::OneClass real(open_test_images(job.model), labels.second);
  const gan::ImageSource pictures = gan::images_of(given);
  const auto share = [&](const gan::ImageSource& source, std::int64_t count) {
    return gan::class_shares(lenet, gan::lenet_features(lenet, source, count))
        .at(static_cast<std::size_t>(labels.second));
  };
  const gan::ImageSource translations = [&](std::int64_t first, std::int64_t count) {
    return translator(first, pictures(first, count));
  };
  const std::int64_t count = std::min(most, given.size());
  return {.generated = share(translations, count),
          .given = share(pictures, count),
          .real = share(gan::images_of(real), std::min(most, real.size())),
          .kind = gan::kClothes.at(static_cast<std::size_t>(labels.second)),
          .pictures = count};
}

TranslationScores translation_scores(const Translator& translator, const JobSpec& job,
                                     std::int64_t most) {
  if (!job.data.has_pairs()) {
    throw ConfigError(
        fmt::format("{}: its pictures have no known targets, so there is nothing to score; look at "
                    "`gangway sample`, or train on pairs: or edges:",
                    job.data.source));
  }
  const ShownPairs shown = open_shown_pairs(job);
  TranslationScores scores{.pairs = std::min(most, shown.dataset->size()),
                           .is_held_out = shown.is_held_out};
  for (std::int64_t first = 0; first < scores.pairs; first += kPairsAtOnce) {
    std::vector<std::int64_t> examples(
        static_cast<std::size_t>(std::min(kPairsAtOnce, scores.pairs - first)));
    std::iota(examples.begin(), examples.end(), first);
    const gan::SidePictures sides = gan::read_sides(*shown.dataset, examples);
    add(scores.generated, translator(first, sides.first), sides.second);
    add(scores.given, sides.first, sides.second);
  }
  divide(scores.generated, scores.pairs);
  divide(scores.given, scores.pairs);
  return scores;
}

at::Tensor scored_pictures(const JobSpec& job, std::int64_t most) {
  if (translates_clothes(job)) {
    const data::OneClass given(open_test_images(job.model), two_labels(job.data.source).first);
    return gan::images_of(given)(0, std::min(most, given.size()));
  }
  const ShownPairs shown = open_shown_pairs(job);
  std::vector<std::int64_t> examples(
      static_cast<std::size_t>(std::min(most, shown.dataset->size())));
  std::iota(examples.begin(), examples.end(), 0);
  return gan::read_sides(*shown.dataset, examples).first;
}

}  // namespace gangway::launch
