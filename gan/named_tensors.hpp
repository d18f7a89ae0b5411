// SPDX-License-Identifier: MIT
// What flows between the blocks of a network: a few tensors by name, in a fixed order. Labels,
// styles or skip images pass by blocks that do not take them.
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

  /// @throws InvariantError when a block asks for what no block before it made.
  [[nodiscard]] const at::Tensor& at(const std::string& name) const;
  [[nodiscard]] bool has(const std::string& name) const;
  /// A copy in which `name` is `tensor`.
  [[nodiscard]] NamedTensors with(const std::string& name, at::Tensor tensor) const;
  /// A copy of those that `names` lists and that are there.
  [[nodiscard]] NamedTensors only(const std::vector<std::string>& names) const;
  [[nodiscard]] const std::vector<std::pair<std::string, at::Tensor>>& entries() const {
    return tensors_;
  }

 private:
  std::vector<std::pair<std::string, at::Tensor>> tensors_;
};

}  // namespace gangway::gan
