// SPDX-License-Identifier: MIT
#include "gan/evaluation/modes/stacked_modes.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace gangway::gan {
namespace {

constexpr std::int64_t kStackedBatch = 250;  // pictures at a time, each three for the classifier

}  // namespace

ModeCounts count_stacked_modes(LeNet& lenet, const ImageSource& images, std::int64_t count) {
  const at::NoGradGuard no_grad;
  ModeCounts counts{};
  for (std::int64_t first = 0; first < count; first += kStackedBatch) {
    const at::Tensor batch = images(first, std::min(kStackedBatch, count - first));
    const at::Tensor channels = batch.reshape({-1, 1, batch.size(2), batch.size(3)});
    const at::Tensor classes =
        lenet.logits(lenet.features(lenet_input(channels))).argmax(1).contiguous();
    const auto* of_channel = classes.const_data_ptr<std::int64_t>();
    for (std::int64_t i = 0; i < batch.size(0); ++i, of_channel += 3) {
      const std::int64_t mode =
          (of_channel[0] * LeNet::kClasses + of_channel[1]) * LeNet::kClasses + of_channel[2];
      ++counts.at(static_cast<std::size_t>(mode));
    }
  }
  return counts;
}

StackedModes stacked_modes(const ModeCounts& counts,
                           const std::array<double, LeNet::kClasses>& class_shares) {
  const auto total =
      static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}));
  StackedModes result;
  for (std::size_t mode = 0; mode < counts.size(); ++mode) {
    if (counts.at(mode) == 0) {
      continue;  // 0 log 0 = 0
    }
    ++result.covered;
    const double share = static_cast<double>(counts.at(mode)) / total;
    const double of_real =
        class_shares.at(mode / 100) * class_shares.at(mode / 10 % 10) * class_shares.at(mode % 10);
    result.from_uniform += share * std::log(share * static_cast<double>(kStackedModes));
    result.from_real += share * std::log(share / of_real);
  }
  return result;
}

}  // namespace gangway::gan
