// SPDX-License-Identifier: MIT
// Collects tensors by name for a reference in PyTorch (tests/gan/*_reference.py), and writes them
// to one safetensors file in float64. Test programs, main thread.
#pragma once

#include <cstddef>
#include <deque>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/format/safetensors.hpp"
#include "gan/network.hpp"
#include "gan/torch.hpp"

namespace gangway::testing {

class SampleTensors {
 public:
  /// Stores a copy.
  void add(const std::string& name, const at::Tensor& tensor) {
    kept_.push_back(tensor.detach().to(at::kDouble).contiguous().clone());
    const at::Tensor& held = kept_.back();
    records_.push_back({.name = name,
                        .type = checkpoint::ElementType::kF64,
                        .shape = held.sizes().vec(),
                        .bytes = std::as_bytes(std::span(held.const_data_ptr<double>(),
                                                         static_cast<std::size_t>(held.numel())))});
  }
  void add_weights(gan::Network& network, const std::string& prefix = "") {
    for (const auto& named : network.parameters()) {
      add(prefix + named.name, named.parameter->tensor);
    }
  }
  void add_statistics(gan::Network& network, const std::string& prefix = "") {
    for (const auto& named : network.statistics()) {
      add(prefix + named.name, named.statistic->running);
    }
  }
  void add_gradients(gan::Network& network, const std::string& prefix = "gradient/") {
    for (const auto& named : network.parameters()) {
      add(prefix + named.name, named.parameter->tensor.grad());
    }
  }
  /// @pre `file` is new
  void write(const std::filesystem::path& file) const {
    (void)checkpoint::write_safetensors(file, records_, {});
  }

 private:
  std::deque<at::Tensor> kept_;
  std::vector<checkpoint::TensorRecord> records_;
};

}  // namespace gangway::testing
