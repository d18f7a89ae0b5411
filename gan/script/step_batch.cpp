// SPDX-License-Identifier: MIT
#include "gan/script/step_batch.hpp"

#include <cstddef>
#include <vector>

#include "gan/data/permutation.hpp"
#include "job/families/families.hpp"

namespace gangway::gan {

NamedTensors step_batch(const JobSpec& job, const data::Dataset& dataset, std::int64_t first,
                        std::int64_t count) {
  std::vector<std::int64_t> shape = example_shape(job.model);
  const std::size_t elements = dataset.shape().elements();
  shape.insert(shape.begin(), count);
  const at::Tensor images = at::empty(shape, at::kFloat);
  const at::Tensor labels = at::empty({count}, at::kLong);
  const data::SampleOrder order(job.training.seed, dataset.size());
  for (std::int64_t i = 0; i < count; ++i) {
    float* out = images.mutable_data_ptr<float>() + static_cast<std::size_t>(i) * elements;
    labels.mutable_data_ptr<std::int64_t>()[i] =
        dataset.read(order.dataset_index(first + i), {out, elements});
  }
  const NamedTensors batch{{"image", images}};
  return job.model.classes > 0 ? batch.with("label", labels) : batch;
}

}  // namespace gangway::gan
