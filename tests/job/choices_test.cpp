// SPDX-License-Identifier: MIT
#include "job/choices.hpp"

#include <gtest/gtest.h>

namespace gangway {
namespace {

TEST(Choices, NameTheEnumerators) {
  EXPECT_EQ(name_of(LossKind::kLeastSquares), "least-squares");
  EXPECT_EQ(name_of(MemoryFormat::kChannelsLast), "channels-last");
  EXPECT_EQ(name_of(DeviceKind::kCuda), "cuda");
  EXPECT_EQ(name_of(TransportKind::kHierarchical), "hierarchical");
  EXPECT_EQ(name_of(false), "false");
}

TEST(Choices, RefuseAValueThatIsNoEnumerator) {
  EXPECT_THROW((void)name_of(static_cast<LossKind>(99)), std::logic_error);
}

}  // namespace
}  // namespace gangway
