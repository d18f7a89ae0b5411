// SPDX-License-Identifier: MIT
#include "launch/model/feature_network.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <fstream>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/evp.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/passes/inliner.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/serialization/import.h>
#include <torch/version.h>

#include "base/errors.hpp"
#include "base/hash.hpp"
#include "base/system/trusted_code.hpp"
#include "checkpoint/format/safetensors.hpp"
#include "job/choices.hpp"
#include "launch/model/trained_run.hpp"

namespace gangway::launch {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kLenetBatch = 500;
/// Images per batch: Inception's first layers use about 10 MB for each.
constexpr std::int64_t kScriptBatch = 50;
constexpr const char* kFeatureSwitch = "return_features";
constexpr const char* kWanted =
    "wanted is forward(images) or forward(images, return_features=True), for uint8 images [N, 3, "
    "S, S], that returns floats [N, d]";

/// Returns the last line: the interpreter prints the cause below the stack trace.
std::string cause_of(const std::exception& failure) {
  const auto* error = dynamic_cast<const c10::Error*>(&failure);
  std::string text = error != nullptr ? error->what_without_backtrace() : failure.what();
  text.erase(text.find_last_not_of(" \n") + 1);
  return text.substr(text.rfind('\n') + 1);
}

/// Side of Inception's inputs; both kinds of resizing produce it.
constexpr std::int64_t kResizedSide = 299;

/// Converts images in [-1, 1] to network inputs [N, 3, S, S]: uint8, rounded to the nearest level;
/// or floats, resized as by pytorch-fid (fid_score.py) or clean-fid (resize.py, Parmar et al.,
/// 2022).
at::Tensor levels_of(const at::Tensor& images, FeatureResize resize) {
  const at::Tensor levels =
      (images * 127.5 + 128.0).clamp(0.0, 255.0).to(at::kByte).expand({-1, 3, -1, -1}).contiguous();
  const std::array<std::int64_t, 2> size{kResizedSide, kResizedSide};
  switch (resize) {
    case FeatureResize::kBilinear:
      return at::upsample_bilinear2d(levels.to(at::kFloat), size, /*align_corners=*/false);
    case FeatureResize::kClean:
      return at::_upsample_bicubic2d_aa(levels.to(at::kFloat), size, /*align_corners=*/false)
          .clamp_(0.0, 255.0);
    case FeatureResize::kOwn:
      return levels;
  }
  throw InvariantError("a resize has no meaning");
}

class ScriptFeatures {
 public:
  ScriptFeatures(torch::jit::Module module, fs::path file, FeatureResize resize, at::Device device)
      : module_(std::move(module)), file_(std::move(file)), resize_(resize), device_(device) {
    module_.eval();
    const auto method = module_.find_method("forward");
    if (!method) {
      throw ConfigError(fmt::format("{}: has no forward; {}", file_.string(), kWanted));
    }
    const std::vector<c10::Argument>& arguments = method->function().getSchema().arguments();
    for (std::size_t i = 2; i < arguments.size(); ++i) {  // the first two are self and the images
      if (arguments[i].name() == kFeatureSwitch) {
        switches_[kFeatureSwitch] = true;
      } else if (!arguments[i].default_value()) {
        throw ConfigError(fmt::format("{}: its forward wants '{}' as well; {}", file_.string(),
                                      arguments[i].name(), kWanted));
      }
    }
    if (arguments.size() < 2) {
      throw ConfigError(fmt::format("{}: its forward takes nothing; {}", file_.string(), kWanted));
    }
  }

  at::Tensor operator()(const at::Tensor& images) {
    // Disables the optimizer: it would make later calls differ from the first ones in bits.
    const torch::jit::GraphOptimizerEnabledGuard as_written(false);
    c10::IValue result;
    try {
      result = module_.forward({levels_of(images.to(device_), resize_)}, switches_);
    } catch (const std::exception& failure) {
      throw ConfigError(
          fmt::format("{}: fails: {}; {}", file_.string(), cause_of(failure), kWanted));
    }
    if (!result.isTensor()) {
      throw ConfigError(fmt::format("{}: returned {} instead of a tensor; {}", file_.string(),
                                    result.tagKind(), kWanted));
    }
    const at::Tensor features = result.toTensor();
    if (features.dim() < 2 || features.size(0) != images.size(0) || features.numel() == 0 ||
        !features.is_floating_point()) {
      throw ConfigError(fmt::format("{}: returned {} [{}] of {} images; {}", file_.string(),
                                    c10::toString(features.scalar_type()),
                                    fmt::join(features.sizes(), ", "), images.size(0), kWanted));
    }
    return features.reshape({features.size(0), -1}).to(at::kCPU, at::kFloat);
  }

