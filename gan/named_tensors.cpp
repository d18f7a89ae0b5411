// SPDX-License-Identifier: MIT
#include "gan/named_tensors.hpp"

#include <algorithm>

#include "base/errors.hpp"

namespace gangway::gan {

const at::Tensor& NamedTensors::at(const std::string& name) const {
  const auto found =
      std::ranges::find(tensors_, name, [](const auto& entry) { return entry.first; });
  if (found == tensors_.end()) {
    throw InvariantError("a block needs the tensor '" + name + "', which no block before it made");
  }
  return found->second;
}

bool NamedTensors::has(const std::string& name) const {
  return std::ranges::any_of(tensors_, [&](const auto& entry) { return entry.first == name; });
}

NamedTensors NamedTensors::with(const std::string& name, at::Tensor tensor) const {
  NamedTensors result = *this;
  for (auto& entry : result.tensors_) {
    if (entry.first == name) {
      entry.second = std::move(tensor);
      return result;
    }
  }
  result.tensors_.emplace_back(name, std::move(tensor));
  return result;
}

NamedTensors NamedTensors::only(const std::vector<std::string>& names) const {
  NamedTensors result;
  for (const auto& entry : tensors_) {
    if (std::ranges::find(names, entry.first) != names.end()) {
      result.tensors_.push_back(entry);
    }
  }
  return result;
}

}  // namespace gangway::gan
