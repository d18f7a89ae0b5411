// SPDX-License-Identifier: MIT
// Holds one value per index, and finds the least and the greatest without a scan. Pure.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

namespace gangway {

/// @tparam T  a value of which few distinct ones occur at a time, such as each worker's step
template <typename T>
class MinMaxTracker {
 public:
  explicit MinMaxTracker(std::size_t count, T value = {}) : values_(count, value) {
    counts_[value] = count;
  }
  void set(std::size_t index, const T& value) {
    T& held = values_.at(index);
    ++counts_[value];
    if (const auto before = counts_.find(held); --before->second == 0) {
      counts_.erase(before);
    }
    held = value;
  }
  [[nodiscard]] const T& operator[](std::size_t index) const { return values_.at(index); }
  /// @pre the count is not 0; the same for greatest()
  [[nodiscard]] const T& least() const { return counts_.begin()->first; }
  [[nodiscard]] const T& greatest() const { return counts_.rbegin()->first; }

 private:
  std::vector<T> values_;
  std::map<T, std::size_t> counts_;
};

}  // namespace gangway
