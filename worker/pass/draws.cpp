// SPDX-License-Identifier: MIT
#include "worker/pass/draws.hpp"

#include <algorithm>
#include <vector>

#include "base/errors.hpp"
#include "data/images/style_picture.hpp"
#include "gan/random_tensors.hpp"
#include "job/families/families.hpp"

namespace gangway::worker {
namespace {

/// Returns the labels of uniformly chosen examples: the data's own distribution.
at::Tensor labels_of(const data::Dataset& data, const RandomKey& key, std::int64_t count,
                     at::Device device) {
  const KeyedRandom random(key);
  const auto size = static_cast<std::uint32_t>(data.size());
  const at::Tensor labels = at::empty({count}, at::kLong);
  auto* out = labels.mutable_data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < count; ++i) {
    out[i] = data.label(random.below(static_cast<std::uint64_t>(i), size));
  }
  return labels.to(device);
}

}  // namespace

at::Tensor all_labels(const data::Dataset& data, at::Device device) {
  const at::Tensor labels = at::empty({data.size()}, at::kLong);
  auto* out = labels.mutable_data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < data.size(); ++i) {
    out[i] = data.label(i);
  }
  return labels.to(device);
}

at::Tensor drawn(const pipeline::Draw& draw, RandomKey key, const DrawnFor& whom) {
  using Kind = pipeline::Draw::Kind;
  const auto keyed = [&key](RandomDraw kind) {
    key.draw = static_cast<std::int32_t>(kind);
    return key;
  };
  const Job& job = whom.job;
  const at::Device device = whom.device;
  const ModelSpec& model = job.model;
  const int count = std::max(1, job.images_per_microbatch() / draw.share);
  switch (draw.kind) {
    case Kind::kNoise:
      return gan::keyed_normal(keyed(RandomDraw::kNoise), {count, model.latent}, device);
    case Kind::kDataLabels:
      if (whom.labels.defined()) {
        const auto examples = static_cast<int>(whom.labels.size(0));
        return whom.labels.index_select(
            0, gan::keyed_labels(keyed(RandomDraw::kLabel), count, examples, device));
      }
      if (whom.data != nullptr) {
        return labels_of(*whom.data, keyed(RandomDraw::kLabel), count, device);
      }
      [[fallthrough]];
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
      std::vector<std::int64_t> shape(whom.dimensions, 1);
      shape.front() = count;
      return gan::keyed_uniform(keyed(RandomDraw::kMix), shape, device);
    }
  }
  throw InvariantError("a pass makes an unknown draw; please report this");
}

at::Tensor style_picture(const Job& job, at::Device device) {
  if (job.training.style.picture.file.empty()) {
    return {};
  }
  std::vector<std::int64_t> shape = example_shape(job.model);
  shape.insert(shape.begin(), 1);
  std::vector<float> pixels = data::read_style_picture(job);
  const at::Tensor picture = at::from_blob(pixels.data(), shape, at::kFloat).clone().to(device);
  return job.numerics.memory_format == MemoryFormat::kChannelsLast
             ? picture.contiguous(at::MemoryFormat::ChannelsLast)
             : picture;
}

gan::ForwardContext forward_context(const NetworkSpec& network, RandomKey key, int stream,
                                    gan::StatisticSink* sink) {
  gan::ForwardContext result{
      .mode = network.is_frozen ? gan::Mode::kEvaluation : gan::Mode::kTraining,
      .sink = sink,
      .key = key,
      .precision = network.precision,
      .derivatives = gan::Derivatives::kFirst};
  // The first two streams keep their old keys for every pass; further streams follow them.
  result.key.pass = 2 * key.pass + stream % 2 + ((stream / 2) << 16);
  return result;
}

}  // namespace gangway::worker
