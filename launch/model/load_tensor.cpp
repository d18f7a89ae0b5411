// SPDX-License-Identifier: MIT
#include "launch/model/load_tensor.hpp"

#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/errors.hpp"

namespace gangway::launch {

void load_tensor(const checkpoint::TensorRecord& record, at::Tensor& target,
                 const std::string& where) {
  const at::IntArrayRef wanted = target.sizes();
  if (record.type != checkpoint::ElementType::kF32 || at::IntArrayRef(record.shape) != wanted) {
    throw CheckpointError(fmt::format(
        "{}: tensor '{}' is {} [{}], the model wants F32 [{}]; was it saved by another model?",
        where, record.name, checkpoint::type_name(record.type), fmt::join(record.shape, ", "),
        fmt::join(wanted.begin(), wanted.end(), ", ")));
  }
  const at::NoGradGuard no_grad;
  const at::Tensor values = at::empty(wanted, at::kFloat);
  std::memcpy(values.mutable_data_ptr<float>(), record.bytes.data(), record.bytes.size());
  target.copy_(values);
}

}  // namespace gangway::launch
