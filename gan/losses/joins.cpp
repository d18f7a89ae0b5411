// SPDX-License-Identifier: MIT
#include "gan/losses/joins.hpp"

#include <string>
#include <vector>

#include "base/errors.hpp"

namespace gangway::gan {
namespace {

at::Tensor interpolation(std::span<const at::Tensor> in) {
  return in[2] * in[0] + (1.0 - in[2]) * in[1];
}

at::Tensor gaussian_sample(std::span<const at::Tensor> in) {
  const std::vector<at::Tensor> code = in[0].chunk(2, 1);
  return code[0] + (0.5 * code[1]).exp() * in[1];
}

/// Returns a dense copy in the whole's memory format, so that later operators choose the same
/// kernels as for single pictures.
at::Tensor side_of(const at::Tensor& both, std::int64_t side) {
  const std::int64_t channels = both.size(1) / 2;
  return both.narrow(1, side * channels, channels).contiguous(both.suggest_memory_format());
}

at::Tensor gram(std::span<const at::Tensor> in) {
  const at::Tensor maps = in[0].flatten(2);
  return maps.bmm(maps.transpose(1, 2)) / static_cast<double>(maps.size(1) * maps.size(2));
}

}  // namespace

JoinFunction join_named(std::string_view name) {
  if (name == "interpolation") {
    return interpolation;
  }
  if (name == "gaussian-sample") {
    return gaussian_sample;
  }
  if (name == "gram") {
    return gram;
  }
  if (name == "concatenation") {
    return [](std::span<const at::Tensor> in) {
      return at::cat(std::vector<at::Tensor>(in.begin(), in.end()), 1);
    };
  }
  if (name == "first-side") {
    return [](std::span<const at::Tensor> in) { return side_of(in[0], 0); };
  }
  if (name == "second-side") {
    return [](std::span<const at::Tensor> in) { return side_of(in[0], 1); };
  }
  if (name == "detached") {
    return [](std::span<const at::Tensor> in) { return in[0].detach(); };
  }
  throw InvariantError("no join is named " + std::string(name));
}

}  // namespace gangway::gan
