// SPDX-License-Identifier: MIT
#include "job/blocks/label_specs.hpp"

#include "job/blocks/initial_deviation.hpp"

namespace gangway {
BlockPorts ports_of(const LabelConcatenationSpec&) { return {{"noise", "labels"}, {"noise"}}; }

std::vector<ParameterSpec> parameters_of(const LabelConcatenationSpec&) { return {}; }

BlockPorts ports_of(const ProjectionHeadSpec&) { return {{"features", "labels"}, {"features"}}; }

std::vector<ParameterSpec> parameters_of(const ProjectionHeadSpec& spec) {
  return {{.name = "weight", .shape = {1, spec.features * spec.pixels}},
          {.name = "embedding", .shape = {spec.classes, spec.features}}};
}

BlockPorts ports_of(const LabelEmbeddingSpec&) { return {{"noise", "labels"}, {"noise"}}; }

std::vector<ParameterSpec> parameters_of(const LabelEmbeddingSpec& spec) {
  return {{.name = "embedding",
           .shape = {spec.classes, spec.features},
           .initial_scale = deviation(1.0, spec.classes)}};
}

BlockPorts ports_of(const LabelProductSpec&) { return {{"features", "labels"}, {"features"}}; }

std::vector<ParameterSpec> parameters_of(const LabelProductSpec& spec) {
  return {{.name = "embedding",
           .shape = {spec.classes, spec.features},
           .initial_scale = deviation(1.0, spec.classes * spec.features)}};
}

}  // namespace gangway
