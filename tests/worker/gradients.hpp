// SPDX-License-Identifier: MIT
// Compares gradients by the names of their tensors.
#pragma once

#include <map>
#include <string>

#include <gtest/gtest.h>

#include "gan/torch.hpp"

namespace gangway::worker {

using Gradients = std::map<std::string, at::Tensor>;

/// Expects gradients of the same tensors, none of them zero, that differ by at most `tolerance` of
/// the tensor's largest value.
inline void expect_close(const Gradients& found, const Gradients& expected, double tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  for (const auto& [name, gradient] : expected) {
    ASSERT_TRUE(found.contains(name)) << name;
    const auto largest = gradient.abs().max().item<double>();
    EXPECT_GT(largest, 0.0) << name;
    EXPECT_LE((found.at(name) - gradient).abs().max().item<double>(), tolerance * largest) << name;
  }
}

}  // namespace gangway::worker
