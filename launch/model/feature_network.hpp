// SPDX-License-Identifier: MIT
// Feature networks by which `evaluate` compares images: the project's LeNet, trained by
// `train-features`, or the user's TorchScript network. The hash of its file identifies a network.
// One thread at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "gan/evaluation/fd_lenet.hpp"
#include "gan/evaluation/lenet.hpp"
#include "job/evaluation.hpp"

namespace gangway::launch {

/// XXH3-128 of share/fd-lenet-fashion-mnist.safetensors; other weights give a different score.
inline constexpr const char* kFeatureWeightsHash = "326a5ea7c417ef1507609f6dcfffcfdf";
inline constexpr const char* kFeatureWeightsName = "fd-lenet-fashion-mnist.safetensors";

/// SHA-256 of inception-2015-12-05.pt, the translation to TorchScript of the Inception network that
/// defines the FID, as StyleGAN2-ADA and its successors use it (95,607,719 bytes).
inline constexpr const char* kInceptionHash =
    "f58cb9b6ec323ed63459aa4fb441fe750cfe39fafad6da5cb504a16f19e958f4";

struct FeatureNetwork {
  std::string distance;         ///< name of the Fréchet distance: "FD-LeNet", "FID", "FD-net.pt"
  std::string kernel_distance;  ///< name of the kernel distance: "KID-LeNet", "KID", "KID-net.pt"
  std::string hash;             ///< of its file: XXH3-128 for LeNet's weights, else SHA-256
  std::int64_t batch = 1;       ///< images at a time
  gan::FeatureFunction features;
  std::shared_ptr<gan::LeNet> lenet;  ///< also classifies images; null for other networks
};

/// Returns a file's SHA-256 as 64 lower-case hexadecimal digits, as `sha256sum` prints it.
/// @throws EnvironmentError naming a file that cannot be read
[[nodiscard]] std::string sha256_of_file(const std::filesystem::path& file);

/// Opens LeNet weights from a file that ends in .safetensors, TorchScript from any other file.
/// Inputs of TorchScript are as for the FID: uint8 [N, 3, S, S], 0 to 255; grey images have three
/// equal channels. Passes `return_features=True` if its forward has that argument.
/// Outputs are floats [N, d], or [N, d, …], flattened to one vector per image.
/// @throws ConfigError of one line: missing, no TorchScript, wrong arguments. `features` throws it
/// if the network fails or returns another type.
/// @param resize  of pictures for TorchScript: it gets resized floats, 0 to 255, [N, 3, 299, 299];
/// the distances are named accordingly: "FID-clean"
/// @param device  for TorchScript; LeNet is too small to gain from one. Features are on the CPU
[[nodiscard]] FeatureNetwork open_feature_network(const std::filesystem::path& file,
                                                  FeatureResize resize = FeatureResize::kOwn,
                                                  at::Device device = at::kCPU);

/// Loads the weights into `lenet`. @throws ConfigError naming a file that is missing or has another
/// hash
void load_feature_weights(gan::LeNet& lenet, const std::filesystem::path& file);

/// Writes a new file and returns its XXH3-128. @throws EnvironmentError if it exists or cannot be
/// written
std::string save_feature_weights(gan::LeNet& lenet, const std::filesystem::path& file);

}  // namespace gangway::launch
