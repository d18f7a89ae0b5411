// SPDX-License-Identifier: MIT
#include "worker/pass/draws.hpp"

#include <algorithm>
#include <vector>

#include "base/errors.hpp"
#include "gan/random_tensors.hpp"

namespace gangway::worker {

at::Tensor drawn(const pipeline::Draw& draw, RandomKey key, const JobSpec& job,
                 std::size_t dimensions, at::Device device) {
  using Kind = pipeline::Draw::Kind;
  const auto keyed = [&key](RandomDraw kind) {
    key.draw = static_cast<std::int32_t>(kind);
    return key;
  };
  const ModelSpec& model = job.model;
  const int count = std::max(1, job.images_per_microbatch() / draw.share);
  switch (draw.kind) {
    case Kind::kNoise:
      return gan::keyed_normal(keyed(RandomDraw::kNoise), {count, model.latent}, device);
    case Kind::kLabels:
      return gan::keyed_labels(keyed(RandomDraw::kLabel), count, model.classes, device);
    case Kind::kCodes:
      return gan::keyed_codes(keyed(RandomDraw::kCode), count, model.codes, device);
    case Kind::kCategories:
      return gan::keyed_categories(keyed(RandomDraw::kCategory), count, model.categories, device);
    case Kind::kTargets:
      return gan::keyed_targets(keyed(RandomDraw::kLabelFlip), count,
                                1.0 - job.training.labels.smoothing, job.training.labels.noise,
                                device);
    case Kind::kMix: {
      std::vector<std::int64_t> shape(dimensions, 1);
      shape.front() = count;
      return gan::keyed_uniform(keyed(RandomDraw::kMix), shape, device);
    }
  }
  throw InvariantError("a pass draws what nobody knows; please report this");
}

}  // namespace gangway::worker
