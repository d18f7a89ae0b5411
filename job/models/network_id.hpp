// SPDX-License-Identifier: MIT
// Identifies the networks of a job, and holds a value per network. Pure.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <utility>
#include <vector>

namespace gangway {

/// Index of a network in its job: its number in message tags, random keys, traces.
enum class NetworkId : int {};

/// One value for each network of a job, in their order.
template <class T>
class PerNetwork {
 public:
  PerNetwork() = default;
  PerNetwork(std::initializer_list<T> values) : values_(values) {}

  [[nodiscard]] T& operator[](NetworkId network) {
    return values_.at(static_cast<std::size_t>(network));
  }
  [[nodiscard]] const T& operator[](NetworkId network) const {
    return values_.at(static_cast<std::size_t>(network));
  }
  void add(T value) { values_.push_back(std::move(value)); }

  [[nodiscard]] std::size_t size() const { return values_.size(); }
  [[nodiscard]] auto begin() { return values_.begin(); }
  [[nodiscard]] auto begin() const { return values_.begin(); }
  [[nodiscard]] auto end() { return values_.end(); }
  [[nodiscard]] auto end() const { return values_.end(); }
  [[nodiscard]] std::vector<NetworkId> ids() const {
    std::vector<NetworkId> all;
    for (std::size_t index = 0; index < values_.size(); ++index) {
      all.push_back(static_cast<NetworkId>(index));
    }
    return all;
  }
  /// Values in the networks' order.
  [[nodiscard]] std::vector<T>& list() { return values_; }
  [[nodiscard]] const std::vector<T>& list() const { return values_; }
  bool operator==(const PerNetwork&) const = default;

 private:
  std::vector<T> values_;
};

}  // namespace gangway
