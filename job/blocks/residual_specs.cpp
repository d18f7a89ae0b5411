// SPDX-License-Identifier: MIT
#include "job/blocks/residual_specs.hpp"

#include "job/blocks/initial_deviation.hpp"

namespace gangway {
BlockTensors tensors_of(const ResidualSpec& spec) {
  const std::int64_t group = spec.expanded / spec.groups;
  return {
      .ports = {{"features"}, {"features"}},
      .parameters = {{.name = "expand.weight",
                      .shape = {spec.expanded, spec.channels, 1, 1},
                      .initial_scale = deviation(spec.gain, spec.channels)},
                     {.name = "expand.bias", .shape = {spec.expanded}, .initial = Initial::kZero},
                     {.name = "grouped.weight",
                      .shape = {spec.expanded, group, 3, 3},
                      .initial_scale = deviation(spec.gain, group * 9)},
                     {.name = "grouped.bias", .shape = {spec.expanded}, .initial = Initial::kZero},
                     {.name = "contract.weight",
                      .shape = {spec.channels, spec.expanded, 1, 1},
                      .initial = Initial::kZero}}};
}

BlockTensors tensors_of(const ResamplingSpec& spec) {
  BlockTensors tensors{.ports = {{"features"}, {"features"}}};
  if (spec.in != spec.out) {
    tensors.parameters = {{.name = "weight",
                           .shape = {spec.out, spec.in, 1, 1},
                           .initial_scale = deviation(1.0, spec.in)}};
  }
  return tensors;
}

BlockTensors tensors_of(const GenerativeBasisSpec& spec) {
  return {
      .ports = {{"noise"}, {"features"}},
      .parameters = {
          {.name = "basis", .shape = {spec.channels, kBasisSide, kBasisSide}, .initial_scale = 1.0},
          {.name = "weight",
           .shape = {spec.channels, spec.in},
           .initial_scale = deviation(1.0, spec.in)}}};
}

BlockTensors tensors_of(const DiscriminativeBasisSpec& spec) {
  return {.ports = {{"features"}, {"features"}},
          .parameters = {{.name = "basis",
                          .shape = {spec.channels, kBasisSide, kBasisSide},
                          .initial_scale = deviation(1.0, kBasisSide * kBasisSide)},
                         {.name = "weight",
                          .shape = {spec.out, spec.channels},
                          .initial_scale = deviation(1.0, spec.channels)}}};
}

}  // namespace gangway
