// SPDX-License-Identifier: MIT
#include "job/parameter_counts.hpp"

namespace gangway {
namespace {

using Count = std::int64_t;

constexpr Count kDcganKernel = 4 * 4;
constexpr int kDcganSeed = 4;           // pixels a side of the generator's first map
constexpr Count kInfoganHidden = 1024;  // of both fully connected layers
constexpr Count kInfoganMap = 7 * 7;

Count convolution(Count in, Count out) { return in * out * kDcganKernel; }
Count linear(Count in, Count out) { return in * out + out; }
Count batch_norm(Count channels) { return 2 * channels; }

/// Doublings between 4 pixels and the image, less the last, which has the image's channels.
int num_inner_levels(const ModelSpec& model) {
  int levels = -1;
  for (int side = kDcganSeed; side < model.resolution; side *= 2) {
    ++levels;
  }
  return levels;
}

/// Radford et al., 2016: (transposed) convolutions of 4x4 without bias, batch normalization between them.
ParameterCounts count_dcgan(const ModelSpec& model) {
  ParameterCounts counts;
  const Count norm = model.normalization == Normalization::kNone ? 0 : 1;
  Count channels = static_cast<Count>(model.width) << num_inner_levels(model);
  counts.generator = convolution(model.latent + model.classes, channels) + batch_norm(channels);
  // The last convolution looks at the whole 4x4 map; labels add a projection (Miyato and Koyama, 2018).
  counts.discriminator = convolution(channels, 1) + model.classes * channels * kDcganKernel;
  for (; channels > model.width; channels /= 2) {
    counts.generator += convolution(channels, channels / 2) + batch_norm(channels / 2);
    counts.discriminator += convolution(channels / 2, channels) + norm * batch_norm(channels);
  }
  counts.generator += convolution(model.width, model.channels);
  counts.discriminator += convolution(model.channels, model.width);
  return counts;
}

/// Lucic et al., 2018 ("Are GANs created equal?"), appendix: two fully connected and two convolutional layers each.
ParameterCounts count_infogan(const ModelSpec& model) {
  const Count width = model.width;
  const Count flat = 2 * width * kInfoganMap;
  const Count norm = model.normalization == Normalization::kNone ? 0 : 1;
  ParameterCounts counts;
  counts.generator = linear(model.latent + model.classes, kInfoganHidden) + batch_norm(kInfoganHidden) +
                     linear(kInfoganHidden, flat) + batch_norm(flat) + convolution(2 * width, width) + width +
                     batch_norm(width) + convolution(width, model.channels) + model.channels;
  counts.discriminator = convolution(model.channels, width) + width + convolution(width, 2 * width) + 2 * width +
                         norm * batch_norm(2 * width) + linear(flat, kInfoganHidden) +
                         norm * batch_norm(kInfoganHidden) + linear(kInfoganHidden, 1) + model.classes * kInfoganHidden;
  return counts;
}

/// Gulrajani et al., 2017, toy experiments: three hidden layers each, points of two coordinates.
ParameterCounts count_mlp(const ModelSpec& model) {
  const Count inner = 2 * linear(model.width, model.width);
  return {.generator = linear(model.latent, model.width) + inner + linear(model.width, 2),
          .discriminator = linear(2, model.width) + inner + linear(model.width, 1)};
}

}  // namespace

ParameterCounts count_parameters(const ModelSpec& model) {
  switch (model.family) {
    case ModelFamily::kDcgan: return count_dcgan(model);
    case ModelFamily::kInfogan: return count_infogan(model);
    case ModelFamily::kMlp: break;
  }
  return count_mlp(model);
}

}  // namespace gangway
