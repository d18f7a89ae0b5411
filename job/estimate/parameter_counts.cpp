// SPDX-License-Identifier: MIT
#include "job/estimate/parameter_counts.hpp"

namespace gangway {
namespace {

using Count = std::int64_t;

constexpr Count kKernel = Count{4} * 4;  // pixels of every convolution
constexpr Count kDcganMap = Count{4} * 4;
constexpr Count kInfoganHidden = 1024;
constexpr Count kInfoganChannels = 128;
constexpr Count kInfoganMap = Count{7} * 7;
constexpr Count kPoint = 2;  // coordinates

enum class Bias { kNone, kEach };

Count convolution(Count in, Count out) { return in * out * kKernel; }
Count linear(Count in, Count out, Bias bias) { return in * out + (bias == Bias::kEach ? out : 0); }
Count batch_norm(Count channels) { return 2 * channels; }

/// The discriminator's BatchNorm, where it has one.
Count optional_norm(const ModelSpec& model, Count channels) {
  return model.normalization == Normalization::kNone ? 0 : batch_norm(channels);
}

/// Labels are appended to the noise, and projected in the discriminator (Miyato and Koyama, 2018).
Count noise(const ModelSpec& model) { return Count{model.latent} + model.classes; }

/// Radford et al., 2016: (transposed) convolutions without bias; channels double as the maps halve,
/// down to 4 x 4.
ParameterCounts count_dcgan(const ModelSpec& model) {
  const Count widest = Count{model.width} * model.resolution / 8;
  ParameterCounts counts;
  counts.generator = convolution(noise(model), widest) + batch_norm(widest) +
                     convolution(model.width, model.channels);
  counts.discriminator = convolution(model.channels, model.width) +
                         linear(widest * kDcganMap, 1, Bias::kNone) + model.classes * widest;
  for (Count channels = widest; channels > model.width; channels /= 2) {
    counts.generator += convolution(channels, channels / 2) + batch_norm(channels / 2);
    counts.discriminator += convolution(channels / 2, channels) + optional_norm(model, channels);
  }
  return counts;
}

/// Lucic et al., 2018, appendix: two dense and two convolutional layers each; biases next to the
/// image and the logit.
ParameterCounts count_infogan(const ModelSpec& model) {
  const Count flat = kInfoganChannels * kInfoganMap;
  ParameterCounts counts;
  counts.generator = linear(noise(model), kInfoganHidden, Bias::kNone) +
                     batch_norm(kInfoganHidden) + linear(kInfoganHidden, flat, Bias::kNone) +
                     batch_norm(flat) + convolution(kInfoganChannels, model.width) +
                     batch_norm(model.width) + convolution(model.width, model.channels) +
                     model.channels;
  counts.discriminator =
      convolution(model.channels, model.width) + model.width +
      convolution(model.width, kInfoganChannels) + optional_norm(model, kInfoganChannels) +
      linear(flat, kInfoganHidden, Bias::kNone) + optional_norm(model, kInfoganHidden);
  counts.discriminator += model.classes > 0 ? kInfoganHidden + model.classes * kInfoganHidden
                                            : linear(kInfoganHidden, 1, Bias::kEach);
  return counts;
}

/// Gulrajani et al., 2017, toy experiments: three hidden layers each.
ParameterCounts count_mlp(const ModelSpec& model) {
  const Count inner = 2 * linear(model.width, model.width, Bias::kEach);
  ParameterCounts counts;
  counts.generator = linear(model.latent, model.width, Bias::kEach) + inner +
                     linear(model.width, kPoint, Bias::kEach);
  counts.discriminator = linear(kPoint, model.width, Bias::kEach) + inner +
                         linear(model.width, 1, Bias::kEach) +
                         3 * optional_norm(model, model.width);
  return counts;
}

}  // namespace

ParameterCounts count_parameters(const ModelSpec& model) {
  switch (model.family) {
    case ModelFamily::kDcgan:
      return count_dcgan(model);
    case ModelFamily::kInfogan:
      return count_infogan(model);
    case ModelFamily::kMlp:
      break;
  }
  return count_mlp(model);
}

}  // namespace gangway
