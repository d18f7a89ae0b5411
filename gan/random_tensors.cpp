// SPDX-License-Identifier: MIT
#include "gan/random_tensors.hpp"

#include <array>

namespace gangway::gan {

at::Tensor keyed_normal(const RandomKey& key, at::IntArrayRef shape, at::Device device) {
  const at::Tensor result = at::empty(shape, at::kFloat);
  const KeyedRandom random(key);
  float* out = result.mutable_data_ptr<float>();
  const auto count = static_cast<std::size_t>(result.numel());
  for (std::size_t group = 0; group * 4 < count; ++group) {
    std::array<float, 4> four{};
    random.normal4(group, four.data());
    for (std::size_t lane = 0; lane < 4 && group * 4 + lane < count; ++lane) {
      out[group * 4 + lane] = four[lane];
    }
  }
  return result.to(device);
}

at::Tensor keyed_uniform(const RandomKey& key, at::IntArrayRef shape, at::Device device) {
  const at::Tensor result = at::empty(shape, at::kFloat);
  const KeyedRandom random(key);
  float* out = result.mutable_data_ptr<float>();
  for (std::int64_t i = 0; i < result.numel(); ++i) {
    out[i] = random.uniform(static_cast<std::uint64_t>(i));
  }
  return result.to(device);
}

at::Tensor keyed_labels(const RandomKey& key, std::int64_t count, int classes, at::Device device) {
  const at::Tensor result = at::empty({count}, at::kLong);
  const KeyedRandom random(key);
  auto* out = result.mutable_data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < count; ++i) {
    out[i] = random.below(static_cast<std::uint64_t>(i), static_cast<std::uint32_t>(classes));
  }
  return result.to(device);
}

}  // namespace gangway::gan
