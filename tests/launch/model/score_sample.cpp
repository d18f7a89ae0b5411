// SPDX-License-Identifier: MIT
// Prints scores that tests/launch/model/rival_scores.py compares with other packages.
//
//   score_sample NETWORK.pt RESIZE REAL.npy GENERATED.npy     levels 0-255, [N, 3 * S * S]
#include <cmath>
#include <span>
#include <string>

#include <fmt/format.h>

#include "gan/evaluation/frechet.hpp"
#include "gan/evaluation/kernel_distance.hpp"
#include "gan/evaluation/precision_recall.hpp"
#include "job/choices.hpp"
#include "launch/model/feature_network.hpp"
#include "launch/model/files/npy_file.hpp"

namespace {

gangway::FeatureResize resize_of(const std::string& word) {
  for (const auto& choice : gangway::choices(gangway::FeatureResize{})) {
    if (choice.name == word) {
      return choice.value;
    }
  }
  throw std::invalid_argument(word);
}

at::Tensor features_of(const gangway::launch::FeatureNetwork& network, const char* file) {
  const at::Tensor levels = gangway::launch::read_npy_matrix(file);
  const std::int64_t side = std::lround(std::sqrt(static_cast<double>(levels.size(1)) / 3.0));
  const at::Tensor images = levels.reshape({-1, 3, side, side}) / 127.5 - 1.0;
  return gangway::gan::image_features(
      network.features,
      [&](std::int64_t first, std::int64_t count) { return images.slice(0, first, first + count); },
      images.size(0), network.batch);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace gangway;  // NOLINT: main is not a header
  const std::span words(argv, static_cast<std::size_t>(argc));
  const launch::FeatureNetwork network =
      launch::open_feature_network(words[1], resize_of(words[2]));
  const at::Tensor real = features_of(network, words[3]);
  const at::Tensor generated = features_of(network, words[4]);
  const gan::PrecisionRecall neighbours = gan::precision_recall(real, generated);
  fmt::print(
      "{} {:.12g} {:.12g} {:.12g} {:.12g}\n", network.distance,
      gan::frechet_distance(gan::feature_statistics(generated), gan::feature_statistics(real)),
      gan::squared_mmd(real, generated), neighbours.precision, neighbours.recall);
}
