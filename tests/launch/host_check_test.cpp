// SPDX-License-Identifier: MIT
#include "launch/host_check.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "job/errors.hpp"

namespace gangway::launch {
namespace {

TEST(HostCheck, RefusesAHostWithAnotherVersion) {
  try {
    check_host("/nowhere/.host-check", "0.0.1 token");
    FAIL() << "accepted version 0.0.1";
  } catch (const EnvironmentError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("0.0.1: install one on all hosts"));
  }
}

}  // namespace
}  // namespace gangway::launch
