// SPDX-License-Identifier: MIT
// Small networks of a user's, as TorchScript files: with BatchNorm and its whole number, with
// dropout, and with several results. Made without Python.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include <ATen/ATen.h>
#include <torch/csrc/jit/api/module.h>

namespace gangway::testing {

/// A module whose `forward` is `text`. @param parameters, buffers  by name
inline torch::jit::Module own_module(const std::string& text,
                                     const std::map<std::string, at::Tensor>& parameters,
                                     const std::map<std::string, at::Tensor>& buffers = {}) {
  torch::jit::Module module("__torch__.Own");
  module.register_attribute("training", c10::BoolType::get(), true);
  for (const auto& [name, values] : parameters) {
    module.register_parameter(name, values.clone().set_requires_grad(true), false);
  }
  for (const auto& [name, values] : buffers) {
    module.register_buffer(name, values.clone());
  }
  module.define(text);
  return module;
}

/// Values in [-0.2, 0.2] that no two elements share.
inline at::Tensor own_values(at::IntArrayRef shape) {
  return at::arange(c10::multiply_integers(shape), at::kFloat).sin().mul(0.2).reshape(shape);
}

inline const char* const kOwnGenerator = R"(
def forward(self, noise: Tensor) -> Tensor:
    if self.training:
        self.tracked.add_(1)
    x = torch.reshape(torch.linear(noise, self.start, None), [noise.size(0), 8, 8, 8])
    x = torch.relu(torch.batch_norm(x, self.scale, self.shift, self.mean, self.variance, self.training, 0.1, 0.00001, True))
    return torch.tanh(torch.conv_transpose2d(x, self.grow, None, [4, 4]))
)";

/// 16 numbers of noise → [N, 1, 32, 32].
inline torch::jit::Module own_generator() {
  return own_module(kOwnGenerator,
                    {{"start", own_values({512, 16})},
                     {"scale", at::ones({8})},
                     {"shift", at::zeros({8})},
                     {"grow", own_values({8, 1, 4, 4})}},
                    {{"mean", at::zeros({8})},
                     {"variance", at::ones({8})},
                     {"tracked", at::zeros({}, at::kLong)}});
}

inline const char* const kOwnDiscriminator = R"(
def forward(self, image: Tensor) -> Tensor:
    x = torch.leaky_relu(torch.conv2d(image, self.look, None, [4, 4]), 0.2)
    x = torch.dropout(x, 0.3, self.training) * self.gain
    return torch.linear(torch.flatten(x, 1), self.judge, None)
)";

/// [N, 1, 32, 32] → [N, 1]; `gain` is a constant.
inline torch::jit::Module own_discriminator() {
  return own_module(kOwnDiscriminator,
                    {{"look", own_values({8, 1, 4, 4})}, {"judge", own_values({1, 512})}},
                    {{"gain", at::full({}, 1.5)}});
}

inline const char* const kOwnFeatures = R"(
def forward(self, image: Tensor) -> Tuple[Tensor, Tensor]:
    x = torch.relu(torch.conv2d(image, self.first, None, [1, 1], [1, 1]))
    y = torch.relu(torch.conv2d(torch.avg_pool2d(x, [2, 2]), self.second, None, [1, 1], [1, 1]))
    return x, y
)";

/// [N, 1, S, S] → [N, 4, S, S] and [N, 6, S / 2, S / 2].
inline torch::jit::Module own_features() {
  return own_module(kOwnFeatures,
                    {{"first", own_values({4, 1, 3, 3})}, {"second", own_values({6, 4, 3, 3})}});
}

/// generator.pt, discriminator.pt and features.pt.
inline void write_own_networks(const std::filesystem::path& folder) {
  own_generator().save((folder / "generator.pt").string());
  own_discriminator().save((folder / "discriminator.pt").string());
  own_features().save((folder / "features.pt").string());
}

}  // namespace gangway::testing
