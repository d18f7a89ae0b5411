// SPDX-License-Identifier: MIT
// The file with the weights of FD-LeNet's feature network: written by `train-features`, read by
// `evaluate`.
#pragma once

#include <filesystem>
#include <string>

#include "gan/evaluation/lenet.hpp"

namespace gangway::launch {

/// XXH3-128 of share/fd-lenet-fashion-mnist.safetensors: with other weights the score is another
/// one.
inline constexpr const char* kFeatureWeightsHash = "326a5ea7c417ef1507609f6dcfffcfdf";
inline constexpr const char* kFeatureWeightsName = "fd-lenet-fashion-mnist.safetensors";

/// Loads the weights into `lenet`. @throws ConfigError naming the file: missing, or with another
/// hash.
void load_feature_weights(gan::LeNet& lenet, const std::filesystem::path& file);

/// Writes a new file and returns its XXH3-128. @throws EnvironmentError when it exists or cannot be
/// written.
std::string save_feature_weights(gan::LeNet& lenet, const std::filesystem::path& file);

}  // namespace gangway::launch
