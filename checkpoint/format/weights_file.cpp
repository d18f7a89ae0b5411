// SPDX-License-Identifier: MIT
#include "checkpoint/format/weights_file.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/errors.hpp"

namespace gangway::checkpoint {
namespace {

/// Returns the tensors in `state` whose names start with `prefix`, by name.
std::vector<const StoredTensor*> tensors_below(const StoredState& state,
                                               const std::string& prefix) {
  std::vector<const StoredTensor*> found;
  for (const StoredTensor& tensor : state.tensors()) {
    if (tensor.name.starts_with(prefix)) {
      found.push_back(&tensor);
    }
  }
  return found;
}

/// Prefixes of tensors that record the state of a training.
constexpr std::array<std::string_view, 2> kOfATraining{"augment.", "lecam_"};

/// Whether the tensor is not trained: a running average (BatchNorm) or a training's state.
bool is_statistic(std::string_view name) {
  return name.find("running_") != std::string_view::npos || is_of_a_training(name);
}

/// Whether the file starts as torch.save and torch.jit.save write it: ZIP, before 2020 a pickle.
bool is_of_pytorch(const std::filesystem::path& file) {
  constexpr std::string_view kZip("PK\x03\x04", 4);
  constexpr std::string_view kPickle("\x80\x02\x8a\x0a", 4);
  std::array<char, 4> start{};
  std::ifstream stream(file, std::ios::binary);
  stream.read(start.data(), start.size());
  const std::string_view found(start.data(), static_cast<std::size_t>(stream.gcount()));
  return found == kZip || found == kPickle;
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

}  // namespace

bool is_of_a_training(std::string_view name) {
  return std::ranges::any_of(kOfATraining, [name](std::string_view begin) {
    const std::size_t at = name.find(begin);
    return at != std::string_view::npos && (at == 0 || name[at - 1] == '/' || name[at - 1] == '.');
  });
}

std::string weights_name(std::string_view tensor) {
  std::string name(tensor.substr(tensor.find('/') + 1));
  std::ranges::replace(name, '/', '.');
  return name;
}

ExportedWeights export_weights(StoredState& state, const std::string& network, WeightsKind kind,
                               const std::filesystem::path& file) {
  ExportedWeights exported;
  std::vector<const StoredTensor*> tensors;
  if (kind == WeightsKind::kAverage) {
    tensors = tensors_below(state, network + "_ema/");
    exported.is_average = !tensors.empty();
  }
  if (tensors.empty()) {
    tensors = tensors_below(state, network + "/");
  }
  if (tensors.empty()) {
    throw CheckpointError(fmt::format("{}: holds no network '{}'", state.path().string(), network));
  }
  std::vector<std::vector<std::byte>> values;
  std::vector<TensorRecord> records;
  for (const StoredTensor* tensor : tensors) {
    values.emplace_back(tensor->num_bytes());
    state.read_row_major(*tensor, values.back());
    records.push_back({.name = weights_name(tensor->name),
                       .type = tensor->type,
                       .shape = tensor->shape,
                       .bytes = values.back()});
  }
  const Manifest& manifest = state.manifest();
  (void)write_safetensors(file, records,
                          {{"gangway.network", network},
                           {"gangway.weights", exported.is_average ? "average" : "last"},
                           {"gangway.step", std::to_string(manifest.step)},
                           {"gangway.images", std::to_string(manifest.images)},
                           {"gangway.job_fingerprint", manifest.job_fingerprint},
                           {"gangway.checkpoint_id", manifest.checkpoint_id}});
  exported.tensors = records.size();
  return exported;
}

InitialWeights::InitialWeights(std::string key, const std::filesystem::path& file)
    : key_(std::move(key)) {
  try {
    file_ = std::make_unique<SafetensorsFile>(file);
  } catch (const CheckpointError& error) {
    if (is_of_pytorch(file)) {
      throw ConfigError(
          fmt::format("{}: {}: is a file of PyTorch's, not safetensors; write its weights by "
                      "safetensors.torch.save_file, or load it in a Python class, model.{}",
                      key_, file.string(), std::string_view(key_).substr(0, key_.find('.'))));
    }
    throw ConfigError(fmt::format("{}: {}", key_, error.what()));
  }
  for (const TensorRecord& tensor : file_->tensors()) {
    if (tensor.type != ElementType::kF32) {
      refuse(
          fmt::format("tensor '{}' is {}; weights are F32", tensor.name, type_name(tensor.type)));
    }
  }
}

void InitialWeights::refuse(const std::string& what) const {
  throw ConfigError(fmt::format("{}: {}: {}", key_, file_->path().string(), what));
}

std::int64_t InitialWeights::num_parameters(std::span<const std::string> statistics) const {
  std::set<std::string> named;
  for (const std::string& one : statistics) {
    named.insert(weights_name("NETWORK/" + one));
  }
  std::size_t bytes = 0;
  for (const TensorRecord& tensor : file_->tensors()) {
    const bool is_counted = !is_statistic(tensor.name) && !named.contains(tensor.name);
    bytes += is_counted ? tensor.bytes.size() : 0;
  }
  return static_cast<std::int64_t>(bytes / item_size(ElementType::kF32));
}

void InitialWeights::require_parameters(std::int64_t expected,
                                        std::span<const std::string> statistics) const {
  if (const std::int64_t found = num_parameters(statistics); found != expected) {
    refuse(fmt::format("has {} parameters, the job's network has {}; are they of another model?",
                       found, expected));
  }
}

void InitialWeights::require_finite() const {
  for (const TensorRecord& tensor : file_->tensors()) {
    // All exponent bits are set: infinity or NaN.
    constexpr std::uint32_t kExponent = 0x7F800000U;
    for (std::size_t at = 0; at < tensor.bytes.size(); at += sizeof kExponent) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, tensor.bytes.data() + at, sizeof bits);
      if ((bits & kExponent) == kExponent) {
        refuse(
            fmt::format("a value of tensor '{}' is not finite; give earlier weights", tensor.name));
      }
    }
  }
}

void InitialWeights::require(std::span<const WantedTensor> wanted) const {
  std::set<std::string> known;
  for (const WantedTensor& tensor : wanted) {
    if (is_of_a_training(tensor.name)) {
      continue;
    }
    const std::string name = weights_name(tensor.name);
    const TensorRecord* const found = file_->find(name);
    if (found == nullptr) {
      refuse(fmt::format("has no tensor '{}' {}", name, shape_text(tensor.shape)));
    }
    if (found->shape != tensor.shape) {
      refuse(fmt::format("tensor '{}' is {}, the job's network has {}", name,
                         shape_text(found->shape), shape_text(tensor.shape)));
    }
    known.insert(name);
  }
  for (const TensorRecord& tensor : file_->tensors()) {
    if (!known.contains(tensor.name) && !is_of_a_training(tensor.name)) {
      refuse(fmt::format("tensor '{}' is not of the job's network", tensor.name));
    }
  }
}

std::span<const std::byte> InitialWeights::bytes(const std::string& name) const {
  const TensorRecord* const found = file_->find(weights_name(name));
  if (found == nullptr) {
    refuse(fmt::format("has no tensor '{}'", weights_name(name)));
  }
  return found->bytes;
}

}  // namespace gangway::checkpoint
