// SPDX-License-Identifier: MIT
// What `evaluate` compares images by: the project's own LeNet, whose weights `train-features`
// writes, or a TorchScript network that the user has. Both are known by the hash of their file. One
// thread at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "gan/evaluation/fd_lenet.hpp"
#include "gan/evaluation/lenet.hpp"
#include "job/evaluation.hpp"

namespace gangway::launch {

/// XXH3-128 of share/fd-lenet-fashion-mnist.safetensors: with other weights the score is another
/// one.
inline constexpr const char* kFeatureWeightsHash = "326a5ea7c417ef1507609f6dcfffcfdf";
inline constexpr const char* kFeatureWeightsName = "fd-lenet-fashion-mnist.safetensors";

/// SHA-256 of inception-2015-12-05.pt, the translation to TorchScript of the Inception network that
/// defines the FID, as StyleGAN2-ADA and its successors use it (95,607,719 bytes).
inline constexpr const char* kInceptionHash =
    "f58cb9b6ec323ed63459aa4fb441fe750cfe39fafad6da5cb504a16f19e958f4";

struct FeatureNetwork {
  std::string distance;         ///< name of the Fréchet distance: "FD-LeNet", "FID", "FD-net.pt"
  std::string kernel_distance;  ///< and of the kernel distance: "KID-LeNet", "KID", "KID-net.pt"
  std::string hash;             ///< of its file: XXH3-128 of the LeNet's weights, SHA-256 of others
  std::int64_t batch = 1;       ///< images at a time
  gan::FeatureFunction features;
  std::shared_ptr<gan::LeNet> lenet;  ///< which knows classes as well; null for other networks
};

/// A file that ends in .safetensors holds the weights of the LeNet, any other is TorchScript.
///
/// That gets what networks exported for the FID get: images as uint8 [N, 3, S, S], 0 to 255, grey
/// ones with three equal channels; `return_features=True` where its forward has such an argument.
/// It returns floats [N, d], or [N, d, …], which count as one vector each.
/// @throws ConfigError of one line: missing, no TorchScript, other arguments; and later, out of
/// `features`, when it fails or returns something else.
/// @param resize  of pictures for TorchScript networks: done before them, they get floats from 0 to
/// 255, [N, 3, 299, 299], and the names of the distances say so: "FID-clean"
/// @param device  where a TorchScript network computes; the LeNet is too small to gain there.
/// Features are on the CPU
[[nodiscard]] FeatureNetwork open_feature_network(const std::filesystem::path& file,
                                                  FeatureResize resize = FeatureResize::kOwn,
                                                  at::Device device = at::kCPU);

/// Loads the weights into `lenet`. @throws ConfigError naming the file: missing, or with another
/// hash.
void load_feature_weights(gan::LeNet& lenet, const std::filesystem::path& file);

/// Writes a new file and returns its XXH3-128. @throws EnvironmentError when it exists or cannot be
/// written.
std::string save_feature_weights(gan::LeNet& lenet, const std::filesystem::path& file);

}  // namespace gangway::launch
