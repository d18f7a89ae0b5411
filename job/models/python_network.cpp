// SPDX-License-Identifier: MIT
#include "job/models/python_network.hpp"

#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/errors.hpp"

namespace gangway {
namespace {

enum class Takes { kNoise, kExample };
enum class Makes { kExample, kLogit, kCode, kLevels };

struct Role {
  std::string_view role;
  Takes takes;
  bool is_labelled;  ///< also takes the labels, if the job has any
  Makes makes;
};

constexpr std::array kRoles{
    Role{"generator", Takes::kNoise, true, Makes::kExample},
    Role{"discriminator", Takes::kExample, true, Makes::kLogit},
    Role{"encoder", Takes::kExample, false, Makes::kCode},
    Role{"translator", Takes::kExample, false, Makes::kExample},
    Role{"network", Takes::kExample, true, Makes::kLogit},
    Role{"features", Takes::kExample, false, Makes::kLevels},
};

std::string batch_text(const std::vector<std::int64_t>& shape) {
  return shape.empty() ? "[N]" : fmt::format("[N, {}]", fmt::join(shape, ", "));
}

}  // namespace

bool may_be_own(std::string_view role) {
  return std::ranges::find(kRoles, role, &Role::role) != kRoles.end();
}

PythonSpec python_network(std::string_view role, const ModelSpec& model,
                          const std::vector<std::int64_t>& example) {
  const auto* const row = std::ranges::find(kRoles, role, &Role::role);
  if (row == kRoles.end()) {
    throw InvariantError(fmt::format("the role {} cannot be a network of the user's", role));
  }
  PythonSpec spec;
  if (row->takes == Takes::kNoise) {
    spec.inputs.push_back({"noise", {model.inputs()}});
  } else {
    spec.inputs.push_back({"image", example});
  }
  if (row->is_labelled && model.classes > 0) {
    spec.inputs.push_back({"labels", {}});
  }
  switch (row->makes) {
    case Makes::kExample:
      spec.output = example;
      break;
    case Makes::kLogit:
      spec.output = {1};
      break;
    case Makes::kCode:
      spec.output = {2 * std::int64_t{model.latent}};
      break;
    case Makes::kLevels:
      spec.levels = model.levels;
      break;
  }
  return spec;
}

std::string signature_text(const PythonSpec& spec) {
  std::string inputs;
  for (const PythonInput& input : spec.inputs) {
    inputs += fmt::format("{}{} {} {}", inputs.empty() ? "" : ", ", input.name,
                          batch_text(input.shape), input.has_whole_numbers() ? "int64" : "float32");
  }
  const std::string made =
      spec.levels > 0 ? fmt::format("a tuple or list of {} tensors [N, C, H, W]", spec.levels)
                      : batch_text(spec.output);
  return fmt::format("forward({}) -> {} float32", inputs, made);
}

}  // namespace gangway
