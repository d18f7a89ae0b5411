// SPDX-License-Identifier: MIT
#include "launch/model/feature_weights.hpp"

#include "base/errors.hpp"
#include "checkpoint/files/hash.hpp"
#include "checkpoint/format/safetensors.hpp"
#include "launch/model/load_tensor.hpp"

namespace gangway::launch {

void load_feature_weights(gan::LeNet& lenet, const std::filesystem::path& file) {
  std::error_code failure;
  if (!std::filesystem::exists(file, failure)) {
    throw ConfigError(file.string() +
                      ": the weights of FD-LeNet are not there; give their place with --features");
  }
  const checkpoint::SafetensorsFile weights(file);
  const std::string hash = checkpoint::hash_of(weights.contents());
  if (hash != kFeatureWeightsHash) {
    throw ConfigError(file.string() +
                      ": these are not the weights that define FD-LeNet (XXH3-128 " + hash +
                      ", not " + kFeatureWeightsHash + "); fetch the file of the repository again");
  }
  for (const gan::Network::NamedParameter& named : lenet.parameters()) {
    const checkpoint::TensorRecord* record = weights.find(named.name);
    if (record == nullptr) {
      throw CheckpointError(file.string() + ": has no tensor '" + named.name +
                            "'; fetch the file of the repository again");
    }
    load_tensor(*record, named.parameter->tensor, file.string());
  }
}

std::string save_feature_weights(gan::LeNet& lenet, const std::filesystem::path& file) {
  std::vector<checkpoint::TensorRecord> records;
  for (const gan::Network::NamedParameter& named : lenet.parameters()) {
    const at::Tensor& tensor = named.parameter->tensor;
    const auto elements = static_cast<std::size_t>(tensor.numel());
    records.push_back(
        {.name = named.name,
         .type = checkpoint::ElementType::kF32,
         .shape = tensor.sizes().vec(),
         .bytes = std::as_bytes(std::span(tensor.const_data_ptr<float>(), elements))});
  }
  return checkpoint::write_safetensors(file, records, {{"format", "pt"}, {"network", "fd-lenet"}})
      .xxh3_128;
}

}  // namespace gangway::launch
