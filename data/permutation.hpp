// SPDX-License-Identifier: MIT
// The order of examples: a keyed permutation of the data set for each data pass, and the global
// cursor over it.
//
// Used by the loader on every worker, and to find the examples of a step. Stateless. Any thread.
#pragma once

#include <cstdint>

#include "gan/random.hpp"

namespace gangway::data {

/// A pseudo-random permutation of [0, size), computed element by element in constant memory.
///
/// A balanced Feistel network of six rounds over the smallest even number of bits that holds
/// `size`. Philox is its round function (Luby and Rackoff, 1988: four rounds suffice for ideal
/// ones). Cycle walking restricts it to [0, size) (Black and Rogaway, CT-RSA 2002), in fewer than
/// four walks on average.
class KeyedPermutation {
 public:
  /// @pre size >= 1, at most 2^62.
  KeyedPermutation(std::uint64_t seed, std::int64_t data_pass, std::int64_t size);

  /// Returns the element at place `i`. @pre 0 <= i < size
  [[nodiscard]] std::int64_t operator()(std::int64_t i) const;

 private:
  [[nodiscard]] std::uint64_t encrypt(std::uint64_t value) const;

  KeyedRandom random_;
  std::uint64_t size_;
  int half_bits_ = 1;
};

/// The order in which a job reads its data: one permutation for each data pass.
class SampleOrder {
 public:
  /// @pre size >= 1
  SampleOrder(std::uint64_t seed, std::int64_t size) : seed_(seed), size_(size) {}

  /// Returns the data set's index of the sample at the global cursor (samples shown since the job
  /// began). @pre cursor >= 0
  [[nodiscard]] std::int64_t dataset_index(std::int64_t cursor) const {
    return KeyedPermutation{seed_, cursor / size_, size_}(cursor % size_);
  }
  [[nodiscard]] std::uint64_t seed() const { return seed_; }

 private:
  std::uint64_t seed_;
  std::int64_t size_;
};

/// Purpose of a read, for examples that draw random numbers.
enum class Asked { kByTraining, kByIndex };

/// Returns the seed of an example. @param place  in training its global cursor, else its index
[[nodiscard]] std::uint64_t seed_of_example(std::uint64_t seed, std::int64_t place, Asked by);

}  // namespace gangway::data
