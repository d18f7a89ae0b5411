// SPDX-License-Identifier: MIT
#include "base/unique_handle.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace gangway {
namespace {

/// A handle is an index into the test's log of releases.
void note_release(std::vector<int>* log) { log->push_back(1); }
using Logged = UniqueHandle<std::vector<int>*, note_release>;

TEST(UniqueHandle, ReleasesOnce) {
  std::vector<int> log;
  {
    Logged first(&log);
    EXPECT_TRUE(first);
    Logged second(std::move(first));
    EXPECT_FALSE(
        first);  // NOLINT(bugprone-use-after-move): moved-from is null, which is the contract
    EXPECT_EQ(second.get(), &log);
    EXPECT_TRUE(log.empty());
  }
  EXPECT_EQ(log.size(), 1U);
}

TEST(UniqueHandle, ReleasesWhatItHeldWhenAssigned) {
  std::vector<int> old_log;
  std::vector<int> new_log;
  Logged handle(&old_log);
  handle = Logged(&new_log);
  EXPECT_EQ(old_log.size(), 1U);
  EXPECT_TRUE(new_log.empty());
  Logged& self = handle;
  handle = std::move(self);
  EXPECT_TRUE(handle);
  handle.reset();
  EXPECT_EQ(new_log.size(), 1U);
  handle.reset();
  EXPECT_EQ(new_log.size(), 1U);
}

}  // namespace
}  // namespace gangway
