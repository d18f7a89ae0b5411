// SPDX-License-Identifier: MIT
#include "job/blocks/residual_specs.hpp"

#include "job/blocks/initial_deviation.hpp"

namespace gangway {
BlockPorts ports_of(const ResidualSpec&) { return {{"features"}, {"features"}}; }

std::vector<ParameterSpec> parameters_of(const ResidualSpec& spec) {
  const std::int64_t group = spec.expanded / spec.groups;
  return {{.name = "expand.weight",
           .shape = {spec.expanded, spec.channels, 1, 1},
           .initial_scale = deviation(spec.gain, spec.channels)},
          {.name = "expand.bias", .shape = {spec.expanded}, .initial = Initial::kZero},
          {.name = "grouped.weight",
           .shape = {spec.expanded, group, 3, 3},
           .initial_scale = deviation(spec.gain, group * 9)},
          {.name = "grouped.bias", .shape = {spec.expanded}, .initial = Initial::kZero},
          {.name = "contract.weight",
           .shape = {spec.channels, spec.expanded, 1, 1},
           .initial = Initial::kZero}};
}

BlockPorts ports_of(const ResamplingSpec&) { return {{"features"}, {"features"}}; }

std::vector<ParameterSpec> parameters_of(const ResamplingSpec& spec) {
  if (spec.in == spec.out) {
    return {};
  }
  return {{.name = "weight",
           .shape = {spec.out, spec.in, 1, 1},
           .initial_scale = deviation(1.0, spec.in)}};
}

BlockPorts ports_of(const GenerativeBasisSpec&) { return {{"noise"}, {"features"}}; }

std::vector<ParameterSpec> parameters_of(const GenerativeBasisSpec& spec) {
  return {{.name = "basis", .shape = {spec.channels, kBasisSide, kBasisSide}, .initial_scale = 1.0},
          {.name = "weight",
           .shape = {spec.channels, spec.in},
           .initial_scale = deviation(1.0, spec.in)}};
}

BlockPorts ports_of(const DiscriminativeBasisSpec&) { return {{"features"}, {"features"}}; }

std::vector<ParameterSpec> parameters_of(const DiscriminativeBasisSpec& spec) {
  return {{.name = "basis",
           .shape = {spec.channels, kBasisSide, kBasisSide},
           .initial_scale = deviation(1.0, kBasisSide * kBasisSide)},
          {.name = "weight",
           .shape = {spec.out, spec.channels},
           .initial_scale = deviation(1.0, spec.channels)}};
}

}  // namespace gangway
