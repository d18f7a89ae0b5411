// SPDX-License-Identifier: MIT
// The tensors that flow between the blocks of a network, by name and in a fixed order. Labels,
// styles or skip images pass through blocks that do not take them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "gan/torch.hpp"

namespace gangway::gan {

class NamedTensors {
 public:
  NamedTensors() = default;
  NamedTensors(std::initializer_list<std::pair<std::string, at::Tensor>> tensors)
      : tensors_(tensors) {}

  /// @throws InvariantError if no earlier block made a tensor of that name
  [[nodiscard]] const at::Tensor& at(const std::string& name) const;
  [[nodiscard]] bool has(const std::string& name) const;
  /// Returns a copy with `name` set to `tensor`.
  [[nodiscard]] NamedTensors with(const std::string& name, at::Tensor tensor) const;
  /// Returns a copy with only the tensors in `names`; skips names that do not exist.
  [[nodiscard]] NamedTensors only(const std::vector<std::string>& names) const;
  /// Returns a copy with `made_of(tensor)` in place of each tensor.
  [[nodiscard]] NamedTensors each(const auto& made_of) const {
    NamedTensors result = *this;
    for (auto& [name, tensor] : result.tensors_) {
      tensor = made_of(tensor);
    }
    return result;
  }
  /// Returns a copy without the tensors' graphs.
  [[nodiscard]] NamedTensors detached() const {
    return each([](const at::Tensor& tensor) { return tensor.detach(); });
  }
  [[nodiscard]] const std::vector<std::pair<std::string, at::Tensor>>& entries() const {
    return tensors_;
  }

 private:
  std::vector<std::pair<std::string, at::Tensor>> tensors_;
};

}  // namespace gangway::gan
