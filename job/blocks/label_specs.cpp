// SPDX-License-Identifier: MIT
#include "job/blocks/label_specs.hpp"

#include "job/blocks/initial_deviation.hpp"

namespace gangway {
BlockTensors tensors_of(const LabelConcatenationSpec&) {
  return {.ports = {{"noise", "labels"}, {"noise"}}};
}

BlockTensors tensors_of(const ProjectionHeadSpec& spec) {
  return {.ports = {{"features", "labels"}, {"features"}},
          .parameters = {{.name = "weight", .shape = {1, spec.features * spec.pixels}},
                         {.name = "embedding", .shape = {spec.classes, spec.features}}}};
}

BlockTensors tensors_of(const LabelEmbeddingSpec& spec) {
  return {.ports = {{"noise", "labels"}, {"noise"}},
          .parameters = {{.name = "embedding",
                          .shape = {spec.classes, spec.features},
                          .initial_scale = deviation(1.0, spec.classes)}}};
}

BlockTensors tensors_of(const LabelProductSpec& spec) {
  return {.ports = {{"features", "labels"}, {"features"}},
          .parameters = {{.name = "embedding",
                          .shape = {spec.classes, spec.features},
                          .initial_scale = deviation(1.0, spec.classes * spec.features)}}};
}

}  // namespace gangway
