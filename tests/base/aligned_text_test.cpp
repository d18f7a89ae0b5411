// SPDX-License-Identifier: MIT
#include "base/text/aligned_text.hpp"

#include <gtest/gtest.h>

namespace gangway {
namespace {

TEST(AlignedText, PadsColumnsAndEndsLinesWithoutBlanks) {
  EXPECT_EQ(aligned_text({{"7", "a", "long"}, {"123", "", ""}}, {Align::kRight}),
            "  7  a  long\n"
            "123\n");
  EXPECT_EQ(aligned_text({}, {}), "");
}

}  // namespace
}  // namespace gangway