 private:
  torch::jit::Module module_;
  fs::path file_;
  FeatureResize resize_;
  at::Device device_;
  std::unordered_map<std::string, c10::IValue> switches_;
};

FeatureNetwork lenet_of(const fs::path& file) {
  auto lenet = std::make_shared<gan::LeNet>();
  load_feature_weights(*lenet, file);
  return {
      .distance = "FD-LeNet",
      .kernel_distance = "KID-LeNet",
      .hash = kFeatureWeightsHash,
      .batch = kLenetBatch,
      .features =
          [lenet](const at::Tensor& images) { return lenet->features(gan::lenet_input(images)); },
      .lenet = lenet};
}

/// Operators that open files, which no feature network needs.
constexpr std::array<std::string_view, 2> kReachesFiles{"aten::from_file", "aten::save"};

/// Explains why LibTorch refused a file with `message`, and gives the remedy.
std::string why_not_loaded(const std::string& message) {
  if (message.find("maximum supported version") != std::string::npos ||
      message.find("Unknown builtin op") != std::string::npos) {
    return fmt::format(
        "was written by a newer PyTorch than the {} here; write it with that one (pip install "
        "torch=={})",
        TORCH_VERSION, TORCH_VERSION);
  }
  const bool is_pickle = message.find("constants.pkl") != std::string::npos;
  const std::string line = message.substr(0, message.find('\n'));
  return fmt::format(
      "is no TorchScript file{}; torch.jit.script(network).save(FILE) writes one "
      "({})",
      is_pickle ? ", but one of torch.save" : "", line.substr(0, line.find(". ")));
}

/// Returns the first operator that opens files; empty: none.
std::string file_operator(at::ArrayRef<const torch::jit::Block*> blocks) {
  for (const torch::jit::Block* block : blocks) {
    for (const torch::jit::Node* node : block->nodes()) {
      const std::string name = node->kind().toQualString();
      std::string found = std::ranges::find(kReachesFiles, name) != kReachesFiles.end()
                              ? name
                              : file_operator(node->blocks());
      if (!found.empty()) {
        return found;
      }
    }
  }
  return {};
}

torch::jit::Module load_script(const fs::path& file, at::Device device) {
  std::error_code failure;
  if (!fs::is_regular_file(file, failure)) {
    throw ConfigError(
        fmt::format("{}: no such file; give --features a TorchScript network", file.string()));
  }
  require_trusted(file);
  torch::jit::Module module;
  try {
    module = torch::jit::load(file.string(), device);
  } catch (const std::exception& error) {
    throw ConfigError(fmt::format("{}: {}", file.string(), why_not_loaded(error.what())));
  }
  if (const auto method = module.find_method("forward")) {
    const std::shared_ptr<torch::jit::Graph> graph = method->graph()->copy();
    torch::jit::Inline(*graph);
    const torch::jit::Block* all = graph->block();
    if (const std::string name = file_operator(all); !name.empty()) {
      throw ConfigError(
          fmt::format("{}: has the operator {}, which opens files by their names; write it without",
                      file.string(), name));
    }
  }
  return module;
}

}  // namespace

void load_feature_weights(gan::LeNet& lenet, const std::filesystem::path& file) {
  std::error_code failure;
  if (!std::filesystem::exists(file, failure)) {
    throw ConfigError(file.string() +
                      ": the weights of FD-LeNet are not there; give their place with --features");
  }
  const checkpoint::SafetensorsFile weights(file);
  const std::string hash = hash_of(weights.contents());
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

std::string sha256_of_file(const std::filesystem::path& file) {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> hash(EVP_MD_CTX_new(),
                                                                     &EVP_MD_CTX_free);
  bool is_well = hash != nullptr && EVP_DigestInit_ex(hash.get(), EVP_sha256(), nullptr) == 1;
  std::ifstream stream(file, std::ios::binary);
  std::vector<char> bytes(std::size_t{1} << 20U);
  while (stream && is_well) {
    stream.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    is_well =
        EVP_DigestUpdate(hash.get(), bytes.data(), static_cast<std::size_t>(stream.gcount())) == 1;
  }
  if (is_well && !stream.eof()) {
    throw EnvironmentError(
        fmt::format("{}: cannot be read: {}", file.string(), std::strerror(errno)));
  }
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  if (!is_well || EVP_DigestFinal_ex(hash.get(), digest.data(), &size) != 1) {
    throw EnvironmentError(fmt::format("{}: OpenSSL has no SHA-256 here", file.string()));
  }
  std::string text;
  for (unsigned int i = 0; i < size; ++i) {
    text += fmt::format("{:02x}", digest.at(i));
  }
  return text;
}

FeatureNetwork open_feature_network(const fs::path& file, FeatureResize resize, at::Device device) {
  if (file.extension() == ".safetensors") {
    return lenet_of(file);
  }
  ScriptFeatures features(load_script(file, device), file, resize, device);
  std::string hash = sha256_of_file(file);
  const bool is_inception = hash == kInceptionHash;
  const std::string name =
      (is_inception ? "" : fmt::format("-{}", file.filename().string())) +
      (resize == FeatureResize::kOwn ? "" : fmt::format("-{}", name_of(resize)));
  return {.distance = (is_inception ? "FID" : "FD") + name,
          .kernel_distance = "KID" + name,
          .hash = std::move(hash),
          .batch = kScriptBatch,
          .features = std::move(features)};
}

}  // namespace gangway::launch
