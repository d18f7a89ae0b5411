// SPDX-License-Identifier: MIT
#include "gan/evaluation/step_batch.hpp"

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "base/errors.hpp"
#include "data/loader.hpp"
#include "job/families/families.hpp"

namespace gangway::gan {

NamedTensors named_tensors(const data::NamedBatch& batch) {
  static const std::map<std::string, at::ScalarType> kTypes{{"bool", at::kBool},
                                                            {"uint8", at::kByte},
                                                            {"int8", at::kChar},
                                                            {"int16", at::kShort},
                                                            {"int32", at::kInt},
                                                            {"int64", at::kLong},
                                                            {"float16", at::kHalf},
                                                            {"float32", at::kFloat},
                                                            {"float64", at::kDouble},
                                                            {"bfloat16", at::kBFloat16},
                                                            {"complex64", at::kComplexFloat}};
  NamedTensors tensors;
  for (const data::NamedTensor& one : batch.tensors) {
    const at::Tensor tensor = at::empty(one.shape, kTypes.at(one.type));
    if (tensor.nbytes() != one.bytes) {
      throw InvariantError(fmt::format("{} of a batch has {} bytes, not {}; please report this",
                                       one.name, one.bytes, tensor.nbytes()));
    }
    std::memcpy(tensor.mutable_data_ptr(), batch.bytes.data() + one.at, one.bytes);
    tensors = tensors.with(one.name, tensor);
  }
  return tensors;
}

NamedTensors step_batch(const Job& job, const data::Dataset& dataset, std::int64_t first,
                        std::int64_t count) {
  data::Batch batch;
  data::read_batch(dataset, data::SampleOrder(job.training.seed, dataset.size()), {},
                   {.first_sample = first, .count = static_cast<int>(count)}, batch);
  if (dataset.reads() == data::Reads::kNamed) {
    return named_tensors(batch.named);
  }
  std::vector<std::int64_t> shape = example_shape(job.model);
  shape.insert(shape.begin(), count);
  const NamedTensors images{
      {"image", at::from_blob(batch.images.data(), shape, at::kFloat).clone()}};
  return job.model.classes > 0
             ? images.with("label", at::from_blob(batch.labels.data(), {count}, at::kLong).clone())
             : images;
}

}  // namespace gangway::gan
