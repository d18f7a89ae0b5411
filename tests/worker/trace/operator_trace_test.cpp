// SPDX-License-Identifier: MIT
#include "worker/trace/operator_trace.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gan/torch.hpp"

namespace gangway::worker {
namespace {

constexpr std::int64_t kSide = 64;
constexpr auto kBytes = static_cast<std::int64_t>(kSide * kSide * sizeof(float));

/// Returns the traced operators of a product and of a tensor that stays allocated.
TracedOperators traced(TraceDetail detail) {
  const at::NoGradGuard no_grad;
  OperatorTrace trace(detail);
  const at::Tensor stays = at::ones({kSide, kSide});
  { const at::Tensor product = at::mm(stays, stays); }
  return trace.stop();
}

const OperatorEvent& find(const TracedOperators& traced, const std::string& name) {
  const auto found = std::ranges::find(traced.operators, name, &OperatorEvent::name);
  EXPECT_NE(found, traced.operators.end()) << name;
  return *found;
}

TEST(OperatorTrace, HasNamesAndTimesAndNothingThatWasNotAskedFor) {
  const TracedOperators plain = traced({});
  const OperatorEvent& product = find(plain, "aten::mm");
  EXPECT_LT(find(plain, "aten::ones").begin, product.begin);
  EXPECT_LE(product.begin, product.end);
  EXPECT_TRUE(product.shapes.empty());
  EXPECT_EQ(product.allocated, 0);
  EXPECT_TRUE(plain.memory.empty());
  EXPECT_TRUE(plain.kernels.empty());
}

TEST(OperatorTrace, HasTheShapesOfWhatAnOperatorTakes) {
  const TracedOperators made = traced({.shapes = true});
  const std::vector<std::int64_t> square{kSide, kSide};
  EXPECT_THAT(find(made, "aten::mm").shapes, ::testing::ElementsAre(square, square));
}

TEST(OperatorTrace, HasAllMemoryByTimeAndChargesItToTheInnermostOperator) {
  const TracedOperators made = traced({.memory = true});
  std::int64_t live = 0;
  std::int64_t most = 0;
  for (const MemoryEvent& event : made.memory) {
    live += event.bytes;
    most = std::max(most, live);
    EXPECT_FALSE(event.is_on_device);
  }
  EXPECT_EQ(most, 2 * kBytes);
  EXPECT_EQ(live, kBytes) << "of the one that stays";
  EXPECT_EQ(find(made, "aten::empty").allocated, kBytes);
  EXPECT_EQ(find(made, "aten::ones").allocated, 0) << "it calls aten::empty";
  std::int64_t allocated = 0;
  for (const OperatorEvent& event : made.operators) {
    allocated += event.allocated;
  }
  EXPECT_EQ(allocated, 2 * kBytes);
}

TEST(OperatorTrace, OfKernelsOnAMachineWithoutAGpuHasTheOperators) {
  const TracedOperators made = traced({.kernels = true});
  EXPECT_TRUE(made.kernels.empty());
  EXPECT_EQ(find(made, "aten::mm").name, "aten::mm");
}

}  // namespace
}  // namespace gangway::worker
