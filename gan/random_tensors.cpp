// SPDX-License-Identifier: MIT
#include "gan/random_tensors.hpp"

#include <array>
#include <optional>
#include <utility>

namespace gangway::gan {
namespace {

/// Draws on the device, or returns nothing if the CPU must draw for it.
std::optional<at::Tensor> drawn_on(at::Device device, const RandomKey& key,
                                   const Distribution& distribution, at::IntArrayRef shape) {
  if (device.is_cpu() || draw_on_device == nullptr) {
    return std::nullopt;
  }
  const bool is_integer = distribution.kind == Distribution::Kind::kBelow;
  at::Tensor result =
      at::empty(shape, at::device(device).dtype(is_integer ? at::kLong : at::kFloat));
  draw_on_device(key, distribution, result);
  return result;
}

}  // namespace

at::Tensor keyed_normal(const RandomKey& key, at::IntArrayRef shape, at::Device device) {
  if (auto drawn = drawn_on(device, key, {Distribution::Kind::kNormal}, shape)) {
    return *std::move(drawn);
  }
  const at::Tensor result = at::empty(shape, at::kFloat);
  const KeyedRandom random(key);
  auto* out = result.mutable_data_ptr<float>();
  const auto count = static_cast<std::size_t>(result.numel());
  for (std::size_t group = 0; group * 4 < count; ++group) {
    std::array<float, 4> four{};
    random.normal4(group, four.data());
    for (std::size_t lane = 0; lane < 4 && group * 4 + lane < count; ++lane) {
      out[group * 4 + lane] = four[lane];
    }
  }
  return result.to(device, /*non_blocking=*/true);
}

at::Tensor keyed_uniform(const RandomKey& key, at::IntArrayRef shape, at::Device device) {
  if (auto drawn = drawn_on(device, key, {Distribution::Kind::kUniform}, shape)) {
    return *std::move(drawn);
  }
  const at::Tensor result = at::empty(shape, at::kFloat);
  const KeyedRandom random(key);
  auto* out = result.mutable_data_ptr<float>();
  for (std::int64_t i = 0; i < result.numel(); ++i) {
    out[i] = random.uniform(static_cast<std::uint64_t>(i));
  }
  return result.to(device, /*non_blocking=*/true);
}

at::Tensor keyed_labels(const RandomKey& key, std::int64_t count, int classes, at::Device device) {
  const Distribution below{Distribution::Kind::kBelow, static_cast<std::uint32_t>(classes)};
  if (auto drawn = drawn_on(device, key, below, {count})) {
    return *std::move(drawn);
  }
  const at::Tensor result = at::empty({count}, at::kLong);
  const KeyedRandom random(key);
  auto* out = result.mutable_data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < count; ++i) {
    out[i] = random.below(static_cast<std::uint64_t>(i), static_cast<std::uint32_t>(classes));
  }
  return result.to(device, /*non_blocking=*/true);
}

at::Tensor keyed_codes(const RandomKey& key, std::int64_t count, int codes, at::Device device) {
  return 2.0 * keyed_uniform(key, {count, codes}, device) - 1.0;
}

at::Tensor keyed_targets(const RandomKey& key, std::int64_t count, double target, double flipped,
                         at::Device device) {
  return target * keyed_uniform(key, {count}, device).ge(flipped).to(at::kFloat);
}

at::Tensor keyed_categories(const RandomKey& key, std::int64_t count, int categories,
                            at::Device device) {
  const at::Tensor labels = keyed_labels(key, count, categories, device);
  return labels.unsqueeze(1).eq(at::arange(categories, labels.options())).to(at::kFloat);
}

}  // namespace gangway::gan
